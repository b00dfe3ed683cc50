"""Which operator next: DRFuzz's chains against the procedure they stand for, and what both policies learn."""

from __future__ import annotations

import functools
import operator
import random
from collections import Counter

import pytest
import torch
from torch import Tensor

from nnfuzz.mutators import Chains, Rewarded, brightness
from nnfuzz.records import Batch, Kind, Seen, Step
from tests.conftest import generator

OPERATORS = tuple(brightness([(float(shift),)]) for shift in range(1, 7))  # which one it was shows in the pixels
MANY = 20_000


def seeds(rows: int) -> Batch:
    return Chains(OPERATORS).start(Batch.of_seeds(torch.full((rows, 1, 1, 1), 100, dtype=torch.uint8)))


def scored(score: list[float], last: Tensor) -> Chains:
    """One operator a row; each was chosen ten times, and always fair."""
    chains, ten = Chains(OPERATORS, energy=1), torch.full((len(OPERATORS),), 10.0, dtype=torch.float64)
    rewarded = 10 * torch.tensor(score, dtype=torch.float64)
    chains.load_state_dict({"last": last, "chosen": ten, "rewarded": rewarded, "judged": ten, "fair": ten})
    assert chains.score.tolist() == pytest.approx(score)
    return chains


def shares(op: list[int]) -> list[float]:
    count = Counter(op)
    return [count[k] / len(op) for k in range(len(OPERATORS))]


def proposed_again_and_again(rank: int, rng: random.Random) -> int:
    """From the rank of the operator before, as the paper has it."""
    number = len(OPERATORS)
    while True:
        proposal = rng.randrange(number)
        if rng.random() < min(1.0, (1 - 1 / number) ** (proposal - rank)):
            return proposal


@pytest.mark.parametrize("rank", range(len(OPERATORS)))
def test_the_next_operator_from_each_rank(rank: int) -> None:
    order = [3, 0, 5, 1, 4, 2]  # operators, the best first
    score = [1 - order.index(k) / 10 for k in range(len(OPERATORS))]
    chains = scored(score, torch.full((MANY,), order[rank]))
    got = shares(chains(seeds(MANY), generator(rank)).notes["op"].tolist())
    rng = random.Random(rank)
    expected = shares([order[proposed_again_and_again(rank, rng)] for _ in range(MANY)])
    assert got == pytest.approx(expected, abs=0.015)  # four deviations of the difference of two such shares
    assert rank > 0 or max(got) == got[order[0]]


def test_equal_scores_are_ranked_by_chance() -> None:
    last = torch.zeros(500, dtype=torch.int64)
    got = [scored([0.5] * 6, last)(seeds(500), generator(n)).notes["op"].tolist() for n in range(40)]
    assert shares(functools.reduce(operator.iadd, got, []))[1:] == pytest.approx([1 / 6] * 5, abs=0.03)
    assert max(share for ops in got for share in shares(ops)) > 0.19, "in one turn some rank above others"


def test_a_first_operator_is_any() -> None:
    chains = Chains(OPERATORS, energy=1)
    assert shares(chains(seeds(MANY), generator(0)).notes["op"].tolist()) == pytest.approx([1 / 6] * 6, abs=0.012)


def test_each_run_of_parents_has_one_operator() -> None:
    made = Chains(OPERATORS, energy=4)(seeds(42), generator(0))
    op = made.notes["op"]
    assert all(len(set(run.tolist())) == 1 for run in torch.split(op, 4))
    assert len(set(op.tolist())) > 1
    assert torch.equal(made.x.flatten(), (101 + op).to(torch.uint8))
    assert made.notes["generation"].tolist() == [1] * 42


def step(op: list[int], valid: list[bool], fair: list[bool], rows: list[tuple[float, float, float, int, int]]) -> Step:
    """`rows`, one for each child: how sure the new version was of the parent, how sure both are now, gain, verdict."""
    tried = seeds(len(op)).child(seeds(len(op)).x, op=torch.tensor(op).long(), param=torch.zeros(len(op), 1))
    run, believed = torch.tensor(valid).bool(), torch.tensor(fair).bool()
    before = torch.full((len(op), 2), torch.nan)
    before[run.nonzero().flatten()[believed], 1] = torch.tensor([row[0] for row in rows]).float()
    parents = tried.child(tried.x, sure=before)
    children = tried[run][believed]
    children = children.child(children.x, sure=torch.tensor([row[1:3] for row in rows]).float().reshape(-1, 2))
    gain, verdict = (torch.tensor([row[at] for row in rows], dtype=torch.int64) for at in (3, 4))
    seen = Seen(torch.zeros(2, len(rows), 3), torch.zeros(len(rows), 0))
    return Step(parents, tried, children, seen, gain, verdict, gain[:0], run, believed)


