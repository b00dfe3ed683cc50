"""Rows of equal rank: whole tensors, as if the rows had come one by one."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor


def in_turn(group: Tensor) -> Iterator[Tensor]:
    """Row numbers, first of the first row of each group, then of the second of each, and so on."""
    ordered, order = group.sort(stable=True)
    starts = torch.ones_like(ordered, dtype=torch.bool)
    starts[1:] = ordered[1:] != ordered[:-1]
    at = torch.arange(len(group))
    rank = at - torch.where(starts, at, 0).cummax(0).values if len(group) else at
    by_rank = rank.argsort(stable=True)
    yield from torch.split(order[by_rank], torch.bincount(rank).tolist())
