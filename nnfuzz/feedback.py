"""Several feedbacks at once, and what a corpus keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from nnfuzz.records import Batch, Kind, Seen, Step
from nnfuzz.roles import Feedback, Keep, Learner, Stateful, Validity, promising


class Together:
    """Several feedbacks at once: gains add up."""

    def __init__(self, feedbacks: Sequence[Feedback]) -> None:
        self.feedbacks = tuple(feedbacks)

    def __repr__(self) -> str:
        return f"Together({', '.join(map(repr, self.feedbacks))})"

    def __call__(self, children: Batch, seen: Seen) -> Tensor:
        return torch.stack([feedback(children, seen) for feedback in self.feedbacks]).sum(0)

    def promising(self, children: Batch, seen: Seen) -> Tensor:
        return torch.stack([promising(feedback, children, seen) for feedback in self.feedbacks]).any(0)

    def learn(self, step: Step) -> None:
        for feedback in self.feedbacks:
            if isinstance(feedback, Learner):
                feedback.learn(step)

    def state_dict(self) -> dict[str, Any]:
        return {str(i): f.state_dict() for i, f in enumerate(self.feedbacks) if isinstance(f, Stateful)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for i, feedback in enumerate(self.feedbacks):
            if isinstance(feedback, Stateful):
                feedback.load_state_dict(state[str(i)])


class SeedKeeping:
    """Line 16 of DLFuzz's Algorithm 1: what a row adds to the coverage `table`, where that earns it a place in its
    seed list, else 0. `also` is measured beside it.

    The share that a row has to add falls as its own input is searched longer: `share` / times that input was.
    """

    def __init__(self, table: Feedback, units: int, near: Validity, also: Feedback, share: float = 0.01) -> None:
        self.table, self.units, self.near, self.also, self.share = table, units, near, also, share
        self._searched = torch.zeros(0, dtype=torch.int64)  # by row in the user's data

    def __repr__(self) -> str:
        return f"SeedKeeping({self.table!r}, near={self.near!r}, share={self.share}, also={self.also!r})"

    def __call__(self, children: Batch, seen: Seen) -> Tensor:
        self.also(children, seen)
        gain = self.table(children, seen)
        worth = gain / self.units > self.share / self._times(children.seed)
        return torch.where(worth & self.near(children, children), gain, 0)

    def _times(self, seed: Tensor) -> Tensor:
        """[B] how often the input of each row was searched before, at least 1; and count this time."""
        if len(seed) and (missing := int(seed.max()) + 1 - len(self._searched)) > 0:
            self._searched = torch.cat([self._searched, torch.zeros(missing, dtype=torch.int64)])
        times = self._searched[seed].clamp_min(1)
        self._searched[torch.unique(seed)] += 1
        return times

    def state_dict(self) -> dict[str, Any]:
        held = {name: part.state_dict() for name, part in self._parts().items()}
        return {"searched": self._searched.clone(), **held}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._searched = state["searched"].clone()
        for name, part in self._parts().items():
            part.load_state_dict(state[name])

    def _parts(self) -> dict[str, Stateful]:
        parts = {"table": self.table, "also": self.also}
        return {name: part for name, part in parts.items() if isinstance(part, Stateful)}


def new_rows(gain: Tensor, verdict: Tensor) -> Tensor:
    """Keep what the oracle has nothing against and what hit something new (DeepHunter sec. 3.4)."""
    return (gain > 0) & (verdict == Kind.NOTHING)


def new_batches(gain: Tensor, verdict: Tensor) -> Tensor:
    """Keep all unfailing rows when the batch as a whole hit something new (DeepHunter Algorithm 1, 15-16)."""
    fine = verdict == Kind.NOTHING
    return fine & (gain[fine] > 0).any()


def unfailing(gain: Tensor, verdict: Tensor) -> Tensor:
    """Keep whatever the oracle has nothing against: the same loop without guidance, to compare with."""
    return verdict == Kind.NOTHING


def nothing(gain: Tensor, verdict: Tensor) -> Tensor:
    """Keep nothing: the corpus stays the seeds."""
    return torch.zeros_like(gain, dtype=torch.bool)


KEEPS: dict[str, Keep] = {"rows": new_rows, "batches": new_batches, "all": unfailing, "nothing": nothing}
