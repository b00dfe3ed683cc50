"""A model that passes, and one with a bug for nnfuzz to find."""

from pathlib import Path

import pytest
from pictures import write


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data") / "pictures.npz")


@pytest.mark.nnfuzz(tries=200)
def test_the_good_model(nnfuzz, pictures):
    nnfuzz.hunt("model.py:good", data=pictures)


@pytest.mark.nnfuzz(tries=200)
def test_the_model_with_a_bug(nnfuzz, pictures):
    nnfuzz.hunt("model.py:planted", data=pictures, fail_on="misclassified>0, not-finite>0")
