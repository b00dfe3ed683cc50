"""DRFuzz's fidelity: a child stays as long as a GAN's discriminator takes it for a real image.

Scores are logits. The original compares what the sigmoid makes of them, which is 1.0 for every sure score, so that only
an equally sure child passes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from torch import Tensor

from nnfuzz.records import Batch
from nnfuzz.validity.by_seed import BySeed

Score = Callable[[Tensor], Tensor]  # uint8 [B,C,H,W] -> [B], higher = more like a real image


@dataclass(frozen=True)
class Faithful:
    """D(child) >= D(seed): the seed of the whole lineage, so the bar does not drift."""

    gan: str
    score: Score = field(repr=False)
    bars: BySeed = field(repr=False)

    @classmethod
    def of(cls, score: Score, seeds: Batch, gan: str = "gan") -> Faithful:
        return cls(gan, score, BySeed(seeds, score(seeds.x)))

    def __call__(self, children: Batch, parents: Batch) -> Tensor:
        return self.score(children.x) >= self.bars(children.seed)


@dataclass(frozen=True)
class Calibrated:
    """D(child) is at least what all but a share of real images reach: the same bar for every seed."""

    gan: str
    bar: float
    score: Score = field(repr=False)

    @classmethod
    def of(cls, score: Score, real: Tensor, share: float = 0.05, gan: str = "gan") -> Calibrated:
        return cls(gan, float(score(real).double().quantile(share)), score)

    def __call__(self, children: Batch, parents: Batch) -> Tensor:
        return self.score(children.x) >= self.bar
