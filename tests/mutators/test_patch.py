from __future__ import annotations

import pytest
import torch

from nnfuzz.mutators import black_patch, reverse_patch, white_patch

RULES = [(reverse_patch(), lambda v: 255 - v), (white_patch(), lambda v: 255), (black_patch(), lambda v: 0)]


@pytest.mark.parametrize(("operator", "rule"), RULES, ids=lambda part: getattr(part, "name", ""))
def test_a_square_of_two_in_all_channels_and_nothing_else(operator, rule):
    x = torch.full((4000, 3, 9, 12), 100, dtype=torch.uint8)
    moved = operator.apply(x, operator.draw(4000, torch.Generator().manual_seed(0))) != x
    made = operator.apply(x, operator.draw(4000, torch.Generator().manual_seed(0)))
    assert made[moved].unique().tolist() == [rule(100)]
    assert torch.equal(moved[:, 0], moved[:, 1])
    assert torch.equal(moved[:, 0], moved[:, 2])
    down, across = moved[:, 0].any(2), moved[:, 0].any(1)
    assert bool((moved[:, 0].flatten(1).sum(1) == 4).all())
    assert bool((down.sum(1) == 2).all())
    assert bool((across.sum(1) == 2).all())
    tops, lefts = down.to(torch.uint8).argmax(1), across.to(torch.uint8).argmax(1)
    assert tops.bincount().tolist() == pytest.approx([4000 / 7] * 7, rel=0.2)  # 0 … H-3
    assert lefts.bincount().tolist() == pytest.approx([400] * 10, rel=0.25)  # 0 … W-3


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 2, 2), (3, 1, 7), (1, 3, 2)])
def test_images_that_a_square_hardly_fits_in(shape):
    x = torch.full((20, *shape), 100, dtype=torch.uint8)
    made = white_patch().apply(x, white_patch().draw(20, torch.Generator().manual_seed(1)))
    assert bool((made.flatten(1) == 255).any(1).all())


def test_strength_is_how_far_it_goes():
    x = torch.full((3, 1, 4, 4), 100, dtype=torch.uint8)
    param = torch.tensor([[0, 0, 0.0], [0, 0, 0.5], [0, 0, 1.0]], dtype=torch.float64)
    assert black_patch().apply(x, param)[:, 0, 0, 0].tolist() == [100, 50, 0]
    assert reverse_patch().apply(x, param)[:, 0, 1, 1].tolist() == [100, 128, 155]
