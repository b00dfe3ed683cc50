"""nnfuzz cover: what a test set reaches, in words and as one object."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from nnfuzz.coverage import NAMES
from tests.cli.conftest import Run
from tests.conftest import arrays

pytestmark = pytest.mark.usefixtures("place")
COVER = ("cover", "net.py:Net", "--data", "images.npz")


def test_all_criteria_in_one_object(nnfuzz: Run) -> None:
    done = nnfuzz(*COVER, "--json")
    result = json.loads(done.stdout)
    assert tuple(result["coverage"]) == NAMES
    assert all(0 <= share <= 1 for share in result["coverage"].values())
    assert result["images"] == 40
    assert result["accuracy"] == 1
    assert result["neurons"] == sum(result["layers"].values()) == 6
    assert "probed" in done.stderr


def test_some_criteria_of_some_layers(nnfuzz: Run) -> None:
    done = nnfuzz(*COVER, "--json", "--criterion", "nc-raw, tknc", "--exclude", "fc")
    assert list(json.loads(done.stdout)["coverage"]) == ["nc-raw", "tknc"]
    assert list(json.loads(done.stdout)["layers"]) == ["conv", "softmax"]


def test_bounds_come_from_the_profile(nnfuzz: Run) -> None:
    """No image passes a bound that it set itself; beside darker training images, all do."""
    images = arrays("images.npz")
    np.savez("dark.npz", x=images["x"] // 2, y=images["y"])
    shares = [
        json.loads(nnfuzz(*COVER, "--json", "--criterion", "nbc", *more).stdout)["coverage"]["nbc"]
        for more in ((), ("--profile", "dark.npz"))
    ]
    assert shares[0] == 0 < shares[1]


def test_an_image_that_a_model_raises_on_covers_nothing(nnfuzz: Run) -> None:
    images = arrays("images.npz")
    np.savez("bright.npz", x=np.concatenate([images["x"], images["x"] + 60]))
    shares = [
        json.loads(nnfuzz("cover", f"net.py:{model}", "--data", data, "--json", "--criterion", "tknc").stdout)[
            "coverage"
        ]
        for model, data in (("Raises", "bright.npz"), ("Net", "images.npz"))
    ]
    assert shares[0] == shares[1]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--criterion", "nope"), "expected criteria among"),
        (("--criterion", ""), "expected criteria among"),
        (("--profile", "gone.npz"), "'gone.npz' is none of them"),
        (("--profile", "colour.npz"), "images of 1 channel and the data has 3"),
        (("--mean", "nan"), "expected --mean as finite numbers"),
        (("--device", "nope"), "expected a device that this machine has"),
    ],
)
def test_what_makes_no_sense(refused: Callable[..., str], options: tuple[str, ...], sentence: str) -> None:
    np.savez("colour.npz", x=np.zeros((3, 3, 8, 8), np.uint8), y=np.zeros(3, int))
    assert sentence in refused(*COVER, *options)
