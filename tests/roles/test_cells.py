"""Elites and their cells: what is kept where, who is picked next, and when it ends."""

from __future__ import annotations

import torch
from torch import Tensor

from nnfuzz.archive import Archive
from nnfuzz.corpus import Pool
from nnfuzz.feedback import Together
from nnfuzz.records import Batch, Kind, Seen, Step
from nnfuzz.schedules import LeastPicked
from nnfuzz.versions import Regressed
from tests.conftest import generator

ORACLE, CLASSES = Regressed(), 3


def seen(new: list[list[float]]) -> Seen:
    """The old version is sure of class 0 throughout; the new one has these logits."""
    given = torch.tensor(new).reshape(-1, CLASSES)
    old = torch.tensor([9.0, 0.0, 0.0]).expand(len(given), -1)
    return Seen(torch.stack([old, given]), torch.zeros(len(given), 0))


def rows(seed: list[int], parent: list[int] | None = None) -> Batch:
    """Of class 0; seeds, where no parent is named."""
    column = torch.tensor(seed, dtype=torch.int64)
    above = torch.tensor(parent or [-1] * len(seed), dtype=torch.int64)
    return Batch(torch.zeros(len(seed), 1, 1, 1, dtype=torch.uint8), torch.zeros_like(column), column, above)


FAR = [5.0, 0.0, 0.0]


def begun(seeds: int = 4, energy: int = 1, width: int = 6, pull: float = 0.0) -> tuple[Archive, LeastPicked, Pool]:
    archive, pool = Archive(ORACLE, CLASSES), Pool()
    given = rows(list(range(seeds)))
    archive(given, seen([FAR] * seeds))
    pool.add(given)
    return archive, LeastPicked(archive, width, energy, pull), pool


def turn(archive: Archive, pool: Pool, children: Batch, answers: Seen, feedback=None) -> Tensor:
    """What the loop does with children; their gain."""
    verdict = ORACLE(children, answers)
    gain = (feedback or archive)(children, answers)
    kept = pool.add(children[(gain > 0) & (verdict == Kind.NOTHING)])
    every = torch.ones(len(children), dtype=torch.bool)
    step = Step(children, children, children, answers, gain, verdict, kept, every, every)
    (feedback or archive).learn(step)
    return gain


def test_every_seed_begins_as_the_elite_of_all_its_wrong_classes() -> None:
    archive, schedule, pool = begun(seeds=4, width=60)
    assert archive.open[:4].tolist() == [[False, True, True]] * 4
    assert sorted(schedule(pool, generator(0)).tolist()) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert not archive.open[4:].any(), "room for seeds to come is no cell"


def test_the_closest_child_becomes_the_elite_of_its_cell() -> None:
    archive, schedule, pool = begun(seeds=2, width=60)
    schedule(pool, generator(0))
    close, closer = [5.0, 3.0, -1.0], [5.0, 4.0, -1.0]
    children = rows([0, 0, 0, 1], [0, 0, 0, 1])
    gain = turn(archive, pool, children, seen([close, closer, close, FAR]))
    assert gain.tolist() == [1, 1, 0, 0], "in turn: the third comes after a closer one, the fourth is where it was"
    assert sorted(schedule(pool, generator(0)).tolist()) == [0, 1, 1, 3], "id 3 is the second child"


def test_what_is_wrong_or_repaired_is_no_elite() -> None:
    archive, schedule, pool = begun(seeds=1, width=60)
    schedule(pool, generator(0))
    old_wrong = seen([[5.0, 4.9, 0.0], [1.0, 4.0, 0.0]])
    old_wrong.logits[0] = torch.tensor([0.0, 9.0, 0.0])
    assert turn(archive, pool, rows([0, 0], [0, 0]), old_wrong).tolist() == [0, 0]
    assert len(pool) == 1
    assert archive.open[0].tolist() == [False, True, True], "both wrong closes nothing"


def test_a_fault_closes_its_cell_and_the_search_ends_with_the_last() -> None:
    archive, schedule, pool = begun(seeds=2, width=60)
    schedule(pool, generator(0))
    one, two = [0.0, 5.0, 0.0], [0.0, 0.0, 5.0]
    turn(archive, pool, rows([0], [0]), seen([one]))
    assert sorted(schedule(pool, generator(0)).tolist()) == [0, 1, 1]
    assert turn(archive, pool, rows([0], [0]), seen([[5.0, 4.9, 0.0]])).tolist() == [0], "closed to closer ones too"
    turn(archive, pool, rows([0, 1, 1], [0, 1, 1]), seen([two, one, two]))
    assert len(schedule(pool, generator(0))) == 0


def test_the_least_picked_come_next() -> None:
    archive, schedule, pool = begun(seeds=5, width=4)  # ten open cells, four a turn, no pull
    for number in range(30):
        schedule(pool, generator(number))
        open_ = schedule.state_dict()["picked"].flatten()[archive.open.flatten()]
        assert open_.max() - open_.min() <= 1
    assert open_.sum() == 120
    assert schedule.state_dict()["picked"].flatten()[~archive.open.flatten()].sum() == 0


def test_each_pick_is_energy_rows() -> None:
    _, schedule, pool = begun(seeds=5, width=7, energy=3)
    ids = schedule(pool, generator(0))
    assert len(ids) == 7
    assert len(set(ids[:3].tolist())) == len(set(ids[3:6].tolist())) == 1


def test_promising_never_denies_a_gain_and_changes_nothing() -> None:
    rng, archive = generator(0), begun(seeds=3)[0]
    for _ in range(6):
        children = rows(torch.randint(3, (40,), generator=rng).tolist(), [0] * 40)
        answers = seen((torch.randn(40, 3, generator=rng) + torch.tensor([5.0, 0, 0])).tolist())
        promised = archive.promising(children, answers)
        assert torch.equal(promised, archive.promising(children, answers))
        assert not (archive(children, answers)[~promised] > 0).any()
    assert not promised.all()


def test_coverage_beside_an_archive_does_not_stop_it_from_learning() -> None:
    archive, schedule, pool = begun(seeds=1, width=60)
    both = Together((archive, lambda children, seen: torch.zeros(len(children), dtype=torch.int64)))
    schedule(pool, generator(0))
    turn(archive, pool, rows([0, 0], [0, 0]), seen([[0.0, 5.0, 0.0], [5.0, 0.0, 4.0]]), both)
    assert schedule(pool, generator(0)).tolist() == [1], "class 1 is found, and the second child is closest to class 2"


def test_it_goes_on_from_its_state() -> None:
    archive, schedule, pool = begun(seeds=6, width=4, pull=0.5)
    schedule(pool, generator(0))
    turn(archive, pool, rows([0, 1], [0, 1]), seen([[5.0, 4.0, 0.0], [0.0, 5.0, 0.0]]))
    other = Archive(ORACLE, CLASSES)
    again = LeastPicked(other, 4, 1, 0.5)
    other.load_state_dict(archive.state_dict())
    again.load_state_dict(schedule.state_dict())
    rngs = generator(9), generator(9)
    assert [schedule(pool, rngs[0]).tolist() for _ in range(9)] == [again(pool, rngs[1]).tolist() for _ in range(9)]


def test_doubles_are_taken_as_well() -> None:
    archive, schedule, pool = begun(seeds=2)
    schedule(pool, generator(0))
    answers = seen([[5.0, 4.0, 0.0]])
    double = Seen(answers.logits.double(), answers.neurons)
    assert turn(archive, pool, rows([0], [0]), double).tolist() == [1]
