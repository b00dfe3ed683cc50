"""Strong random distortions of training images, a whole batch at once: for judges, who must read what mutators leave.

Each step changes a random part of the rows. Sizes follow those of the published mutators, on 28x28 images, and go a
little further, so that a mutated image is never at the edge of what a judge was taught.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, pi

import torch
import torch.nn.functional as F
from torch import Generator, Tensor

Step = Callable[[Tensor, Generator], Tensor]  # float [B,C,H,W] in 0 … 255, rng -> the same

THICKNESS = ((1, 2), (2, 1), (2, 2), (1, 3), (3, 1), (3, 3))  # windows of the lightest or darkest neighbour


def distort(x: Tensor, rng: Generator) -> Tensor:
    """uint8 [B,C,H,W] -> float32 whole numbers from 0 to 255, as mutants of mutants are."""
    x = x.float()
    for step, share in STEPS:
        rows = (torch.rand(len(x), generator=rng) < share).nonzero().flatten()
        if len(rows):
            x = x.index_copy(0, rows, step(x.index_select(0, rows), rng).round_().clamp_(0, 255))
    return x


def _between(low: float, high: float, rows: int, rng: Generator) -> Tensor:
    return low + (high - low) * torch.rand(rows, 1, 1, 1, generator=rng)


def moved(x: Tensor, rng: Generator) -> Tensor:
    """Turned, grown or shrunk, sheared and shifted at once; what comes in from outside is black."""
    draw = torch.rand(len(x), 5, generator=rng) * 2 - 1
    angle, size, slant, right, down = (draw * torch.tensor([pi / 3.2, log(1.4), 0.6, 0.25, 0.25])).unbind(1)
    cos, sin = angle.cos() * (size - 0.05).exp(), angle.sin() * (size - 0.05).exp()
    back = torch.stack([cos, slant * cos - sin, right, sin, slant * sin + cos, down], 1).view(-1, 2, 3)
    return F.grid_sample(x, F.affine_grid(back, list(x.shape), align_corners=False), align_corners=False)


def thickened(x: Tensor, rng: Generator) -> Tensor:
    """Strokes made thinner or thicker."""
    kind = torch.randint(len(THICKNESS), (len(x),), generator=rng)
    sign = (torch.randint(2, (len(x), 1, 1, 1), generator=rng) * 2 - 1).float()
    out = x * sign  # the darkest neighbour is the lightest one of the negative
    for number, (height, width) in enumerate(THICKNESS):
        rows = (kind == number).nonzero().flatten()
        before, behind = ((height - 1) // 2, (width - 1) // 2), (height // 2, width // 2)
        wide = F.pad(out[rows], (before[1], behind[1], before[0], behind[0]), mode="replicate")
        out[rows] = F.max_pool2d(wide, (height, width), 1)
    return out * sign


def smoothed(x: Tensor, rng: Generator) -> Tensor:
    """A Gaussian of up to 1.6 pixels, cut off at three."""
    width = _between(0.4, 1.6, len(x), rng)
    taps = (torch.arange(-3, 4) / width.flatten()[:, None]).square().mul(-0.5).exp()
    taps = taps / taps.sum(1, keepdim=True)  # [B,7]
    for dim in (2, 3):
        wide = F.pad(x, (0, 0, 3, 3) if dim == 2 else (3, 3, 0, 0), mode="replicate")
        parts = [wide.narrow(dim, i, x.shape[dim]) * taps[:, i].view(-1, 1, 1, 1) for i in range(7)]
        x = torch.stack(parts).sum(0)
    return x


def toned(x: Tensor, rng: Generator) -> Tensor:
    """Contrast and brightness."""
    return x * _between(0.3, 1.7, len(x), rng) + _between(-50, 50, len(x), rng)


def noisy(x: Tensor, rng: Generator) -> Tensor:
    """Added and multiplied noise, and a few white and black pixels."""
    speckle = torch.randn(x.shape, generator=rng) * _between(0, 0.8, len(x), rng)
    grain = torch.randn(x.shape, generator=rng) * _between(0, 12, len(x), rng)
    dots = torch.rand(x.shape, generator=rng)
    x = x * (1 + speckle) + grain
    return x.masked_fill_(dots < 0.003, 0).masked_fill_(dots > 0.997, 255)


def patched(x: Tensor, rng: Generator) -> Tensor:
    """A white, black or negative square, its side from a fourteenth to a seventh of the image's height."""
    rows, _, height, width = x.shape
    side = _between(height / 14, height / 7 + 1, rows, rng).floor_().clamp_min_(1)
    top, left = (torch.rand(rows, 1, 1, 1, generator=rng) * (n - side) for n in (height, width))
    down, right = torch.arange(height).view(1, 1, -1, 1) - top, torch.arange(width).view(1, 1, 1, -1) - left
    inside = (down >= 0) & (down < side) & (right >= 0) & (right < side)
    kind = torch.randint(3, (rows, 1, 1, 1), generator=rng)
    return torch.where(inside, torch.where(kind == 0, 255 - x, 255.0 * (kind - 1)), x)


STEPS: tuple[tuple[Step, float], ...] = (
    (patched, 0.25), (noisy, 0.15), (moved, 0.9), (thickened, 0.4), (smoothed, 0.2), (toned, 0.5),
    (thickened, 0.1), (noisy, 0.2), (patched, 0.25),
)  # fmt: skip
