"""Rows in turn against a loop."""

from __future__ import annotations

from collections import defaultdict

import pytest
import torch

from nnfuzz.order import in_turn
from tests.conftest import generator


def looped(group: list[int]) -> list[set[int]]:
    """The first row of each group, then the second of each, and so on."""
    seen: dict[int, int] = defaultdict(int)
    turns: list[set[int]] = []
    for row, one in enumerate(group):
        turns += [set()] * (seen[one] == len(turns))
        turns[seen[one]] = turns[seen[one]] | {row}
        seen[one] += 1
    return turns


@pytest.mark.parametrize("rows", [0, 1, 2, 7, 300])
@pytest.mark.parametrize("groups", [1, 2, 40, 10_000])
def test_against_a_loop(rows: int, groups: int) -> None:
    group = torch.randint(groups, (rows,), generator=generator(rows))
    turns = [turn.tolist() for turn in in_turn(group)]
    assert [set(turn) for turn in turns] == looped(group.tolist())
    assert sorted(row for turn in turns for row in turn) == list(range(rows)), "each row once"
