"""How often each neuron was covered: the cov_tracker of DLFuzz's Algorithm 1."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from nnfuzz.records import Batch, Seen


class Times:
    """A Feedback, and the one table that the inputs share. A neuron is covered above the threshold, on values
    scaled per input and layer (DeepXplore sec. 4.1, which DLFuzz takes over).

    It is read as it stood before a call and updated after it: the gain of a row is what the table did not have then,
    whatever the rows beside it cover.
    """

    def __init__(self, neurons: int, threshold: float = 0.5) -> None:
        self.threshold = threshold
        self.times = torch.zeros(neurons, dtype=torch.int64)

    def __repr__(self) -> str:
        return f"Times(neurons={len(self.times)}, threshold={self.threshold})"

    def __call__(self, children: Batch, seen: Seen) -> Tensor:
        covered = (seen.features["scaled"] > self.threshold).cpu()  # NaN is above nothing
        gain = (covered & (self.times == 0)).sum(1)
        self.times += covered.sum(0)
        return gain

    def state_dict(self) -> dict[str, Any]:
        return {"times": self.times.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.times.copy_(state["times"])  # in place: whoever picks neurons looks at the same tensor
