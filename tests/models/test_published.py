"""Published weights reach their published accuracies on the whole test sets."""

from __future__ import annotations

from pathlib import Path

import pytest

from nnfuzz import data, models


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "file", "percent"),
    [
        ("lenet1", "mnist-lenet1", 97.88),
        ("lenet4", "mnist-lenet4", 98.52),
        ("lenet5", "mnist-lenet5", 98.81),
        ("lenet5-valid", "drfuzz-mnist-lenet5-supply-v1", 85.87),
        ("lenet5-valid", "drfuzz-mnist-lenet5-supply-v2", 97.83),
        ("lenet5-valid", "drfuzz-mnist-lenet5-base", 98.07),
        ("lenet5-valid", "drfuzz-mnist-lenet5-adv-bim", 97.50),
        ("resnet20", "cifar10-resnet20", 91.73),
    ],
)
def test_accuracy(published: Path, network: str, file: str, percent: float) -> None:
    model = models.load(f"{network}@{published / file}.safetensors")
    images = data.load("cifar10" if network == "resnet20" else "mnist")
    assert 100 * models.accuracy(model, images) == pytest.approx(percent, abs=0.011)
