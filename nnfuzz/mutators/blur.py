"""Nine ways to smooth, as OpenCV does them: box 3, 4, 5; Gaussian 3, 5, 7; median 3, 5; bilateral."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import product
from math import exp

import torch
from torch import Tensor

from nnfuzz.mutators.operator import Operator, choices, grouped, span, to_pixels

# One-dimensional taps at offsets -3 … 3, as whole numbers, so that every sum is exact and its order is of
# no matter. The Gaussians are the tables OpenCV has for its automatic sigma at these sizes.
TAPS = (
    (0, 0, 1, 1, 1, 0, 0),
    (0, 1, 1, 1, 1, 0, 0),  # an even box leans to the left and up
    (0, 1, 1, 1, 1, 1, 0),
    (0, 0, 1, 2, 1, 0, 0),
    (0, 1, 4, 6, 4, 1, 0),
    (2, 7, 14, 18, 14, 7, 2),
)
LADDERS = ((4, 1, 5, 2, 6, 3), (7, 8), (9,))  # kinds that are alike, by how much they smooth: the variance of the taps
GROUP = (-1, 0, 0, 0, 0, 0, 0, 1, 2, 3)  # by kind: the six linear ones go together


@cache
def _places(height: int, width: int, radius: int, reflect: bool) -> Tensor:
    sides = []
    for size, extra in ((height, 1), (width, 0)):
        at = torch.arange(-radius, size + radius + extra)
        mirrored = (at.remainder(max(2 * (size - 1), 1)) - (size - 1)).abs()  # however small the image is
        sides.append(size - 1 - mirrored if reflect else at.clamp(0, size - 1))
    return (sides[0][:, None] * width + sides[1]).flatten()


def _framed(x: Tensor, radius: int, reflect: bool) -> Tensor:
    """[B,C,·] a wider image, row after row: mirrored about the outermost pixels, or repeating them.

    One row more than needed, so that the long views taken from it lie within.
    """
    height, width = x.shape[2:]
    places = _places(height, width, radius, reflect)
    return x.flatten(2).gather(2, places.expand(*x.shape[:2], -1))


def _cropped(rows: Tensor, shape: Sequence[int]) -> Tensor:
    height, width = shape[2:]
    return rows.view(*shape[:3], rows.shape[-1] // height)[..., :width].contiguous()


def _linear(x: Tensor, kind: Tensor) -> Tensor:
    taps = torch.tensor(TAPS, dtype=torch.float32)[kind[:, 0].long() - 1]  # [B,7]
    wide = _framed(x, 3, reflect=True).float()
    across, size = x.shape[3] + 6, x.shape[2] * (x.shape[3] + 6)
    down = torch.zeros_like(wide[..., : size + 6])
    both = torch.zeros_like(wide[..., :size])
    for i in range(7):
        down.addcmul_(wide[..., i * across : i * across + size + 6], taps[:, i, None, None])
    for j in range(7):
        both.addcmul_(down[..., j : j + size], taps[:, j, None, None])
    # Half rounds up, as in OpenCV's whole-number kernels.
    rounded = both.div_(taps.sum(1).square()[:, None, None]).add_(0.5).to(torch.int16).to(torch.uint8)
    return _cropped(rounded, x.shape)


def _merge_exchange(count: int) -> Iterator[tuple[int, int]]:
    """Batcher's sorting network for any count (Knuth, volume 3, algorithm 5.2.2 M)."""
    top = 1 << (count - 1).bit_length() - 1
    p = top
    while p:
        q, r, d = top, 0, p
        while True:
            yield from ((i, i + d) for i in range(count - d) if i & p == r)
            if q == p:
                break
            q, r, d = q // 2, p, q - p
        p //= 2


@cache
def _exchanges(count: int, wanted: frozenset[int]) -> tuple[tuple[int, int, bool, bool], ...]:
    """Those that the wanted ranks depend on, and which of their two results matters."""
    needed, kept = set(wanted), []
    for low, high in reversed(list(_merge_exchange(count))):
        if low in needed or high in needed:
            kept.append((low, high, low in needed, high in needed))
            needed |= {low, high}
    return tuple(reversed(kept))


