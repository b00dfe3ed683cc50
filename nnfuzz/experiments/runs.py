"""One guided run of DeepHunter, measured, with a sample of the tests it made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor

from nnfuzz import budget
from nnfuzz.campaign import seeded
from nnfuzz.coverage import Cover
from nnfuzz.experiments.sample import Reservoir
from nnfuzz.hunting import Prepared, Watch, limited, prepare
from nnfuzz.opening import Subject
from nnfuzz.records import Batch, Kind
from nnfuzz.tally import Tally

Passed = tuple[float | None, float | None]


@dataclass(frozen=True, eq=False)
class Limits:
    """How long a run may take, and how many of its tests are held."""

    seconds: float
    tests: int
    seed: int
    batch: int = 100  # seeds in a batch of the pool
    tries: int | None = None  # instead of the clock, for a run that has to be the same again


@dataclass(frozen=True, eq=False)
class Run:
    """What one model and criterion gave. Coverage is of cells, and of groups: see Table 4."""

    model: str
    published: str | None
    criterion: str
    neurons: int
    seeds: Batch = field(repr=False)
    numbers: dict[str, Any]
    before: tuple[float, float]
    after: tuple[float, float]
    passed: Passed  # seconds until the published figure was passed by cells, and by groups
    x: Tensor = field(repr=False)  # a sample of the tests that were answered right
    label: Tensor = field(repr=False)
    right: int  # how many of those there were

    def plain(self) -> dict[str, Any]:
        return {
            "model": self.model, "criterion": self.criterion, "neurons": self.neurons, "seeds": len(self.seeds),
            "cells_before": self.before[0], "cells_after": self.after[0],
            "groups_before": self.before[1], "groups_after": self.after[1],
            "cells_passed": self.passed[0], "groups_passed": self.passed[1],
            "right_tests": self.right, "right_tests_held": len(self.x), **self.numbers,
        }  # fmt: skip


def covered(cover: Cover) -> tuple[float, float]:
    """The share of cells hit (what feedback tells apart), and of groups (neurons, bounds)."""
    return cover.cells, cover.coverage


def guided(
    name: str, published: str | None, subject: Subject, cover: Cover, seeds: Batch, limits: Limits,
    goal: float | None, watch: Watch, stopped: Callable[[], bool],
) -> Run:  # fmt: skip
    """Hunt with one criterion until the time is up; `goal` is the share to look out for."""
    prey = prepare(subject, [cover], seeds, seed=limits.seed, parameters={"batch": limits.batch})
    before = covered(cover)
    sample = Reservoir(limits.tests, seeded(limits.seed))
    tally, passed = _turn(prey, before[0], sample, limits, goal, watch, stopped)
    numbers = {k: v for k, v in prey.snapshot(tally).items() if k != cover.criterion.name}
    return Run(
        name, published, cover.criterion.name, subject.target.neurons, seeds, numbers, before, covered(cover), passed,
        *sample.held(), sample.offered,
    )  # fmt: skip


def _turn(
    prey: Prepared, share: float, sample: Reservoir, limits: Limits, goal: float | None, watch: Watch,
    stopped: Callable[[], bool],
) -> tuple[Tally, Passed]:  # fmt: skip
    """Read the steps: counters, and when the goal was passed by the share of cells and by that of groups."""
    (cover,) = prey.covers
    tally, ticked = Tally(), 0.0
    passed = _passed(goal, (share, cover.coverage), (None, None), 0.0)
    seconds = limits.seconds if limits.tries is None else None
    for step in budget.until(limited(prey.campaign.steps(), seconds, limits.tries), stopped):
        tally.read(step)
        right = step.verdict == Kind.NOTHING
        sample.offer(step.children.x[right], step.children.label[right])
        share += int(step.gain.sum()) / cover.criterion.units
        if None in passed and goal is not None:
            passed = _passed(goal, (share, cover.coverage), passed, round(tally.seconds, 2))
        if tally.seconds - ticked >= 1:
            ticked = tally.seconds
            watch.tick(prey.snapshot(tally))
    return tally, passed


def _passed(goal: float | None, shares: tuple[float, float], before: Passed, now: float) -> Passed:
    first, second = (
        now if then is None and goal is not None and share > goal else then
        for share, then in zip(shares, before, strict=True)
    )
    return first, second
