"""nnfuzz train: weights that the other commands take, and no training for nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Run
from tests.conftest import arrays

pytestmark = pytest.mark.usefixtures("place")


def test_what_was_trained_can_be_measured(nnfuzz: Run) -> None:
    done = nnfuzz("train", "digits", "--epochs", 3, "--stages", "1,2", "--out", "made/w.safetensors", "--json")
    result = json.loads(done.stdout)
    assert result["epochs"] == 3
    assert result["test_accuracy"] > 0.5
    assert result["weights"] == "made/w.safetensors"
    assert list(result["stages"]) == ["1", "2"]
    assert sorted(p.name for p in Path("made").iterdir()) == [
        "w-epoch1.safetensors", "w-epoch2.safetensors", "w.safetensors",
    ]  # fmt: skip
    measured = nnfuzz("cover", "digits@made/w.safetensors", "--data", "digits", "--criterion", "nc", "--json")
    assert json.loads(measured.stdout)["accuracy"] == pytest.approx(result["test_accuracy"])


def test_without_test_images_it_says_so(nnfuzz: Run) -> None:
    said = nnfuzz("train", "digits", "--data", "images.npz", "--epochs", 1).stdout
    assert "images.npz has no test images of its own" in said
    assert Path("home/models/images-digits.safetensors").is_file()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("nope",), "expected a network among"),
        (("digits", "--stages", "a"), "expected --stages as epochs from 1 to 10"),
        (("digits", "--stages", "3", "--epochs", "2"), "expected --stages as epochs from 1 to 2"),
        (("digits", "--out", "w.pt"), "expected --out as a .safetensors file"),
        (("digits", "--out", "net.py/w.safetensors"), "expected to write weights here"),
        (("digits", "--data", "bare.npz"), "expected a label for every image of bare.npz"),
    ],
)
def test_refused_before_the_training(refused: Callable[..., str], options: tuple[str, ...], sentence: str) -> None:
    np.savez("bare.npz", x=arrays("images.npz")["x"])
    assert sentence in refused("train", *options, "--json")
