"""Operations that move pixels. A pixel's coordinates are those of its middle, as in OpenCV's warpAffine:
the middle of an image is at (W/2 - 1/2, H/2 - 1/2). What comes in from outside is black.
"""

from __future__ import annotations

from math import pi

import torch
import torch.nn.functional as F
from torch import Tensor

from nnfuzz.mutators.operator import Operator, Values, drawn, span, to_pixels, towards, uniform


def warp(x: Tensor, source: Tensor) -> Tensor:
    """Fill pixel (u, v) from `source` [B,2,3] @ (u, v, 1), bilinearly."""
    height, width = x.shape[2:]
    size = torch.tensor([[width], [height]], dtype=torch.float64)
    # grid_sample has -1 and 1 at the outer edges of the image, half a pixel outside its outermost middles.
    scaled = source * (2 / size)  # [B,2,3]
    scaled[:, :, 2] += 1 / size[:, 0] - 1
    along, down, start = scaled.float().permute(2, 1, 0).contiguous()[..., None, None]  # 3 x [2,B,1,1]
    u = torch.arange(width, dtype=torch.float32)
    v = torch.arange(height, dtype=torch.float32)[:, None]
    # Not affine_grid: its matrix product may round a row differently in a batch than alone. A plane for each
    # coordinate, because pairs side by side are filled several times as slowly.
    planes = along * u + (down * v + start)  # [2,B,H,W]
    return to_pixels(F.grid_sample(x.float(), planes.permute(1, 2, 3, 0), align_corners=False))


def _matrices(rows: list[list[Tensor | float]], like: Tensor) -> Tensor:
    """[B,2,3] from six columns, some of them the same for all."""
    flat = [torch.as_tensor(value, dtype=torch.float64).expand(len(like)) for row in rows for value in row]
    return torch.stack(flat, 1).view(-1, 2, 3)


def _middle(x: Tensor) -> tuple[float, float]:
    return x.shape[3] / 2 - 0.5, x.shape[2] / 2 - 0.5


def _translate(x: Tensor, param: Tensor) -> Tensor:
    dx, dy = param[:, 0], param[:, -1]  # a lone number moves both ways
    return warp(x, _matrices([[1, 0, -dx], [0, 1, -dy]], param))


def _scale(x: Tensor, param: Tensor) -> Tensor:
    back, (cx, cy) = 1 / param[:, 0], _middle(x)
    return warp(x, _matrices([[back, 0, cx - back * cx], [0, back, cy - back * cy]], param))


def _shear(x: Tensor, param: Tensor) -> Tensor:
    # DeepHunter's code shears about the top row, which slides what is at the bottom out of the frame.
    return warp(x, _matrices([[1, param[:, 0], -param[:, 0] * _middle(x)[1]], [0, 1, 0]], param))


def _shear_from_the_top(x: Tensor, param: Tensor) -> Tensor:
    return warp(x, _matrices([[1, param[:, 0], 0], [0, 1, 0]], param))


def _rotate(x: Tensor, param: Tensor) -> Tensor:
    angle, (cx, cy) = param[:, 0] * (pi / 180), _middle(x)
    cos, sin = angle.cos(), angle.sin()
    right, down = cx - cos * cx + sin * cy, cy - sin * cx - cos * cy
    return warp(x, _matrices([[cos, -sin, right], [sin, cos, down]], param))


def translation(offsets: Values = span(-3, 2)) -> Operator:
    """Move by t to the right and down alike, or by (dx, dy)."""
    return Operator("translation", drawn(offsets), _translate, affine=True, weaken=towards(0.0))


def scale(factors: Values = span(7, 11, 0.1)) -> Operator:
    """Grow or shrink about the middle; the image keeps its size, so it is cropped or gets a black frame."""
    return Operator("scale", drawn(factors), _scale, affine=True, weaken=towards(1.0))


def shear(factors: Values = span(-6, 5, 0.1)) -> Operator:
    """Slide the row v pixels below the middle by -factor·v pixels to the right."""
    return Operator("shear", drawn(factors), _shear, affine=True, weaken=towards(0.0))


def shear_from_the_top(factors: Values = uniform(-0.6, 0.6)) -> Operator:
    """Slide row v by -factor·v pixels to the right: the top stays where it is, the bottom may leave the frame."""
    return Operator("shear_from_the_top", drawn(factors), _shear_from_the_top, affine=True, weaken=towards(0.0))


def rotation(degrees: Values = span(-50, 49)) -> Operator:
    """Turn about the middle, anticlockwise."""
    return Operator("rotation", drawn(degrees), _rotate, affine=True, weaken=towards(0.0))
