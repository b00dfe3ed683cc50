"""A small square at a random place, in all channels: turned to its negative, to white, to black."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from nnfuzz.mutators.operator import Apply, Operator, as_rows, to_pixels, towards

SIDE = 2


@dataclass(frozen=True)
class PlaceDraw:
    """[down, across, strength]: the place as shares of the way, so that a row means something for any image size."""

    def __call__(self, rows: int, rng: Generator) -> Tensor:
        place = torch.rand(rows, 2, dtype=torch.float64, generator=rng)
        return torch.cat([place, torch.ones(rows, 1, dtype=torch.float64)], 1)


def _places(share: Tensor, size: int) -> Tensor:
    """[B,SIDE] int64. The last place is one short of the last that fits, as in DRFuzz's code."""
    first = (share * max(size - SIDE, 1)).long()
    return (first[:, None] + torch.arange(SIDE)).clamp(max=size - 1)


def _patched(x: Tensor, param: Tensor, pull: float, target: float) -> Tensor:
    """`strength` of the way to pull·v + target."""
    channels, height, width = x.shape[1:]
    down, across = _places(param[:, 0], height), _places(param[:, 1], width)
    at = (down[:, :, None] * width + across[:, None]).flatten(1)  # [B,SIDE²]
    at = at[:, None].expand(-1, channels, -1)
    entries = x.flatten(2).clone()
    old = entries.gather(2, at).float()
    strength = as_rows(param[:, 2].float())[..., 0]
    return entries.scatter_(2, at, to_pixels(old + strength * (pull * old + target - old))).view(x.shape)


def _reverse(x: Tensor, param: Tensor) -> Tensor:
    return _patched(x, param, -1, 255)


def _white(x: Tensor, param: Tensor) -> Tensor:
    return _patched(x, param, 0, 255)


def _black(x: Tensor, param: Tensor) -> Tensor:
    return _patched(x, param, 0, 0)


def _patch(name: str, apply: Apply) -> Operator:
    return Operator(name, PlaceDraw(), apply, weaken=towards(None, None, 0.0))


def reverse_patch() -> Operator:
    """v becomes 255 - v."""
    return _patch("reverse_patch", _reverse)


def white_patch() -> Operator:
    """v becomes 255."""
    return _patch("white_patch", _white)


def black_patch() -> Operator:
    """v becomes 0."""
    return _patch("black_patch", _black)
