"""Every schedule: ids of the corpus, chance only from the generator, state goes round."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch

from nnfuzz.corpus import Pool
from nnfuzz.records import Batch
from nnfuzz.schedules import BatchPool, Decaying, Probabilistic, Recent, Uniform
from tests.conftest import generator

SCHEDULES: dict[str, Callable[[], Any]] = {
    "pool": lambda: BatchPool(potential=1000.0, size=10, power=16, rows=64),
    "uniform": lambda: Uniform(60),
    "recent": lambda: Recent(60),
    "probabilistic": lambda: Probabilistic(60),
    "decaying": lambda: Decaying(60, classes=3),
}


def corpus(rows: int) -> Pool:
    pool = Pool()
    x = torch.zeros(rows, 1, 4, 4, dtype=torch.uint8)
    zeros = torch.zeros(rows, dtype=torch.int64)
    pool.add(Batch.of_seeds(x, zeros, spent=zeros, generation=zeros, tendency=zeros))
    return pool


@pytest.mark.parametrize("make", SCHEDULES.values(), ids=SCHEDULES)
@pytest.mark.parametrize("rows", [1, 7, 45])
def test_ids_are_in_the_corpus(make: Callable[[], Any], rows: int) -> None:
    schedule, pool, rng = make(), corpus(rows), generator(0)
    for _ in range(20):
        ids = schedule(pool, rng)
        assert ids.dtype == torch.int64
        assert len(ids) in (60, 64)
        assert ((ids >= 0) & (ids < rows)).all()


@pytest.mark.parametrize("make", SCHEDULES.values(), ids=SCHEDULES)
def test_an_empty_corpus_gives_nothing(make: Callable[[], Any]) -> None:
    pool = Pool()
    assert len(make()(pool, generator(0))) == 0


@pytest.mark.parametrize("make", SCHEDULES.values(), ids=SCHEDULES)
def test_chance_comes_from_the_generator_alone(make: Callable[[], Any]) -> None:
    before = torch.get_rng_state()
    runs = [[s(pool, rng).tolist() for _ in range(5)] for s, pool, rng in
            [(make(), corpus(45), generator(seed)) for seed in (3, 3, 4)]]  # fmt: skip
    assert runs[0] == runs[1] != runs[2]
    assert (torch.get_rng_state() == before).all()


@pytest.mark.parametrize("make", SCHEDULES.values(), ids=SCHEDULES)
def test_state_goes_round(make: Callable[[], Any]) -> None:
    pool, one, rng = corpus(45), make(), generator(0)
    for _ in range(7):
        one(pool, rng)
    other, same = make(), generator(0)
    same.set_state(rng.get_state())
    if hasattr(one, "state_dict"):
        other.load_state_dict(one.state_dict())
    assert [one(pool, rng).tolist() for _ in range(5)] == [other(pool, same).tolist() for _ in range(5)]


def test_equation_2() -> None:
    pool = BatchPool(potential=1.0, gamma=5, p_min=0.01)
    # 1 - f/5 while f < 4.95, then p_min
    assert pool.probability(torch.arange(8)).tolist() == pytest.approx([1, 0.8, 0.6, 0.4, 0.2, 0.01, 0.01, 0.01])


def test_batches_are_picked_in_proportion_to_p() -> None:
    schedule, pool = BatchPool(potential=1.0, size=10, power=1, rows=1), corpus(30)
    rng = generator(0)
    schedule(pool, rng)
    counts: Counter[int] = Counter()
    for _ in range(6000):
        schedule._fuzzed[:3] = torch.tensor([0, 2, 4])  # P = 1, .6, .2
        counts[int(schedule(pool, rng)) // 10] += 1
    assert [counts[i] / 6000 for i in range(3)] == pytest.approx([1 / 1.8, 0.6 / 1.8, 0.2 / 1.8], abs=0.02)


def test_an_old_pool_is_still_picked_from_exactly() -> None:
    # With every P = p_min, 256 proposals often do not suffice: the exact way must give the same mixture.
    schedule, pool = BatchPool(potential=1.0, size=1, power=1, rows=1, p_min=0.001), corpus(4)
    rng = generator(0)
    schedule(pool, rng)
    counts: Counter[int] = Counter()
    for _ in range(4000):
        schedule._fuzzed[:4] = torch.tensor([9, 9, 9, 9])
        counts[int(schedule(pool, rng))] += 1
    assert [counts[i] / 4000 for i in range(4)] == pytest.approx([0.25] * 4, abs=0.03)


def test_chances_follow_the_mutation_potential() -> None:
    pool = Pool()
    x = torch.zeros(2, 1, 4, 4, dtype=torch.uint8)
    pool.add(Batch.of_seeds(x, spent=torch.tensor([0, 750])))
    ids = BatchPool(potential=1000.0, power=4000, rows=4000)(pool, generator(0))
    assert (ids == 0).double().mean().item() == pytest.approx(0.8, abs=0.02)  # 1000 : 250


def test_a_turn_is_as_long_as_asked_whatever_a_batch_gets() -> None:
    pool = corpus(30)
    turn = BatchPool(potential=1.0, size=10, power=16, rows=35)(pool, generator(0))
    assert [len(set((part // 10).tolist())) for part in turn.split(16)] == [1, 1, 1]  # 16, 16 and 3 of one batch each
    assert len(turn) == 35


def test_the_last_five_are_recent() -> None:
    ids = Recent(rows=6000, energy=1)(corpus(1000), generator(0))
    assert (ids >= 995).double().mean().item() == pytest.approx(5 / 6, abs=0.02)


def test_a_seed_fuzzed_often_is_accepted_seldom_but_never_below_p_min() -> None:
    schedule, pool = Probabilistic(rows=1, energy=1), corpus(2)
    rng = generator(0)
    schedule(pool, rng)
    counts: Counter[int] = Counter()
    for _ in range(4000):
        schedule._times[:2] = torch.tensor([0, 100])
        schedule._next = 0
        counts[int(schedule(pool, rng))] += 1
    # scanning 0, 1, 0, 1 ...: P(0 first) = .8 / (1 - .2 * .7)
    assert counts[0] / 4000 == pytest.approx(0.8 / (1 - 0.2 * 0.7), abs=0.02)