FIRST = step(
    [0, 0, 1, 1, 0, 0],
    [True, False, True, True, True, True],  # the second is its parent over again
    [True, True, False, True, True],  # nobody would read the fourth
    [
        (0.9, 0.9, 0.6, 1, Kind.NOTHING),  # 2/3 .3 + 1/3 .3
        (0.9, 0.9, 0.6, 0, Kind.NOTHING),  # nothing was made of it, so nobody has asked
        (0.8, 0.7, 0.2, 0, Kind.REGRESSION),
        (0.8, 0.7, 0.6, 2, Kind.NOTHING),  # of the same run
    ],
)
SECOND = step(
    [0, 0, 1, 1, 2],
    [True] * 5,
    [False, False, True, True, True],
    [
        (0.5, 0.6, 0.6, 1, Kind.NOTHING),  # 2/3 (-.1) + 0
        (0.3, 0.1, 0.1, 0, Kind.BOTH_WRONG),  # driven apart, but no fair start
        (0.6, 0.9, 0.65, 1, Kind.NOTHING),  # 2/3 (-.05) + 1/3 .25
    ],
)


def test_scores_by_hand() -> None:
    chains = Chains(OPERATORS, energy=2)
    chains.learn(FIRST)
    assert chains.score.tolist() == [1, 0, 0, 0, 0, 0], "twice chosen, twice rewarded: at most once a run"
    chains.learn(SECOND)
    # 0: 3 times chosen, 2 rewarded, 2 of 3 fair; 1: never rewarded; 2: once chosen, rewarded, fair
    assert chains.score.tolist() == pytest.approx([2 / 3 * 2 / 3, 0, 1, 0, 0, 0])
    state = chains.state_dict()
    assert state["chosen"].tolist() == [3, 2, 1, 0, 0, 0]
    assert state["judged"].tolist() == [3, 2, 1, 0, 0, 0]
    assert state["fair"].tolist() == [2, 1, 1, 0, 0, 0]


def test_a_turn_without_rows_teaches_nothing() -> None:
    nothing = step([], [], [], [])
    for policy in (Chains(OPERATORS), Rewarded(OPERATORS)):
        before = {name: value.clone() for name, value in policy.state_dict().items()}
        policy.learn(nothing)
        assert all(torch.equal(value, before[name]) for name, value in policy.state_dict().items())


def test_chances_sum_to_one_and_none_is_too_small() -> None:
    policy = Rewarded(OPERATORS, floor=0.3)
    assert policy.chance.tolist() == pytest.approx([1 / 6] * 6)
    bad = step([0] * 400 + [1] * 400, [True] * 800, [True] * 800,
               [(0, 0, 0, 0, Kind.NOTHING)] * 400 + [(0, 0, 0, 1, Kind.NOTHING)] * 400)  # fmt: skip
    for _ in range(50):
        policy.learn(bad)
    assert float(policy.chance.sum()) == pytest.approx(1)
    assert float(policy.chance.min()) >= 0.3 / 6
    assert float(policy.chance[0]) == pytest.approx(0.3 / 6, rel=0.01), "only the floor is left of it"
    assert float(policy.chance[1]) == float(policy.chance.max())


def test_a_fault_counts_for_more_than_a_row_that_is_kept() -> None:
    nothing, kept, fault = (0, 0, 0, 0, Kind.NOTHING), (0, 0, 0, 3, Kind.NOTHING), (0, 0, 0, 0, Kind.REGRESSION)
    policy = Rewarded(OPERATORS)
    policy.learn(step([0] * 20 + [1] * 20 + [2] * 20, [True] * 60, [True] * 60,
                      [nothing] * 20 + [kept] * 20 + [fault] * 20))  # fmt: skip
    wrong = (0, 0, 0, 0, Kind.BOTH_WRONG)
    policy.learn(step([3] * 20, [True] * 20, [True] * 20, [wrong] * 20))
    none, some, more, both = policy.chance[:4].tolist()
    assert none == both < some < more
    got = shares(policy(seeds(MANY), generator(0)).notes["op"].tolist())
    assert got == pytest.approx(policy.chance.tolist(), abs=0.012)


@pytest.mark.parametrize("make", [lambda: Chains(OPERATORS, energy=2), lambda: Rewarded(OPERATORS)])
def test_state_goes_round(make) -> None:
    one, other = make(), make()
    one(seeds(30), generator(0))
    for made in (FIRST, SECOND, FIRST):
        one.learn(made)
    other.load_state_dict(one.state_dict())
    runs = [[policy(seeds(30), generator(n)).notes["op"].tolist() for n in range(5)] for policy in (one, other)]
    assert runs[0] == runs[1]
    fresh = make()
    assert [fresh(seeds(30), generator(n)).notes["op"].tolist() for n in range(5)] != runs[0], "it had learned"
