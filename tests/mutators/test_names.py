"""A stored mutation is a name and parameters: that has to be enough."""

from __future__ import annotations

import torch

from nnfuzz.mutators import DEEPHUNTER_AFFINE, DEEPHUNTER_PIXEL, DRFUZZ, OPERATORS


def test_what_a_recipe_did_can_be_done_again_by_name():
    x = torch.randint(0, 256, (30, 1, 16, 16), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    for operator in (*DEEPHUNTER_AFFINE, *DEEPHUNTER_PIXEL, *DRFUZZ):
        param = operator.draw(30, torch.Generator().manual_seed(1))
        again = OPERATORS[operator.name]
        assert again.width >= operator.width
        assert torch.equal(again.apply(x, param), operator.apply(x, param))


def test_drfuzz_has_the_fifteen_of_its_table():
    names = [operator.name for operator in DRFUZZ]
    assert len(set(names)) == 15
    assert (names[0], names[-1]) == ("translation", "saltpepper_noise")
