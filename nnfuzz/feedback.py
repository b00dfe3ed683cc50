"""Several feedbacks at once, and what a corpus keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from nnfuzz.records import Batch, Kind, Seen
from nnfuzz.roles import Feedback, Keep, Stateful, promising


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

    def state_dict(self) -> dict[str, Any]:
        return {str(i): f.state_dict() for i, f in enumerate(self.feedbacks) if isinstance(f, Stateful)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for i, feedback in enumerate(self.feedbacks):
            if isinstance(feedback, Stateful):
                feedback.load_state_dict(state[str(i)])


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
