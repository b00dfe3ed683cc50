"""How much of the seed is left in the child: in its pixels' structure, or in what a network makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from nnfuzz.records import Batch
from nnfuzz.validity.by_seed import BySeed

ROWS = 1024


def ssim(x: Tensor, y: Tensor) -> Tensor:
    """[B] mean structural similarity (Wang et al., IEEE TIP 2004, Eq. 13) of uint8 images, in float64.

    Windows are Gaussian (sigma 1.5, 11x11, smaller in smaller images) and lie wholly within the image; channels count
    alike. Moving an image by a few pixels costs most of it, so this suits mutators that leave pixels where they are.
    """
    size = min(11, min(x.shape[2:]) - (1 - min(x.shape[2:]) % 2))
    taps = (torch.arange(size, dtype=torch.float64) - size // 2).div(1.5).square().mul(-0.5).exp()
    taps = taps / taps.sum()

    def local(values: Tensor) -> Tensor:  # [B,C,H,W] -> the mean under each window
        flat = values.flatten(0, 1)[:, None]
        return F.conv2d(F.conv2d(flat, taps.view(1, 1, -1, 1)), taps.view(1, 1, 1, -1)).view(*x.shape[:2], -1)

    a, b = x.double(), y.double()
    mean_a, mean_b = local(a), local(b)
    var_a, var_b, both = (
        local(a * a) - mean_a**2, local(b * b) - mean_b**2, local(a * b) - mean_a * mean_b
    )  # fmt: skip
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2  # Eq. 13's constants with the authors' K1, K2
    whole = (2 * mean_a * mean_b + c1) * (2 * both + c2) / ((mean_a**2 + mean_b**2 + c1) * (var_a + var_b + c2))
    return whole.flatten(1).mean(1)


@dataclass(frozen=True)
class Similar:
    """Structural similarity with the seed of at least `threshold`."""

    threshold: float
    images: BySeed = field(repr=False)

    @classmethod
    def of(cls, seeds: Batch, threshold: float = 0.5) -> Similar:
        return cls(threshold, BySeed(seeds, seeds.x))

    def __call__(self, children: Batch, parents: Batch) -> Tensor:
        parts = [ssim(part.x, self.images(part.seed)) for part in _parts(children)]
        return torch.cat([*parts, torch.zeros(0, dtype=torch.float64)]) >= self.threshold


@dataclass(frozen=True)
class Alike:
    """The cosine between what a layer makes of the child and of the seed is at least `threshold`."""

    layer: str
    threshold: float
    features: Callable[[Tensor], Tensor] = field(repr=False)  # uint8 [B,C,H,W] -> [B,F]
    seeds: BySeed = field(repr=False)

    @classmethod
    def of(
        cls, features: Callable[[Tensor], Tensor], seeds: Batch, threshold: float = 0.8, layer: str = "layer"
    ) -> Alike:
        return cls(layer, threshold, features, BySeed(seeds, features(seeds.x)))

    def __call__(self, children: Batch, parents: Batch) -> Tensor:
        return F.cosine_similarity(self.features(children.x), self.seeds(children.seed)) >= self.threshold


def _parts(children: Batch) -> list[Batch]:
    return [children[start : start + ROWS] for start in range(0, len(children), ROWS)]
