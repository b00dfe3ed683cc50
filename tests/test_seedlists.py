"""DLFuzz's seed lists, and what earns a place in them."""

from __future__ import annotations

import pytest
import torch

from nnfuzz.corpus import Pool
from nnfuzz.feedback import SeedKeeping
from nnfuzz.records import Batch, Seen
from nnfuzz.seedlists import SeedLists
from nnfuzz.validity import RelativeL2
from tests.conftest import generator


def corpus(rows: int) -> Pool:
    pool = Pool()
    pool.add(Batch.of_seeds(torch.zeros(rows, 1, 2, 2, dtype=torch.uint8)))
    return pool


def turns(schedule: SeedLists, pool: Pool, count: int) -> list[list[int]]:
    return [schedule(pool, generator(0)).tolist() for _ in range(count)]


def test_first_come_first_walked_from_and_then_nothing() -> None:
    pool, schedule = corpus(5), SeedLists(walks=2, steps=3, rounds=1)
    assert turns(schedule, pool, 2) == [[0, 0, 0, 1, 1, 1], [2, 2, 2, 3, 3, 3]]
    pool.add(Batch.of_seeds(torch.zeros(1, 1, 2, 2, dtype=torch.uint8)))
    assert turns(schedule, pool, 3) == [[4, 4, 4, 5, 5, 5], [], []]
    pool.add(Batch.of_seeds(torch.zeros(1, 1, 2, 2, dtype=torch.uint8)))
    assert turns(schedule, pool, 2) == [[6, 6, 6], []], "what is kept late is still walked from"


def test_rounds_fill_a_turn() -> None:
    assert turns(SeedLists(4, 1, rounds=2), corpus(3), 3) == [[0, 1, 2, 0], [1, 2], []]
    assert turns(SeedLists(4, 1, rounds=0), corpus(3), 3) == [[0, 1, 2, 0], [1, 2, 0, 1], [2, 0, 1, 2]]
    assert turns(SeedLists(4, 1, rounds=0), corpus(0), 1) == [[]]


def test_state_goes_round() -> None:
    pool, one, other = corpus(7), SeedLists(3, 2, rounds=3), SeedLists(3, 2, rounds=3)
    turns(one, pool, 4)
    other.load_state_dict(one.state_dict())
    assert turns(one, pool, 5) == turns(other, pool, 5)


class Told:
    """A feedback that gains what it is told."""

    def __init__(self, *gain: int) -> None:
        self.gain = torch.tensor(gain)

    def __call__(self, children: Batch, seen: Seen) -> torch.Tensor:
        return self.gain[: len(children)]


def test_a_seed_is_near_and_gains_more_the_younger_its_list() -> None:
    x = torch.full((4, 1, 10, 10), 100, dtype=torch.uint8)
    near, far = x + 1, x + 10
    children = Batch.of_seeds(torch.cat([near[:2], far[:2]]), reference=x)
    keeping = SeedKeeping(Told(1, 2, 2, 2), 100, RelativeL2(0.02), Told(9, 9, 9, 9), share=0.01)
    seen = Seen(torch.zeros(1, 4, 2), torch.zeros(4, 1))
    assert keeping(children, seen).tolist() == [0, 2, 0, 0], "more than a hundredth, and near"
    assert keeping(children, seen).tolist() == [0, 2, 0, 0]
    assert keeping(children, seen).tolist() == [1, 2, 0, 0], "more than half of that, the third time"
    later = SeedKeeping(Told(1, 2, 2, 2), 100, RelativeL2(0.02), Told(9, 9, 9, 9), share=0.01)
    later.load_state_dict(keeping.state_dict())
    assert later(children, seen).tolist() == [1, 2, 0, 0]


@pytest.mark.parametrize("rows", [1, 3])
def test_neighbours_of_the_same_input_share_its_age(rows: int) -> None:
    x = torch.full((rows, 1, 2, 2), 100, dtype=torch.uint8)
    same = Batch(x, torch.zeros(rows), torch.zeros(rows, dtype=torch.int64), torch.zeros(rows), {"reference": x})
    keeping = SeedKeeping(Told(1, 1, 1), 100, RelativeL2(0.02), Told(0, 0, 0), share=0.015)
    seen = Seen(torch.zeros(1, rows, 2), torch.zeros(rows, 1))
    assert [keeping(same, seen).tolist() for _ in range(3)] == [[0] * rows, [0] * rows, [1] * rows]
