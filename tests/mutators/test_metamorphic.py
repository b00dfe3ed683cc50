from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch
from scipy import stats
from torch import Generator, Tensor

from nnfuzz.mutators import (
    DEEPHUNTER_AFFINE,
    DEEPHUNTER_PIXEL,
    Metamorphic,
    Operator,
    apply_ops,
    brightness,
    choices,
    translation,
)
from nnfuzz.records import Batch

AFFINE = len(DEEPHUNTER_AFFINE)


def equation_1(children: Batch, _: Batch, alpha: float = 0.02, beta: float = 0.2) -> Tensor:
    gap = (children.x.to(torch.int16) - children.notes["reference"].to(torch.int16)).abs().flatten(1)
    few = (gap > 0).sum(1) < alpha * gap.shape[1]
    return few | (gap.amax(1) < beta * 255)


def seeds(rows: int, size: int = 16) -> Batch:
    x = torch.rand(rows, 1, size, size, generator=seeded(9))
    x = torch.nn.functional.avg_pool2d(x, 5, 1, 2)
    return Batch.of_seeds((x * 255).to(torch.uint8))


def seeded(seed: int) -> Generator:
    return Generator().manual_seed(seed)


MUTATE = Metamorphic(DEEPHUNTER_AFFINE, DEEPHUNTER_PIXEL, equation_1)


def lineage(generations: int, rows: int = 60) -> list[Batch]:
    batches = [MUTATE.start(seeds(rows))]
    for generation in range(generations):
        batches.append(MUTATE(batches[-1], seeded(generation)))
    return batches


def test_a_lineage_of_twenty_moves_at_most_once_and_stays_near_its_reference():
    batches = lineage(20)
    moves = torch.stack([(b.notes["op"] >= 0) & (b.notes["op"] < AFFINE) for b in batches])
    assert moves.sum(0).max() == 1
    assert moves.sum(0).double().mean() > 0.9
    for parents, children in itertools.pairwise(batches):
        op, param = children.notes["op"], children.notes["param"]
        affine = torch.where(op < AFFINE, op, -1)
        expected = apply_ops(MUTATE.operators, parents.notes["reference"], affine, param)
        assert torch.equal(children.notes["reference"], expected)
        assert torch.equal(children.notes["moved"], parents.notes["moved"] | (affine >= 0))
        assert torch.equal(children.x, MUTATE.replay(parents, op, param))
        gap = (children.x.long() - children.notes["reference"].long()).abs()
        assert torch.equal(children.notes["spent"], gap.flatten(1).sum(1))
        assert bool(equation_1(children, parents).all())


def test_before_the_move_the_reference_is_the_seed():
    batches = lineage(5)
    still = ~batches[-1].notes["moved"]
    assert bool(still.any())
    assert torch.equal(batches[-1].notes["reference"][still], batches[0].x[still])


def test_a_seed_without_notes_is_its_own_reference():
    bare, noted = MUTATE(seeds(30), seeded(1)), MUTATE(MUTATE.start(seeds(30)), seeded(1))
    assert torch.equal(bare.x, noted.x)
    assert bare.notes.keys() == noted.notes.keys()


def test_first_tries_are_uniform_over_what_a_row_may_use():
    anything = Metamorphic(DEEPHUNTER_AFFINE, DEEPHUNTER_PIXEL, lambda children, _: children.x[:, 0, 0, 0] >= 0)
    first = anything(Batch.of_seeds(torch.zeros(8000, 1, 2, 2, dtype=torch.uint8)), seeded(0))
    assert stats.chisquare(first.notes["op"].bincount(minlength=8)).pvalue > 0.01
    second = anything(first, seeded(1))
    counts = second.notes["op"][first.notes["moved"]].bincount(minlength=8)
    assert counts[:4].sum() == 0
    assert stats.chisquare(counts[4:]).pvalue > 0.01


class Hopeless:
    """Refuses rows of label 1 and counts the tries."""

    def __init__(self) -> None:
        self.asked = torch.zeros(2, dtype=torch.int64)

    def __call__(self, children: Batch, parents: Batch) -> Tensor:
        self.asked += children.label.bincount(minlength=2)
        assert torch.equal(children.seed, parents.seed)
        return children.label == 0


