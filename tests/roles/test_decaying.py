"""DRFuzz's schedule: its equation, its trimming and its ban, and how it comes to an end."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from nnfuzz.corpus import Pool
from nnfuzz.records import Batch, Kind, Seen, Step
from nnfuzz.schedules import Decaying
from tests.conftest import generator

# id: parent, seed, the class that it leans to
TREE = {0: (-1, 0, 1), 1: (0, 0, 2), 2: (1, 0, 1), 3: (0, 0, 1), 4: (-1, 1, 1), 5: (4, 1, 2)}


def corpus(tree: dict[int, tuple[int, int, int]] = TREE) -> Pool:
    pool, depth = Pool(), dict[int, int]()
    for id, (parent, _, _) in tree.items():
        depth[id] = depth[parent] + 1 if parent >= 0 else 0
    parent, seed, tendency = torch.tensor(list(tree.values())).T
    x = torch.zeros(len(tree), 1, 1, 1, dtype=torch.uint8)
    notes = {"generation": torch.tensor(list(depth.values())), "tendency": tendency}
    pool.add(Batch(x, torch.zeros_like(seed), seed, parent, notes))
    return pool


def faults(*found: tuple[int, int, int], classes: int = 3, kind: Kind = Kind.REGRESSION) -> Step:
    """Of each: id of the parent, seed, wrong class."""
    parent, seed, wrong = torch.tensor(found).T
    children = Batch(torch.zeros(len(found), 1, 1, 1, dtype=torch.uint8), torch.zeros_like(seed), seed, parent)
    logits = torch.zeros(2, len(found), classes)
    logits[1, torch.arange(len(found)), wrong] = 1
    every, none = torch.ones(len(found), dtype=torch.bool), torch.zeros(len(found), dtype=torch.int64)
    verdict = torch.full_like(none, int(kind))
    return Step(children, children, children, Seen(logits, logits[0, :, :0]), none, verdict, none[:0], every, every)


def out(schedule: Decaying) -> list[int]:
    """Ids that are never picked again."""
    schedule(corpus(), generator(0))
    return [id for id, chance in enumerate(schedule.chance().tolist()) if not chance]


def stood(times: list[int], generation: list[int], most: int = 10, rows: int = 60) -> Decaying:
    zeros = torch.zeros(len(times), dtype=torch.int64)
    schedule = Decaying(rows, classes=3, most=most)
    schedule.load_state_dict({
        "times": torch.tensor(times), "generation": torch.tensor(generation), "seed": zeros, "tendency": zeros,
        "out": zeros.bool(), "faults": torch.zeros(1, 3, dtype=torch.bool),
    })  # fmt: skip
    return schedule


def test_the_equation_by_hand() -> None:
    """exp(-ln(20) / 20 (g + s / 2)), and nothing where s is above 10."""
    cases = {(0, 0): 1, (1, 0): 0.8609, (5, 0): 0.4729, (10, 0): 0.2236, (20, 0): 0.05,
             (0, 2): 0.8609, (0, 10): 0.4729, (5, 10): 0.2236, (0, 11): 0, (3, 99): 0}  # fmt: skip
    generation, times = (list(column) for column in zip(*cases, strict=True))
    assert stood(times, generation).chance().tolist() == pytest.approx(list(cases.values()), abs=1e-4)
    assert stood([3, 4], [0, 0], most=3).chance().tolist() == pytest.approx([0.7988, 0], abs=1e-4)


def test_picks_follow_the_chances_and_are_counted() -> None:
    tree = {0: (-1, 0, 1), 1: (0, 0, 1), 2: (1, 0, 1), 3: (2, 0, 1)}
    schedule = Decaying(60_000, classes=3, energy=3)
    ids = schedule(corpus(tree), generator(0))
    assert len(ids) == 60_000
    assert (ids.view(-1, 3) == ids[::3, None]).all(), "each pick is `energy` rows"
    count = Counter(ids.tolist())
    weight = [20 ** (-g / 20) for g in range(4)]
    assert [count[i] / 60_000 for i in range(4)] == pytest.approx([w / sum(weight) for w in weight], abs=0.012)
    assert schedule.state_dict()["times"].tolist() == [count[i] // 3 for i in range(4)]


def test_a_barren_seed_wears_out_too() -> None:
    schedule = stood([10, 0], [0, 0], rows=10)
    tree = {0: (-1, 0, 1), 1: (-1, 0, 1)}
    for _ in range(2000):
        schedule(corpus(tree), generator(0))
        if schedule.chance()[0] == 0:
            return
    pytest.fail("picked without end, though nothing was found")


def test_ancestors_that_lean_to_what_was_found_are_trimmed() -> None:
    schedule = Decaying(60, classes=4)
    assert out(schedule) == []
    schedule.learn(faults((2, 0, 1), classes=4))
    assert out(schedule) == [0, 2], "not 1, which leans elsewhere, not 3, which is no ancestor, and not seed 1"


def test_only_regressions_trim() -> None:
    schedule = Decaying(60, classes=4)
    out(schedule)
    for kind in (Kind.BOTH_WRONG, Kind.FIXED, Kind.NOT_FINITE, Kind.NOTHING):
        schedule.learn(faults((2, 0, 1), (2, 0, 2), (2, 0, 3), classes=4, kind=kind))
    assert out(schedule) == []


def test_what_one_lineage_found_trims_another_of_the_same_turn() -> None:
    schedule = Decaying(60, classes=4)
    out(schedule)
    schedule.learn(faults((1, 0, 1), (3, 0, 2), (5, 1, 3), classes=4))
    assert out(schedule) == [0, 1, 3], "1 leans to the class that the child of 3 found"


@pytest.mark.parametrize("classes", [2, 3, 10, 12])
def test_a_seed_of_which_all_wrong_classes_are_found_is_out(classes: int) -> None:
    schedule, pool = Decaying(60, classes=classes), corpus({id: (p, s, classes + 1) for id, (p, s, _) in TREE.items()})
    schedule(pool, generator(0))
    for wrong in range(1, classes):
        assert (schedule.chance() > 0).all()
        schedule.learn(faults((2, 0, wrong), (2, 0, wrong), classes=classes))
    ids = {id for turn in range(20) for id in schedule(pool, generator(turn)).tolist()}
    assert ids == {4, 5}, "with all its descendants"
    late = torch.zeros(1, dtype=torch.int64)
    notes = {"generation": late + 2, "tendency": late}
    pool.add(Batch(torch.zeros(1, 1, 1, 1, dtype=torch.uint8), late, late, late + 1, notes))
    assert 6 not in {id for turn in range(20) for id in schedule(pool, generator(turn)).tolist()}, "and those to come"
    for wrong in range(1, classes):
        schedule.learn(faults((5, 1, wrong), classes=classes))
    assert len(schedule(pool, generator(0))) == 0, "then there is nothing left to do"
    assert len(schedule(pool, generator(0))) == 0


def test_when_all_is_worn_out_what_is_not_out_begins_anew() -> None:
    schedule = Decaying(60, classes=4)
    out(schedule)
    schedule.learn(faults((2, 0, 1), classes=4))
    state = schedule.state_dict()
    state["times"] = torch.full((6,), 11)
    schedule.load_state_dict(state)
    assert not schedule.chance().any()
    ids = schedule(corpus(), generator(0))
    assert len(ids) == 60
    assert set(ids.tolist()) <= {1, 3, 4, 5}
    assert int(schedule.state_dict()["times"].sum()) == 6, "counted from nothing"


def test_it_goes_on_from_its_state() -> None:
    one, other = Decaying(60, classes=4), Decaying(60, classes=4)
    pool, rng = corpus(), generator(0)
    for _ in range(4):
        one(pool, rng)
    one.learn(faults((2, 0, 1), (5, 1, 2), classes=4))
    other.load_state_dict(one.state_dict())
    runs = []
    for schedule in (one, other):
        again, ids = generator(7), []
        for turn in range(12):
            ids.append(schedule(pool, again).tolist())
            if turn == 3:
                schedule.learn(faults((1, 0, 2), classes=4))
        runs.append(ids)
    assert runs[0] == runs[1]
