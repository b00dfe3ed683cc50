"""The real data sets, from the data folder (fetched if they are not there)."""

from __future__ import annotations

import pytest

from nnfuzz import data


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "train", "test", "shape"),
    [
        ("mnist", 60_000, 10_000, (1, 28, 28)),
        ("fashion-mnist", 60_000, 10_000, (1, 28, 28)),
        ("cifar10", 50_000, 10_000, (3, 32, 32)),
    ],
)
def test_whole_sets(name: str, train: int, test: int, shape: tuple[int, int, int]) -> None:
    for split, count in (("train", train), ("test", test)):
        images = data.load(name, split)
        assert images.x.shape == (count, *shape)
        assert set(images.label.tolist()) == set(range(10))


@pytest.mark.slow
def test_svhn_in_whatever_size_it_is_there() -> None:
    images = data.load("svhn")
    assert images.x.shape[1:] == (3, 32, 32)
    assert int(images.label.bincount().argmax()) == 1  # house numbers begin with 1 more often than not
