"""The least or the greatest value nearby, as OpenCV's erode and dilate: what is outside the image does not count."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from nnfuzz.mutators.operator import Apply, Operator, Values, drawn, grouped, span

KERNELS = ((1, 1), (1, 2), (2, 1), (2, 2), (1, 3), (3, 1), (3, 3))  # rows and columns, all of them ones
LADDERS = ((1, 2, 4, 7), (1, 3), (1, 2, 5), (1, 3, 6))  # kinds of which each one holds those before it


def _windowed(x: Tensor, _: Tensor, kernel: tuple[int, int], outside: int, pick: Callable[..., Tensor]) -> Tensor:
    """Two at a time, down and then across. An even kernel leans to the left and up."""
    height, width = x.shape[2:]
    across = width + kernel[1] - 1
    sides = [part for size in reversed(kernel) for part in (size // 2, (size - 1) // 2)]
    wide = F.pad(x, sides, value=outside).flatten(2)  # in one row, so that a step in any direction is a long view
    for step in (across,) * (kernel[0] - 1) + (1,) * (kernel[1] - 1):
        wide = pick(wide[..., step:], wide[..., :-step])
    wide = F.pad(wide, (0, height * across - wide.shape[2]))
    return wide.view(*x.shape[:3], across)[..., :width].contiguous()


def _applies(outside: int, pick: Callable[..., Tensor]) -> tuple[Apply, ...]:
    return tuple(partial(_windowed, kernel=kernel, outside=outside, pick=pick) for kernel in KERNELS[1:])


_ERODE, _DILATE = _applies(255, torch.minimum), _applies(0, torch.maximum)


def _erode(x: Tensor, param: Tensor) -> Tensor:
    return grouped(x, param, param[:, 0].long() - 2, _ERODE)


def _dilate(x: Tensor, param: Tensor) -> Tensor:
    return grouped(x, param, param[:, 0].long() - 2, _DILATE)


def _weaken(param: Tensor, share: Tensor) -> Tensor:
    """Down to the kernels that lie within this one."""
    ladder = next(kinds for kinds in LADDERS if int(param[0]) in kinds)
    height = ladder.index(int(param[0])) + 1
    return torch.tensor(ladder, dtype=torch.float64)[(share * height).ceil().long() - 1, None]


def erode(kinds: Values = span(1, 7)) -> Operator:
    """Kernels 1 … 7: 1x1, which changes nothing, 1x2, 2x1, 2x2, 1x3, 3x1, 3x3."""
    return Operator("erode", drawn(kinds), _erode, weaken=_weaken)


def dilate(kinds: Values = span(1, 7)) -> Operator:
    """The same kernels."""
    return Operator("dilate", drawn(kinds), _dilate, weaken=_weaken)
