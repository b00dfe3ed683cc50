"""What every operator and every mutator owes the loop."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch
from torch import Generator, Tensor

from nnfuzz.mutators import (
    DEEPHUNTER_AFFINE,
    DEEPHUNTER_PIXEL,
    DRFUZZ,
    Chains,
    Metamorphic,
    OneOf,
    Operator,
    Rewarded,
    blur,
    noise,
    pixel_change,
    translation,
)
from nnfuzz.records import Batch

OPERATORS = [
    *DEEPHUNTER_AFFINE,
    *DEEPHUNTER_PIXEL,
    *(operator for operator in DRFUZZ if operator.name != "blur"),  # the same as DeepHunter's
    translation([(-5, 0), (0, 5), (5, 5)]),
    pixel_change(),
    *(blur([kind]) for kind in range(1, 10)),
    *(noise([kind]) for kind in (1, 2, 3)),
]
SHAPES = [(1, 28, 28), (3, 32, 32), (2, 7, 11), (4, 1, 1)]


def near(children: Batch, _: Batch) -> Tensor:
    gap = children.x.to(torch.int16) - children.notes["reference"].to(torch.int16)
    gap = gap.abs().flatten(1)
    return (gap.amax(1) < 51) | ((gap > 0).sum(1) < 0.02 * gap.shape[1])


MUTATORS = {
    "one of the paper's eight": OneOf(DEEPHUNTER_AFFINE + DEEPHUNTER_PIXEL),
    "one of DRFuzz's fifteen": OneOf(DRFUZZ),
    "DRFuzz's chains": Chains(DRFUZZ, energy=4),
    "rewarded": Rewarded(DRFUZZ),
    "one of one": OneOf((pixel_change(),)),
    "metamorphic": Metamorphic(DEEPHUNTER_AFFINE, DEEPHUNTER_PIXEL, near),
    "metamorphic without affine": Metamorphic((), (*DEEPHUNTER_PIXEL, pixel_change()), near, tries=3),
}


def images(rows: int, shape: tuple[int, int, int] = (1, 28, 28)) -> Tensor:
    """Half of them dark with a bright middle, half of them noise."""
    x = torch.randint(0, 256, (rows, *shape), dtype=torch.uint8, generator=seeded(rows))
    middle = torch.zeros(shape[1:], dtype=torch.bool)
    middle[shape[1] // 4 : -shape[1] // 4, shape[2] // 4 : -shape[2] // 4] = True
    x[: rows // 2] *= middle
    return x


def started(rows: int, shape: tuple[int, int, int], **notes: Tensor) -> Batch:
    """Seeds with what a mutator may want to know of them."""
    return Batch.of_seeds(images(rows, shape), torch.arange(rows) % 10, generation=torch.zeros(rows).long(), **notes)


def seeded(seed: int) -> Generator:
    return Generator().manual_seed(seed)


def same(a: Batch, b: Batch) -> bool:
    pairs = [(a.x, b.x), (a.label, b.label), (a.seed, b.seed), (a.parent, b.parent)]
    pairs += [(a.notes[name], b.notes[name]) for name in a.notes]
    return a.notes.keys() == b.notes.keys() and all(torch.equal(x, y) for x, y in pairs)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: f"{o.name}-{len(repr(o))}")
class TestOperator:
    def test_shape_type_and_purity(self, operator: Operator, shape):
        x, param = images(9, shape), operator.draw(9, seeded(1))
        x_before, param_before = x.clone(), param.clone()
        made = operator.apply(x, param)
        assert (made.shape, made.dtype) == (x.shape, torch.uint8)
        assert (param.shape, param.dtype) == ((9, operator.width), torch.float64)
        assert torch.equal(x, x_before)
        assert torch.equal(param, param_before)
        assert torch.equal(operator.apply(x, param), made)

    def test_a_row_alone_is_what_it_is_in_a_batch(self, operator: Operator, shape):
        x, param = images(33, shape), operator.draw(33, seeded(2))
        made = operator.apply(x, param)
        alone = [operator.apply(x[i : i + 1], param[i : i + 1]) for i in range(33)]
        assert torch.equal(torch.cat(alone), made)
        assert torch.equal(operator.apply(x.flip(0), param.flip(0)), made.flip(0))

    def test_no_rows(self, operator: Operator, shape):
        param = operator.draw(0, seeded(3))
        assert operator.apply(images(0, shape), param).shape == (0, *shape)

    def test_layout_in_memory_is_of_no_matter(self, operator: Operator, shape):
        x, param = images(6, shape), operator.draw(6, seeded(4))
        odd = x.permute(2, 3, 0, 1).contiguous().permute(2, 3, 0, 1)
        assert torch.equal(operator.apply(odd, param), operator.apply(x, param))


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: f"{o.name}-{len(repr(o))}")
def test_draws_follow_the_generator(operator: Operator):
    assert torch.equal(operator.draw(40, seeded(5)), operator.draw(40, seeded(5)))
    if len(set(map(tuple, operator.draw(99, seeded(5)).tolist()))) > 1:
        assert not torch.equal(operator.draw(40, seeded(5)), operator.draw(40, seeded(6)))
    assert "0x" not in repr(operator)  # a run's configuration is its repr


@pytest.mark.parametrize("shape", SHAPES[:3])
@pytest.mark.parametrize("mutate", MUTATORS.values(), ids=MUTATORS)
class TestMutator:
    def test_one_child_a_parent_in_order(self, mutate, shape):
        parents = started(20, shape, mark=torch.arange(20))
        children = mutate(parents, seeded(1))
        assert (children.x.shape, children.x.dtype) == (parents.x.shape, torch.uint8)
        for ours, theirs in ((children.label, parents.label), (children.seed, parents.seed)):
            assert torch.equal(ours, theirs)
        assert torch.equal(children.notes["mark"], torch.arange(20))
        assert children.notes["op"].dtype == torch.int64
        assert children.notes["param"].dtype == torch.float64

    def test_parents_and_the_global_generator_are_left_alone(self, mutate, shape):
        parents = mutate(started(20, shape), seeded(1))
        copy = Batch(parents.x.clone(), parents.label, parents.seed, parents.parent,
                     {name: note.clone() for name, note in parents.notes.items()})  # fmt: skip
        before = torch.get_rng_state()
        mutate(parents, seeded(2))
        assert same(parents, copy)
        assert torch.equal(torch.get_rng_state(), before)

    def test_the_generator_decides(self, mutate, shape):
        parents = started(20, shape)
        one, same_again, other = (deepcopy(mutate)(parents, seeded(seed)) for seed in (3, 3, 4))
        assert same(one, same_again)
        assert not torch.equal(one.x, other.x)

    def test_notes_are_enough_to_make_the_child_again(self, mutate, shape):
        parents = started(20, shape)
        for seed in range(3):
            children = mutate(parents, seeded(seed))
            again = mutate.replay(parents, children.notes["op"], children.notes["param"])
            assert torch.equal(again, children.x)
            parents = children

    def test_no_rows(self, mutate, shape):
        assert len(mutate(started(0, shape), seeded(6))) == 0


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: f"{o.name}-{len(repr(o))}")
def test_a_share_of_an_operation_changes_less(operator: Operator):
    assert operator.weaken is not None
    share = torch.tensor([0.001, 0.3, 0.6, 1.0], dtype=torch.float64)
    x = images(20)[:10]  # the smooth ones
    for param in operator.draw(20, seeded(7)):
        rows = operator.weaken(param, share)
        assert (rows.shape, rows.dtype) == ((4, operator.width), torch.float64)
        assert torch.allclose(rows[-1], param, rtol=1e-12)
        made = [operator.apply(x, row.expand(10, -1)).double() for row in rows]
        changes = [float((image - x).abs().sum()) for image in made]
        assert changes[0] <= changes[-1]
        if operator.name != "blur":
            assert changes[0] <= 0.02 * x.double().sum()
    assert "weaken" not in repr(operator)  # what is stored of a run stays what it was
