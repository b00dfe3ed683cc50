"""When a run stops, on a clock that the test turns."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from nnfuzz import budget
from nnfuzz.records import Batch, Kind, Seen, Step

NOTHING, GAIN, FINDING, KEPT = "nothing", "gain", "finding", "kept"


def step(news: str = NOTHING, rows: int = 4) -> Step:
    batch = Batch.of_seeds(torch.zeros(rows, 1, 2, 2, dtype=torch.uint8))
    gain, verdict = torch.zeros(rows, dtype=torch.int64), torch.zeros(rows, dtype=torch.int64)
    if news == GAIN:
        gain[-1] = 3
    if news == FINDING:
        verdict[-1] = Kind.HUNG
    kept = torch.tensor([7] if news in (KEPT, GAIN) else [])
    seen, every = Seen(torch.zeros(1, rows, 2), torch.zeros(rows, 1)), torch.ones(rows, dtype=torch.bool)
    return Step(batch, batch, batch, seen, gain, verdict, kept, every, every)


class Turning:
    """Steps that take a second each: `news` of the first ones, then nothing, until `end`."""

    def __init__(self, *news: str, end: int = 1000) -> None:
        self.now = 0.0
        self.steps = [step(one) for one in news] + [step()] * (end - len(news))

    def __iter__(self) -> Iterator[Step]:
        for one in self.steps:
            self.now += 1
            yield one

    def clock(self) -> float:
        return self.now


BUDGETS: dict[str, Callable[[Turning], Iterator[Step]]] = {
    "seconds": lambda steps: budget.seconds(steps, 3, steps.clock),
    "tries": lambda steps: budget.tries(steps, 12),
    "until": lambda steps: budget.until(steps, lambda: steps.now >= 3),
    "until_first": lambda steps: budget.until_first(steps),
    "plateau": lambda steps: budget.plateau(steps, 3, steps.clock),
}


@pytest.mark.parametrize("name", BUDGETS)
def test_every_budget_stops_after_a_whole_step_and_turns_no_further(name: str) -> None:
    steps = Turning(NOTHING, NOTHING, FINDING) if name == "until_first" else Turning()
    assert len(list(BUDGETS[name](steps))) == 3
    assert steps.now == 3, "no step was made that nobody read"


@pytest.mark.parametrize("name", BUDGETS)
def test_every_budget_hands_on_what_it_gets_and_ends_with_it(name: str) -> None:
    steps = Turning(GAIN, KEPT, end=2)
    assert [a is b for a, b in zip(BUDGETS[name](steps), steps.steps, strict=True)] == [True, True]


def test_the_first_step_with_a_finding_is_the_last() -> None:
    read = list(budget.until_first(Turning(GAIN, KEPT, FINDING, FINDING)))
    assert [bool(one.verdict.any()) for one in read] == [False, False, True]


@pytest.mark.parametrize(
    ("news", "turns"),
    [
        ((), 3),
        ((GAIN,), 4),
        ((NOTHING, FINDING), 5),
        ((NOTHING, NOTHING, GAIN, NOTHING, NOTHING, FINDING), 9),
        ((NOTHING, NOTHING, NOTHING, GAIN), 3),
        ((KEPT, KEPT, KEPT, KEPT), 3),  # a corpus may keep everything: that is no news
    ],
)
def test_a_plateau_is_that_long_without_gain_or_finding(news: tuple[str, ...], turns: int) -> None:
    steps = Turning(*news)
    assert len(list(budget.plateau(steps, 3, steps.clock))) == turns
