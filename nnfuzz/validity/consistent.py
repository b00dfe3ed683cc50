"""Without any training: a child is a fair question while the old model reads it, even when it is moved a little."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from nnfuzz.records import Batch
from nnfuzz.validity.by_seed import BySeed, rightly

# (right, down, brighter, contrast, noise): the nearest first, since most that fail one fail an early one.
JITTERS = (
    (1, 0, 0, 1.0, 0), (0, 1, 0, 1.0, 0), (-1, 0, 0, 1.0, 0), (0, -1, 0, 1.0, 0), (0, 0, 12, 1.0, 0),
    (0, 0, -12, 1.0, 0), (0, 0, 0, 1.0, 8), (1, 1, 0, 0.85, 0), (-1, -1, 0, 1.15, 0), (1, -1, 6, 1.0, 8),
    (-1, 1, -6, 1.0, 8),
)  # fmt: skip


def jittered(x: Tensor, jitter: tuple[int, int, int, float, int]) -> Tensor:
    """uint8 [B,C,H,W], every row in the same way; what comes in from outside repeats the border."""
    right, down, brighter, contrast, noise = jitter
    height, width = x.shape[2:]
    wide = F.pad(x.float(), (1, 1, 1, 1), mode="replicate")
    out = wide[:, :, 1 - down : 1 - down + height, 1 - right : 1 - right + width] * contrast + brighter
    if noise:
        pattern = torch.randn(x.shape[1:], generator=torch.Generator().manual_seed(noise))  # one for all rows
        out = out + noise * pattern
    return out.round().clamp(0, 255).to(torch.uint8)


@dataclass(frozen=True)
class Consistent:
    """The old model's answer is right on the child and on its first `copies` jittered copies."""

    copies: int
    read: Callable[[Tensor], Tensor] = field(repr=False)
    answers: BySeed = field(repr=False)  # the old model's own, for seeds without a label

    @classmethod
    def of(cls, read: Callable[[Tensor], Tensor], seeds: Batch, copies: int = 8) -> Consistent:
        return cls(copies, read, BySeed(seeds, read(seeds.x).argmax(1)))

    def __call__(self, children: Batch, parents: Batch) -> Tensor:
        right = rightly(children, self.answers)
        fair = self.read(children.x).argmax(1) == right
        for jitter in JITTERS[: self.copies]:
            rows = fair.nonzero().flatten()
            fair[rows] = self.read(jittered(children.x[rows], jitter)).argmax(1) == right[rows]
        return fair