def _ranked(planes: Sequence[Tensor], wanted: Iterable[int]) -> list[Tensor]:
    """Pixel by pixel: the planes of the wanted ranks are right, the others are spoilt."""
    planes = list(planes)
    for low, high, lower, upper in _exchanges(len(planes), frozenset(wanted)):
        a, b = planes[low], planes[high]
        if lower:
            planes[low] = torch.minimum(a, b)
        if upper:
            planes[high] = torch.maximum(a, b)
    return planes


def _median(x: Tensor, _: Tensor, size: int) -> Tensor:
    """Sort the columns of the window, which neighbours share; sort the rows of that; rank what is left.

    Then (i, j) has (i+1)(j+1) values not above it and (size-i)(size-j) not below: most cannot be the middle.
    Minima and maxima of bytes are many times as fast as torch.median on unfolded windows.
    """
    radius, across, length = size // 2, x.shape[3] + size - 1, x.shape[2] * (x.shape[3] + size - 1)
    wide, half = _framed(x, radius, reflect=False), size * size // 2 + 1
    down = [wide[..., i * across : i * across + length + size - 1] for i in range(size)]
    down_sorted = torch.stack(_ranked(down, range(size)))  # [size,B,C,·]
    both = torch.stack(_ranked([down_sorted[..., j : j + length] for j in range(size)], range(size)), 1)
    ranks = list(product(range(size), repeat=2))
    left = [both[i, j] for i, j in ranks if (i + 1) * (j + 1) <= half and (size - i) * (size - j) <= half]
    return _cropped(_ranked(left, [len(left) // 2])[len(left) // 2], x.shape)


@cache
def _likeness(channels: int, sigma: float) -> Tensor:
    """Weight by the sum of absolute channel differences. A table, since exp is not the same everywhere."""
    return torch.arange(255 * channels + 1, dtype=torch.float64).square().div(-2 * sigma**2).exp().float()


def _distance(one: Tensor, other: Tensor) -> Tensor:
    """[B,1,·] int32, the sum of absolute channel differences."""
    gap = torch.maximum(one, other).sub_(torch.minimum(one, other))
    return gap.to(torch.int32) if gap.shape[1] == 1 else gap.sum(1, keepdim=True, dtype=torch.int32)


def _bilateral(x: Tensor, _: Tensor, radius: int = 3, colour: float = 50.0, space: float = 50.0) -> Tensor:
    wide, table = _framed(x, radius, reflect=True), _likeness(x.shape[1], colour)
    across = x.shape[3] + 2 * radius
    start, size = radius * across + radius, x.shape[2] * across
    values = wide.float()
    total = values[..., start : start + size].clone()
    weights = torch.ones_like(total[:, :1])
    for i, j in product(range(radius + 1), range(-radius, radius + 1)):
        step = i * across + j
        if step <= 0 or i * i + j * j > radius * radius:
            continue
        # Two pixels a step apart weigh the same for each other: one table lookup serves both directions.
        far = _distance(wide[..., start - step : start + size], wide[..., start : start + size + step])
        near = table.index_select(0, far.flatten()).view(far.shape).mul_(exp((i * i + j * j) / (-2 * space**2)))
        ahead, behind = near[..., step:], near[..., :size]
        weights.add_(ahead).add_(behind)
        total.addcmul_(ahead, values[..., start + step : start + step + size])
        total.addcmul_(behind, values[..., start - step : start - step + size])
    return _cropped(to_pixels(total.div_(weights)), x.shape)


_APPLIES = (_linear, partial(_median, size=3), partial(_median, size=5), _bilateral)


def _blur(x: Tensor, param: Tensor) -> Tensor:
    group = torch.tensor(GROUP)[param[:, 0].long()]
    return grouped(x, param, group, _APPLIES)


def _weaken(param: Tensor, share: Tensor) -> Tensor:
    """Down the ladder that the kind stands on."""
    ladder = next(kinds for kinds in LADDERS if int(param[0]) in kinds)
    height = ladder.index(int(param[0])) + 1
    return torch.tensor(ladder, dtype=torch.float64)[(share * height).ceil().long() - 1, None]


def blur(kinds: Sequence[float] = span(1, 9)) -> Operator:
    """Kinds 1 … 9: box 3, 4, 5; Gaussian 3, 5, 7; median 3, 5; bilateral of diameter 6 and both sigmas 50."""
    return Operator("blur", choices(kinds), _blur, slow=True, weaken=_weaken)
