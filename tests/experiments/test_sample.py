"""The reservoir: everything while it fits, a fair sample after that."""

from __future__ import annotations

import torch

from nnfuzz.experiments.sample import Reservoir
from tests.conftest import generator


def numbered(first: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    label = torch.arange(first, first + count)
    x = torch.stack([label % 256, label // 256], 1).to(torch.uint8).view(-1, 1, 1, 2)
    return x, label


def test_keeps_all_that_fits_in_order() -> None:
    held = Reservoir(100, generator(0))
    held.offer(*numbered(0, 30))
    held.offer(*numbered(30, 20))
    x, label = held.held()
    assert torch.equal(label, torch.arange(50))
    assert torch.equal(x, numbered(0, 50)[0])


def test_rows_stay_with_their_labels() -> None:
    held = Reservoir(40, generator(1))
    for first in range(0, 2000, 37):
        held.offer(*numbered(first, 37))
    x, label = held.held()
    assert held.offered == 2035
    assert len(x) == 40
    flat = x.view(-1, 2).long()
    assert torch.equal(flat[:, 0] + 256 * flat[:, 1], label)


def test_early_and_late_rows_have_the_same_chance() -> None:
    counts = torch.zeros(200)
    for seed in range(200):
        held = Reservoir(20, generator(seed))
        for first in range(0, 200, 25):
            held.offer(*numbered(first, 25))
        counts[held.held()[1]] += 1
    quarters = counts.view(4, 50).sum(1)
    assert counts.sum() == 200 * 20
    assert (quarters - 1000).abs().max() < 110  # four standard deviations of a binomial


def test_equal_inputs_are_held_once() -> None:
    held = Reservoir(50, generator(0))
    x, label = numbered(0, 10)
    held.offer(x, label)
    held.offer(x, label)
    assert torch.equal(held.held()[1], label)


def test_nothing_offered() -> None:
    held = Reservoir(5, generator(0))
    assert len(held.held()[0]) == 0
    held.offer(*numbered(0, 0))
    assert len(held.held()[0]) == 0
