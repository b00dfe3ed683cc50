"""Rules on how far, in pixels, a child may be from the image it is compared with."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from nnfuzz.records import Batch
from nnfuzz.roles import Validity


def _ones(bits: Tensor) -> Tensor:
    """[B] how many of the bytes [B,N] are 1, the others being 0.

    Eight bytes read as one word are eight counters side by side, of which none overflows in 255 additions: ten
    times as fast as a sum that has to widen every byte first.
    """
    words = torch.nn.functional.pad(bits, (0, -bits.shape[1] % 8)).view(torch.int64)
    counters = torch.stack([part.sum(1) for part in torch.split(words, 255, 1)], 1)
    return counters.view(torch.uint8).sum(1)


@dataclass(frozen=True)
class L0Linf:
    """DeepHunter's Equation 1, against the note `reference`: few entries may change a lot, or all a little.

    Differences are signed: the original subtracts unsigned bytes, so brightening by 1 counts as 255 there.
    alpha and beta are the values of the authors' code; the paper prints none.
    """

    alpha: float = 0.02
    beta: float = 0.20

    def __call__(self, children: Batch, parents: Batch) -> Tensor:
        x, reference = children.x.flatten(1), children.notes["reference"].flatten(1)
        apart = torch.maximum(x, reference).sub_(torch.minimum(x, reference))  # |x - reference| in bytes, exact
        little = apart.amax(1) < self.beta * 255 if len(x) else torch.zeros(0, dtype=torch.bool)
        few = _ones(apart.clamp_(max=1)) < self.alpha * x.shape[1]
        return few | little


def relative_l2(x: Tensor, reference: Tensor) -> Tensor:
    """[B] how far in proportion: the length of the difference by that of the reference (DLFuzz sec. 3.2)."""
    x, reference = x.flatten(1).float(), reference.flatten(1).float()
    return (x - reference).square().sum(1).sqrt() / reference.square().sum(1).sqrt().clamp_min(1.0)


@dataclass(frozen=True)
class RelativeL2:
    """No further than so, in proportion, from the note `reference`."""

    most: float = 0.02

    def __call__(self, children: Batch, parents: Batch) -> Tensor:
        return relative_l2(children.x, children.notes["reference"]) <= self.most


@dataclass(frozen=True)
class Differs:
    """isChanged of Algorithm 1: the child is not its parent over again."""

    def __call__(self, children: Batch, parents: Batch) -> Tensor:
        return (children.x != parents.x).flatten(1).any(1)


@dataclass(frozen=True)
class AllOf:
    """Every rule holds."""

    rules: tuple[Validity, ...]

    def __call__(self, children: Batch, parents: Batch) -> Tensor:
        return torch.stack([rule(children, parents) for rule in self.rules]).all(0)
