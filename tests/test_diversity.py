"""The diversity criterion against a loop over rows and classes."""

from __future__ import annotations

import functools
import operator
from collections import defaultdict
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from nnfuzz.diversity import Diversity
from nnfuzz.records import Batch, Kind, Seen
from nnfuzz.versions import Regressed
from tests.conftest import generator

CLASSES, SEEDS = 4, 6


def turn(number: int, rows: int = 60) -> tuple[Batch, Seen]:
    """Rows of few seeds, with answers of all kinds."""
    rng = generator(number)
    seed = torch.randint(SEEDS, (rows,), generator=rng)
    logits = 2 * torch.randn(2, rows, CLASSES, dtype=torch.float64, generator=rng)
    logits[:, torch.arange(rows), seed % CLASSES] += 2
    x = torch.zeros(rows, 1, 1, 1, dtype=torch.uint8)
    return Batch(x, seed % CLASSES, seed, seed), Seen(logits, torch.zeros(rows, 0))


def by_row(turns: list[tuple[Batch, Seen]], margin: float = 0.0) -> Iterator[list[int]]:
    """One row after the other, with a dictionary of what was the largest so far."""
    best: dict[tuple[int, int], float] = defaultdict(lambda: -float("inf"))
    for batch, seen in turns:
        gains = []
        for seed, label, old, new in zip(
            batch.seed.tolist(), batch.label.tolist(), *seen.logits.softmax(2), strict=True
        ):
            gains.append(0)
            for k in range(CLASSES) if old.argmax() == label else ():
                apart = float(new[k] - old[k])
                if k != new.argmax() and apart > best[seed, k] + margin:
                    best[seed, k], gains[-1] = apart, gains[-1] + 1
        yield gains


def made(margin: float = 0.0) -> Diversity:
    return Diversity(Regressed(), CLASSES, margin)


def told(diversity: Diversity, turns: list[tuple[Batch, Seen]]) -> list[list[int]]:
    return [diversity(batch, seen).tolist() for batch, seen in turns]


@pytest.mark.parametrize("margin", [0.0, 0.02])
def test_gains_are_those_of_rows_that_come_one_by_one(margin: float) -> None:
    turns = [turn(number) for number in range(8)]
    kinds = torch.cat([Regressed()(*one) for one in turns])
    assert set(kinds.tolist()) == {Kind.NOTHING, Kind.REGRESSION, Kind.BOTH_WRONG, Kind.FIXED}
    gains = list(by_row(turns, margin))
    assert told(made(margin), turns) == gains
    rows = [(batch[i : i + 1], seen[slice(i, i + 1)]) for batch, seen in turns for i in range(len(batch))]
    assert [gain for (gain,) in told(made(margin), rows)] == functools.reduce(operator.iadd, gains, []), (
        "whatever stands in a turn together"
    )
    assert 0 < sum(map(bool, gains[-1])) < sum(map(bool, gains[0]))


def test_the_first_of_equal_rows_has_the_gain() -> None:
    batch, seen = turn(0)
    alike = torch.tensor([5, 5, 5])
    row = int((Regressed()(batch, seen) == Kind.NOTHING).nonzero()[0])
    gain = made()(batch[alike * 0 + row], seen[alike * 0 + row])
    assert gain.tolist() == [CLASSES - 1, 0, 0]


def probable(*new: float) -> tuple[Batch, Seen]:
    """One seed of class 0, of which the old version is sure; the new one gives class 1 such shares, row by row."""
    old = torch.tensor([[0.98, 0.01, 0.01]]).expand(len(new), -1)
    given = torch.tensor([[0.9 - share, share, 0.1] for share in new])
    batch = Batch.of_seeds(torch.zeros(len(new), 1, 1, 1, dtype=torch.uint8), torch.zeros(len(new)))
    zeros = torch.zeros(len(new), dtype=torch.int64)
    return Batch(batch.x, zeros, zeros, zeros), Seen(torch.stack([old, given]).log(), torch.zeros(len(new), 0))


def test_the_order_of_rows_matters() -> None:
    oracle = Regressed()
    assert Diversity(oracle, 3)(*probable(0.1, 0.2, 0.3)).tolist() == [2, 1, 1]
    assert Diversity(oracle, 3)(*probable(0.3, 0.2, 0.1)).tolist() == [2, 0, 0]


def test_what_the_new_version_answers_is_no_news() -> None:
    diversity = Diversity(Regressed(), 3)
    assert diversity(*probable(0.8)).tolist() == [2], "classes 0 and 2 of a regression"
    assert diversity(*probable(0.2)).tolist() == [1], "class 1 was the wrong answer then, and did not count"


def test_promising_never_denies_a_gain_and_changes_nothing() -> None:
    diversity, silent = made(), made()
    for number in range(8):
        batch, seen = turn(number)
        promised = diversity.promising(batch, seen)
        assert torch.equal(promised, diversity.promising(batch, seen))
        gain = diversity(batch, seen)
        assert not (gain[~promised] > 0).any()
        assert torch.equal(gain, silent(batch, seen)), "asking changes nothing"
    assert not promised.all()


def test_state_goes_round() -> None:
    turns = [turn(number) for number in range(8)]
    one, other = made(), made()
    whole = told(made(), turns)
    told(one, turns[:4])
    other.load_state_dict(one.state_dict())
    told(one, turns[4:])
    assert told(other, turns[4:]) == whole[4:], "what goes on elsewhere is not written into the copy"


def test_no_rows() -> None:
    batch, seen = turn(0)
    none: Tensor = torch.zeros(0, dtype=torch.int64)
    assert made()(batch[none], seen[none]).shape == (0,)
    assert made().promising(batch[none], seen[none]).shape == (0,)
