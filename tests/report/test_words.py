"""Numbers and mutations as people read them."""

from __future__ import annotations

import pytest

from nnfuzz.mutators import DEEPHUNTER_AFFINE, DEEPHUNTER_PIXEL, DRFUZZ, Operator, pixel_change
from nnfuzz.records import Mutation
from nnfuzz.report import words
from tests.conftest import generator


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (Mutation("rotation", (-36.0,)), "turned 36° clockwise"),
        (Mutation("translation", (2.0,)), "moved 2 px right and 2 px down"),
        (Mutation("translation", (-3.0, 0.0)), "moved 3 px left"),
        (Mutation("translation", (0.0, 0.0)), "not moved"),
        (Mutation("scale", (0.7,)), "shrunk to 70%"),
        (Mutation("scale", (1.1,)), "enlarged to 110%"),
        (Mutation("brightness", (-12.0,)), "darkened by 12"),
        (Mutation("blur", (8.0,)), "blurred (median 5)"),
        (Mutation("noise", (2.0, 0.004, 1234.0)), "salt-and-pepper noise"),
        (Mutation("pixel_change", (1.0, 5.0)), "1 random pixel"),
        (Mutation("rotation", (-36.1234,)), "turned 36.1° clockwise"),
        (Mutation("dilate", (6.0,)), "dilated (3×1)"),
        (Mutation("saltpepper_noise", (0.004, 1.0, 77.0)), "salt and pepper on <1%"),
        (Mutation("white_patch", (0.5, 0.2, 1.0)), "a white patch of 2×2"),
        (Mutation("somebody's", (1.5, 2.0)), "somebody's(1.5, 2)"),
        (Mutation("rotation", (1.0, 2.0)), "rotation(1, 2)"),
        (Mutation("blur", (float("nan"),)), "blur(nan)"),
        (Mutation("blur"), "blur()"),
    ],
)
def test_mutations_in_words(step: Mutation, said: str) -> None:
    assert words.mutation(step) == said


def test_a_lineage_repeats_no_words() -> None:
    dark, turned = Mutation("brightness", (-5.0,)), Mutation("rotation", (3.0,))
    assert words.lineage([dark, dark, turned, dark]) == [
        "darkened by 5 twice",
        "turned 3° anticlockwise",
        "darkened by 5",
    ]
    assert words.lineage([turned] * 3) == ["turned 3° anticlockwise 3 times"]


@pytest.mark.parametrize("operator", [*DEEPHUNTER_AFFINE, *DEEPHUNTER_PIXEL, pixel_change(), *DRFUZZ])
def test_every_operator_here_has_words(operator: Operator) -> None:
    for row in operator.draw(50, generator(0)).tolist():
        step = Mutation(operator.name, tuple(row))
        assert words.mutation(step) != str(step)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "0 s"),
        (0.074, "0.07 s"),
        (0.31, "0.31 s"),
        (8.04, "8 s"),
        (75.4, "75 s"),
        (600, "10 min"),
        (5400, "90 min"),
        (9000, "2.5 h"),
    ],
)
def test_durations(seconds: float, said: str) -> None:
    assert words.duration(seconds) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "0%"), (0.001, "<1%"), (0.654, "65%"), (0.9999, ">99%"), (1.0, "100%"), (float("nan"), "scores not finite")],
)
def test_shares(value: float, said: str) -> None:
    assert words.share(value) == said


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("lenet5@/home/me/models/mnist-lenet5.safetensors", "mnist-lenet5"), ("lenet5-old.pt", "lenet5-old"),
        ("two.py:Old", "two.py:Old"), ("torchvision:vgg16", "torchvision:vgg16"), ("lenet5", "lenet5"), ("", ""),
        ("/models/" + "m" * 90, "m" * 39 + "…"),
    ],
)  # fmt: skip
def test_a_model_is_called_by_what_tells_it_from_others(spec: str, name: str) -> None:
    assert words.called(spec) == name
