"""What a run on two versions counts, against Python sets over made-up steps."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from nnfuzz.ledger import Distinct, Ledger
from nnfuzz.records import Batch, Kind, Seen, Step
from tests.conftest import generator

CLASSES, SEEDS = 4, 5
KINDS = torch.tensor([Kind.NOTHING, Kind.REGRESSION, Kind.BOTH_WRONG, Kind.FIXED, Kind.NOT_FINITE])


def step(number: int, rows: int = 80) -> Step:
    """Few pixels, so that the same image comes again and again; the answers fit the verdict."""
    rng = generator(number)
    seed = torch.randint(SEEDS, (rows,), generator=rng)
    x = torch.randint(3, (rows, 1, 1, 2), generator=rng).to(torch.uint8)
    children = Batch(x, seed % CLASSES, seed, seed)
    verdict = KINDS[torch.randint(len(KINDS), (rows,), generator=rng)]
    logits = torch.randn(2, rows, CLASSES, generator=rng)
    right = (verdict == Kind.NOTHING).nonzero().flatten()
    logits[:, right, children.label[right]] += 4
    wrong = (verdict == Kind.REGRESSION).nonzero().flatten()
    logits[1, wrong, (children.label[wrong] + 1 + torch.randint(3, wrong.shape, generator=rng)) % CLASSES] += 9
    every = torch.ones(rows, dtype=torch.bool)
    seen, gain = Seen(logits, torch.zeros(rows, 0)), torch.zeros(rows, dtype=torch.int64)
    return Step(children, children, children, seen, gain, verdict, gain[:0], every, every)


def aside(*verdicts: Kind) -> Batch:
    given = Batch.of_seeds(torch.zeros(len(verdicts), 1, 1, 2, dtype=torch.uint8))
    return given.child(given.x, verdict=torch.tensor(verdicts, dtype=torch.int64))


def by_hand(steps: list[Step]) -> dict[str, int]:
    faults, inputs, failures = set(), list[bytes](), list[bytes]()
    others: Counter[str] = Counter()
    for one in steps:
        old, new = one.seen.logits.softmax(2)
        for row, kind in enumerate(one.verdict.tolist()):
            image, label = one.children.x[row].numpy().tobytes(), int(one.children.label[row])
            if kind == Kind.REGRESSION:
                faults.add((int(one.children.seed[row]), int(new[row].argmax())))
                inputs.append(image)
            if kind in (Kind.REGRESSION, Kind.BOTH_WRONG):
                failures.append(image)
            others["fixed"] += kind == Kind.FIXED
            behind = float(old[row, label] - new[row, label]) if kind == Kind.NOTHING else 0
            others["weakened" if behind > 0.3 else "half_weakened" if behind > 0.15 else "neither"] += 1
    return {
        "regression_inputs": len(inputs), "regression_inputs_distinct": len(set(inputs)),
        "regression_faults": len(faults), "general_failures": len(failures),
        "general_failures_distinct": len(set(failures)), "faults_in_seeds": 0, "fixed": others["fixed"],
        "weakened": others["weakened"], "half_weakened": others["half_weakened"],
    }  # fmt: skip


def read(steps: list[Step]) -> Ledger:
    ledger = Ledger(aside(), CLASSES)
    for one in steps:
        ledger.read(one)
    return ledger


def test_counts_are_those_of_plain_sets() -> None:
    steps = [step(number) for number in range(6)]
    expected = by_hand(steps)
    assert read(steps).counts() == expected
    assert read(steps).faults == expected["regression_faults"]
    assert all(count for name, count in expected.items() if name != "faults_in_seeds"), "every case is there"
    assert expected["regression_inputs_distinct"] < expected["regression_inputs"]


def test_steps_without_rows_count_nothing() -> None:
    assert not any(read([step(0, rows=0)]).counts().values())
    assert not any(Ledger(aside(), CLASSES).counts().values())


def test_seeds_that_regress_unmutated_are_counted_apart() -> None:
    ledger = Ledger(aside(Kind.REGRESSION, Kind.BOTH_WRONG, Kind.FIXED, Kind.REGRESSION), CLASSES)
    assert ledger.counts()["faults_in_seeds"] == 2
    assert not any(count for name, count in ledger.counts().items() if name != "faults_in_seeds")


def test_state_goes_round() -> None:
    steps = [step(number) for number in range(6)]
    first = read(steps[:3])
    other = Ledger(aside(), CLASSES)
    other.load_state_dict(first.state_dict())
    for one in steps[3:]:
        first.read(one)
    for one in steps[3:]:
        other.read(one)
    assert other.counts() == first.counts() == by_hand(steps)


@pytest.mark.parametrize("size", [10, 70_000])
def test_distinct_numbers(size: int) -> None:
    """The larger ones are merged in between."""
    distinct, seen = Distinct(), set[int]()
    for number in range(5):
        numbers = torch.randint(-size, size, (size,), generator=generator(number))
        distinct.add(numbers)
        seen.update(numbers.tolist())
    assert distinct.numbers().tolist() == sorted(seen)
    other = Distinct()
    other.load(distinct.numbers())
    other.add(torch.tensor([size + 7, size + 7]))
    assert len(other.numbers()) == len(seen) + 1
