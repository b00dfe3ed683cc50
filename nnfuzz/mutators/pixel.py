"""Operations on each pixel value by itself."""

from __future__ import annotations

import torch
from torch import Tensor

from nnfuzz.mutators.operator import Operator, Values, as_rows, drawn, span, to_pixels, towards


def _contrast(x: Tensor, param: Tensor) -> Tensor:
    return to_pixels(x.float().mul_(as_rows(param.float())))


def _brightness(x: Tensor, param: Tensor) -> Tensor:
    # Stay in 8 bits: keep what would leave 0..255 just inside, and the addition cannot wrap.
    shift = as_rows(param.round().clamp(-255, 255).to(torch.int64))
    low, high = (-shift).clamp(min=0).to(torch.uint8), (255 - shift).clamp(max=255).to(torch.uint8)
    inside = torch.maximum(x, low)
    return torch.minimum(inside, high, out=inside).add_(shift.remainder(256).to(torch.uint8))


def contrast(factors: Values = span(5, 12, 0.1)) -> Operator:
    """Multiply by a factor."""
    return Operator("contrast", drawn(factors), _contrast, weaken=towards(1.0))


def brightness(shifts: Values = span(-20, 19)) -> Operator:
    """Add a whole number to every channel; others are rounded."""
    return Operator("brightness", drawn(shifts), _brightness, weaken=towards(0.0))
