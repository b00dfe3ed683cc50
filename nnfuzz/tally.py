"""Counting what a run has done: a reader of steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from nnfuzz.records import Kind, Step


def fingerprints(x: Tensor) -> Tensor:
    """[B] int64: equal inputs have equal fingerprints, different ones differ but for one chance in 2^57.

    A sum with fixed random odd weights, modulo 2^64: whole tensors at once, where hashing each image's
    bytes would be a loop in Python.
    """
    flat = x.flatten(1).long()
    weights = torch.randint(-(2**62), 2**62, (flat.shape[1],), generator=torch.Generator().manual_seed(0))
    return (flat * (2 * weights + 1)).sum(1)


COUNTERS = ("tries", "executed", "findings", "first_finding_seconds", "steps", "flaky", "dropped")


@dataclass
class Tally:
    """Counters over all steps so far. `findings` counts inputs, `distinct` those with different pixels."""

    tries: int = 0  # mutants made
    executed: int = 0  # those that were a fair question, run on the model
    findings: int = 0
    first_finding_seconds: float | None = None
    steps: int = 0
    flaky: int = 0  # findings whose verdict did not come again
    dropped: int = 0  # executed, and then found to be no fair question
    clock: Callable[[], float] = time.monotonic
    kinds: dict[str, int] = field(default_factory=dict)
    _distinct: set[int] = field(default_factory=set)
    _seeds: set[int] = field(default_factory=set)
    _before: float = 0.0  # seconds of search before this process
    _ended: float | None = None  # what the clock said when the search was over

    def __post_init__(self) -> None:
        self.started = self.clock()

    def resume(self, seconds: float | None = None) -> None:
        """Let the clock run on from there, or from where it was read last."""
        self.started, self._ended = self.clock() - (self._before if seconds is None else seconds), None

    def rest(self) -> None:
        """The search is over, and what is still made of it does not count."""
        self._ended = self.clock()

    @property
    def seconds(self) -> float:
        return (self.clock() if self._ended is None else self._ended) - self.started

    @property
    def distinct(self) -> int:
        return len(self._distinct)

    @property
    def seeds_hit(self) -> int:
        return len(self._seeds)

    def read(self, step: Step) -> Tensor:
        """Count a step; the rows of its children come back that are findings never seen before."""
        self.steps += 1
        self.tries += len(step.tried)
        self.executed += len(step.fair)
        self.dropped += len(step.fair) - len(step.children)
        rows = (step.verdict > Kind.NOTHING).nonzero().flatten()
        if not len(rows):
            return rows
        self.findings += len(rows)
        if self.first_finding_seconds is None:
            self.first_finding_seconds = self.seconds
        self._seeds.update(step.children.seed[rows].tolist())
        new = []
        for row, key in zip(rows.tolist(), fingerprints(step.children.x[rows]).tolist(), strict=True):
            if key not in self._distinct:
                self._distinct.add(key)
                new.append(row)
        for kind in step.verdict[new].tolist():
            label = Kind(kind).label
            self.kinds[label] = self.kinds.get(label, 0) + 1
        return torch.tensor(new, dtype=torch.int64)

    def state_dict(self) -> dict[str, Any]:
        """All but the fingerprints, which grow with the findings and stand beside them."""
        return {
            **{name: getattr(self, name) for name in COUNTERS}, "seconds": self.seconds, "kinds": dict(self.kinds),
            "seeds": torch.tensor(sorted(self._seeds), dtype=torch.int64),
        }  # fmt: skip

    def load_state_dict(self, state: Mapping[str, Any], fingerprints: Sequence[int]) -> None:
        for name in COUNTERS:
            setattr(self, name, state[name])
        self.kinds, self._seeds = dict(state["kinds"]), set(state["seeds"].tolist())
        self._distinct = set(fingerprints)
        self._before = float(state["seconds"])
        self.resume()
