"""Parameters of recipes that make no sense are one sentence, whoever sets them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from nnfuzz.coverage import NC, Cover
from nnfuzz.errors import NnfuzzError
from nnfuzz.oracles import changed
from nnfuzz.recipes import RECIPES
from nnfuzz.records import Batch
from nnfuzz.target import Target

BAD = [
    ("rows", 0, "above 0"), ("try_num", 0, "above 0"), ("alpha", math.nan, "from 0 to 1"), ("beta", 1.5, "from 0 to 1"),
]  # fmt: skip
DEEPHUNTER = [
    ("power", 0, "above 0"), ("batch", -1, "above 0"), ("gamma", 0.0, "above 0"), ("gamma", math.inf, "above 0"),
    ("p_min", -0.1, "from 0 to 1"), ("select", "best", "one of pool, uniform"), ("keep", "some", "one of rows"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("recipe", "name", "value", "sentence"),
    [*(("deephunter", *bad) for bad in BAD + DEEPHUNTER), *(("random", *bad) for bad in BAD)],
)
def test_what_makes_no_sense(recipe: str, name: str, value: Any, sentence: str, seeds: Batch, target: Target) -> None:
    with pytest.raises(NnfuzzError, match=f"expected {name} .*{sentence}.*, and came"):
        RECIPES[recipe](seeds, target, Cover(NC(1)), changed, **{name: value})
