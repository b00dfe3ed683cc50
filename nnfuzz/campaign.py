"""The parts of one run, put together by a recipe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

import torch
from torch import Generator, Tensor

from nnfuzz import loop
from nnfuzz.records import Batch, Seen, Step
from nnfuzz.roles import (
    Corpus,
    Fair,
    Feedback,
    Keep,
    Mutator,
    Oracle,
    Remark,
    Schedule,
    Stateful,
    Target,
    Validity,
)  # fmt: skip


def every(children: Batch, seen: Seen) -> Tensor:
    """Nobody doubts a child."""
    return torch.ones(len(children), dtype=torch.bool)


def nothing(children: Batch, seen: Seen) -> Batch:
    """Later turns need to know nothing of it."""
    return children


@dataclass(frozen=True, eq=False, repr=False)
class Campaign:
    """Everything a run is made of. Its `repr` is its configuration, and is stored with the run."""

    recipe: str
    seeds: Batch = field(repr=False)
    corpus: Corpus = field(repr=False)
    schedule: Schedule
    mutate: Mutator
    valid: Validity
    target: Target = field(repr=False)
    feedback: Feedback
    oracle: Oracle
    keep: Keep
    rng: Generator = field(repr=False)
    fair: Fair = every
    remark: Remark = nothing

    def __repr__(self) -> str:
        said = ", ".join(
            f"{part.name}={getattr(value, '__name__', repr(value))}"
            for part in fields(self)
            if part.repr and (value := getattr(self, part.name)) is not None
        )
        return f"Campaign({said})"

    def admit(self) -> Batch:
        """Run the seeds; those already wrong come back, each with a note `verdict`, and are not mutated."""
        return loop.admit(self.seeds, self.corpus, self.target, self.feedback, self.oracle, self.remark)

    def steps(self) -> Iterator[Step]:
        return loop.fuzz(
            self.corpus, self.schedule, self.mutate, self.valid, self.target, self.fair,
            self.feedback, self.oracle, self.remark, self.keep, self.rng,
        )  # fmt: skip

    def state_dict(self, corpus: bool = True) -> dict[str, Any]:
        """Where the run stands, between two steps; without the corpus, where that is written down as it grows."""
        parts = self._remembering().items()
        states = {name: part.state_dict() for name, part in parts if corpus or name != "corpus"}
        return {"parts": states, "rng": self.rng.get_state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, part in self._remembering().items():
            if name in state["parts"]:
                part.load_state_dict(state["parts"][name])
        self.rng.set_state(state["rng"])

    def _remembering(self) -> dict[str, Stateful]:
        names = ("corpus", "schedule", "mutate", "valid", "fair", "feedback", "oracle")
        parts = {name: getattr(self, name) for name in names}
        return {name: part for name, part in parts.items() if isinstance(part, Stateful)}


def seeded(seed: int) -> Generator:
    """The one source of chance of a run."""
    return Generator().manual_seed(seed)
