"""Inputs as pictures, and what changed between two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    from PIL.Image import Image


def as_image(x: Tensor) -> Image:
    """[C,H,W] uint8, grey or RGB."""
    from PIL import Image

    pixels = x.permute(1, 2, 0).numpy()
    return Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)


def difference(before: Tensor, after: Tensor) -> Tensor:
    """What changed, around mid-grey and stretched to the full range, so that small changes can be seen."""
    apart = after.int() - before.int()
    most = max(1, int(apart.abs().max()))
    return (127 + apart * 127 // most).clamp(0, 255).to(before.dtype)
