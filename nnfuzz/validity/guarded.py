"""A child is a fair question while somebody who is not under test still reads it as its seed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor

from nnfuzz.records import Batch
from nnfuzz.validity.by_seed import BySeed, rightly


@dataclass(frozen=True)
class Guarded:
    """The guard gives what should be read a probability of at least `threshold`."""

    guard: str
    threshold: float
    read: Callable[[Tensor], Tensor] = field(repr=False)  # uint8 [B,C,H,W] -> scores [B,K]
    answers: BySeed = field(repr=False)  # the guard's own, for seeds without a label

    @classmethod
    def of(
        cls, read: Callable[[Tensor], Tensor], seeds: Batch, threshold: float = 0.5, guard: str = "guard"
    ) -> Guarded:
        return cls(guard, threshold, read, BySeed(seeds, read(seeds.x).argmax(1)))

    def confidence(self, children: Batch) -> Tensor:
        """[B] the probability that the guard gives to what should be read."""
        right = rightly(children, self.answers)
        return self.read(children.x).softmax(1).gather(1, right[:, None])[:, 0]

    def __call__(self, children: Batch, parents: Batch) -> Tensor:
        return self.confidence(children) >= self.threshold