@pytest.mark.parametrize("tries", [1, 2, 7, 50])
def test_rows_that_cannot_succeed_come_back_unchanged_after_all_their_tries(tries):
    satisfied = Hopeless()
    mutate = Metamorphic(DEEPHUNTER_AFFINE, DEEPHUNTER_PIXEL, satisfied, tries)
    parents = mutate.start(seeds(10))
    parents = Batch(parents.x, torch.arange(10) % 2, parents.seed, parents.parent, parents.notes)
    children = mutate(parents, seeded(0))
    stuck = parents.label == 1
    assert satisfied.asked[1] == 5 * tries
    assert satisfied.asked[0] <= 10, "a row that succeeded in its first block is not asked again"
    assert torch.equal(children.x[stuck], parents.x[stuck])
    assert torch.equal(children.notes["reference"][stuck], parents.notes["reference"][stuck])
    assert not children.notes["moved"][stuck].any()
    assert not children.notes["param"][stuck].any()
    assert torch.equal(children.notes["op"] == -1, stuck)


def one_at_a_time(parents: Batch, accept: set[int], tries: int, rng: Generator) -> list[int]:
    """Algorithm 2 as it is printed, on brightness alone."""
    outcome = []
    for _ in range(len(parents)):
        drawn = (int(brightness().draw(1, rng)) for _ in range(tries))
        outcome.append(next((p for p in drawn if p in accept), -99))
    return outcome


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize("tries", [3, 10])
def test_blocks_of_tries_are_distributed_as_one_try_at_a_time(tries, slow):
    accept = {-20, -7, 3, 4, 19}
    good = torch.tensor(sorted(accept))

    def satisfied(children: Batch, _: Batch) -> Tensor:
        return torch.isin(children.notes["param"][:, 0].long(), good)

    parents = Batch.of_seeds(torch.full((4000, 1, 1, 1), 100, dtype=torch.uint8))
    # Half of the tries are asked late, which must change nothing.
    twins = (brightness(), replace(brightness(), slow=slow))
    notes = Metamorphic((), twins, satisfied, tries)(parents, seeded(3)).notes
    if slow:
        used = notes["op"][notes["op"] >= 0]
        assert stats.binomtest(int(used.sum()), len(used), 0.5).pvalue > 0.01
    ours = torch.where(notes["op"] < 0, -99, notes["param"][:, 0].long()).tolist()
    theirs = one_at_a_time(parents, accept, tries, seeded(4))
    table = [[side.count(value) for value in (-99, *sorted(accept))] for side in (ours, theirs)]
    assert stats.chi2_contingency(table).pvalue > 0.01
    never = ours.count(-99)
    assert stats.binomtest(never, 4000, (1 - len(accept) / 40) ** tries).pvalue > 0.01


def test_a_capped_block_uses_up_the_same_number_of_tries(monkeypatch):
    monkeypatch.setattr("nnfuzz.mutators.metamorphic.BLOCK_BYTES", 16 * 16 * 10 * 3)
    largest = []

    def never(children: Batch, _: Batch) -> Tensor:
        largest.append(len(children))
        return torch.zeros(len(children), dtype=torch.bool)

    Metamorphic(DEEPHUNTER_AFFINE, DEEPHUNTER_PIXEL, never, 20)(seeds(10), seeded(0))
    assert sum(largest) == 200
    blocks = [quick + slow for quick, slow in zip(largest[::2], largest[1::2], strict=True)]
    assert max(blocks) == 30


def test_an_affine_step_alone_is_never_refused_for_having_moved_pixels():
    far = Metamorphic((translation([(6, 6)]),), (brightness([0]),), equation_1)
    children = far(seeds(200), seeded(0))
    assert bool((children.notes["op"] >= 0).all())
    assert (children.notes["op"] == 0).double().mean() == pytest.approx(0.5, abs=0.1)


def test_a_mutator_needs_a_pixel_operator():
    with pytest.raises(ValueError, match="pixel"):
        Metamorphic(DEEPHUNTER_AFFINE, (), equation_1)


def test_a_wider_operator_leaves_room():
    wide = Operator("both", choices([(1.0, 2.0, 3.0, 4.0)]), lambda x, _: x)
    children = Metamorphic((), (brightness(), wide), equation_1)(seeds(20), seeded(0))
    assert children.notes["param"].shape == (20, 4)
    assert not children.notes["param"][children.notes["op"] == 0, 1:].any()
