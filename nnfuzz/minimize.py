"""The smallest change that still shows the verdict: first of the mutations, then of the pixels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

import torch
import torch.nn.functional as F
from torch import Tensor

from nnfuzz.mutators import Operator

Still = Callable[[Tensor], Tensor]  # uint8 [B,C,H,W] -> bool [B]: does each show the same verdict?
Trail = tuple[tuple[Operator, Tensor], ...]  # operators and the parameters of each, float64 [P]

ROWS = 256  # candidates in one question
GRID = 16  # shares of a change that are tried at once; then as many between two of them
ACROSS = 32  # regions along a side at most: more of them are more questions than what they save is worth


@dataclass(frozen=True)
class Distance:
    """How far an image is from another, in grey levels 0 … 255."""

    l0: int  # entries that differ
    l2: float
    linf: int
    ssim: float  # 1 for equal images


@dataclass(frozen=True, eq=False)
class Minimized:
    """What is left of a finding."""

    x: Tensor  # uint8 [C,H,W]
    trail: Trail  # mutations that are left; what the pixels lost besides stands only in x
    before: Distance
    after: Distance
    reproduced: bool  # does it show the verdict? If it did not from the start, x is the finding itself
    asked: int  # candidates that were run


def minimize(
    x: Tensor, seed: Tensor, trail: Sequence[tuple[Operator, Tensor]], still: Still, asks: int = 5000
) -> Minimized:
    """Make the change from `seed` to `x` (both uint8 [C,H,W]) smaller as long as `still` holds.

    `trail` are the mutations that led from one to the other; where they do not give `x` exactly, only pixels are
    looked at. Not more than `asks` candidates are run, so on slow models a smaller number is a shorter wait. The
    result is never further from the seed (L2) than `x` is.
    """
    seeds, found = seed[None], x[None]
    steps: Trail = tuple((operator, param[: operator.width]) for operator, param in trail)
    if not torch.equal(_replayed(seeds, steps), found):
        steps = ()
    judge, limit = _Judge(still, seeds, asks), float(_l2(found, seeds))
    states = [(found, steps)]
    if judge.alone(found):
        states += _reduced(found, steps, judge)
        # One mutation may hide how far another one went, so that a shorter trail can lead further at first. Most
        # often the later stages more than make up for it; where they do not, each stage has to stay near.
        if _l2(states[-1][0], seeds) > limit:
            judge.farthest = limit
            states[1:] = _reduced(found, steps, judge)
    # Rounding may differ between a batch and a lone image: what is handed out was asked alone.
    near = [state for state in reversed(states) if _l2(state[0], seeds) <= limit]
    held = next((state for state in near if judge.alone(state[0])), None)
    image, steps = held or states[0]
    return Minimized(image[0], steps, distance(x, seed), distance(image[0], seed), held is not None, judge.asked)


def _reduced(image: Tensor, trail: Trail, judge: _Judge) -> list[tuple[Tensor, Trail]]:
    """What each stage leaves."""
    states = []
    if trail:
        trail = _weakened(_dropped(trail, judge), judge)
        image = _replayed(judge.seed, trail)
        states.append((image, trail))
    # A turned digit blended with the upright one is a ghost that nobody ever wrote. So pixels go back to the seed as
    # the affine mutations left it, even where the seed itself would be the shorter way.
    base = _replayed(judge.seed, tuple(step for step in trail if step[0].affine))
    for stage in (_reverted, _blended):
        image = stage(image, base, judge)
        states.append((image, trail))
    return states


@dataclass
class _Judge:
    """Which candidates show the verdict, and are not too far from the seed?"""

    still: Still
    seed: Tensor  # [1,C,H,W]
    left: int  # candidates that may still be run
    asked: int = 0
    farthest: float = inf

    def __call__(self, candidates: Tensor) -> Tensor:
        """[B] bool; what there are no questions left for counts as no."""
        holds = torch.zeros(len(candidates), dtype=torch.bool)
        rows = (_l2(candidates, self.seed) <= self.farthest).nonzero().flatten()[: max(0, self.left)]
        for part in torch.split(rows, ROWS) if len(rows) else ():
            holds[part] = self.still(candidates[part]).cpu()
        self.left, self.asked = self.left - len(rows), self.asked + len(rows)
        return holds

    def alone(self, image: Tensor) -> bool:
        self.asked += 1
        return bool(self.still(image)[0])


def _replayed(x: Tensor, trail: Trail) -> Tensor:
    for operator, param in trail:
        x = operator.apply(x, param.expand(len(x), -1))  # [P] for all of them, or [B,P]
    return x


def _dropped(trail: Trail, judge: _Judge) -> Trail:
    """Leave out mutations, many at once and then fewer, until none can be spared (Zeller's ddmin)."""
    size = len(trail)
    while size:
        shorter = [trail[:start] + trail[start + size :] for start in range(0, len(trail), size)]
        images = torch.cat([_replayed(judge.seed, short) for short in shorter])
        good = judge(images).nonzero().flatten()
        if len(good):
            trail = shorter[int(good[_l2(images[good], judge.seed).argmin()])]
            size = min(size, len(trail))
        else:
            size //= 2
    return trail


def _weakened(trail: Trail, judge: _Judge) -> Trail:
    """Pull each mutation's parameters towards what changes nothing; those that move no pixels first."""
    for place in sorted(range(len(trail)), key=lambda place: trail[place][0].affine):

        def made(share: Tensor, trail: Trail = trail, place: int = place) -> Tensor:
            return _replayed(judge.seed.expand(len(share), -1, -1, -1), _weaker(trail, place, share))

        if trail[place][0].weaken is not None and (least := _least(made, judge)) < 1:
            shorter = _weaker(trail, place, torch.tensor([least], dtype=torch.float64))
            trail = tuple((operator, param.reshape(-1)) for operator, param in shorter)
    return trail


def _weaker(trail: Trail, place: int, share: Tensor) -> Trail:
    """The trail with only a share of one mutation, whose parameters become a row for each share."""
    operator, param = trail[place]
    assert operator.weaken is not None
    return (*trail[:place], (operator, operator.weaken(param, share)), *trail[place + 1 :])


def _least(made: Callable[[Tensor], Tensor], judge: _Judge) -> float:
    """The smallest share of a change that holds, to 1/256: a grid, and a finer one below what was found there."""
    low, high = 0.0, 1.0
    for _ in range(2):
        inside = torch.arange(1, GRID, dtype=torch.float64) / GRID
        share = low + (high - low) * inside
        good = judge(made(share)).nonzero().flatten().tolist()
        first = good[0] if good else len(share)
        low, high = (share[first - 1].item() if first else low), (share[first].item() if good else high)
    return high


def _reverted(image: Tensor, base: Tensor, judge: _Judge) -> Tensor:
    """Blocks of halving size go back to the base."""
    size = max(image.shape[2:])
    smallest = -(-size // ACROSS)
    while True:
        image = _without_blocks(image, base, size, judge)
        if size == smallest:
            return image
        size = max(smallest, -(-size // 2))


def _without_blocks(image: Tensor, base: Tensor, size: int, judge: _Judge) -> Tensor:
    """Ask of each block alone, then take as many together as hold, those that change most first."""
    down, right = (torch.arange(side) // size for side in image.shape[2:])
    block = down[:, None] * len(right) + right  # [H,W] a number for each block
    changed = (image.int() - base.int()).square().sum((0, 1))
    waiting = torch.unique(block[changed > 0])
    while len(waiting):
        alone = torch.where(block == waiting[:, None, None, None], base, image)
        good = waiting[judge(alone)]
        saved = torch.stack([changed[block == number].sum() for number in good.tolist()]) if len(good) else good
        good = good[saved.argsort(descending=True, stable=True)]
        counts = sorted({len(good) >> halvings for halvings in range(len(good).bit_length())})
        together = [torch.where(torch.isin(block, good[:count]), base, image) for count in counts]
        held = judge(torch.cat(together)).nonzero().flatten().tolist() if together else []
        if not held:
            break
        image, waiting = together[held[-1]], good[counts[held[-1]] :]
    return image


def _blended(image: Tensor, base: Tensor, judge: _Judge) -> Tensor:
    """As near to the base as holds, all pixels alike."""

    def made(share: Tensor) -> Tensor:
        apart = image.double() - base.double()
        return (base + apart * share.view(-1, 1, 1, 1)).round().to(torch.uint8)

    least = _least(made, judge)
    return made(torch.tensor([least], dtype=torch.float64))


def _l2(x: Tensor, y: Tensor) -> Tensor:
    """[B] float64"""
    return (x.double() - y.double()).flatten(1).square().sum(1).sqrt()


def distance(x: Tensor, seed: Tensor) -> Distance:
    """Between two uint8 [C,H,W]."""
    apart = (x.int() - seed.int()).abs()
    return Distance(int(apart.count_nonzero()), float(_l2(x[None], seed[None])), int(apart.max()), _ssim(x, seed))


def _ssim(x: Tensor, y: Tensor) -> float:
    """Wang et al., 2004, equation 13: a Gaussian window of 11x11, only where it fits; smaller on smaller images."""
    a, b = x[:, None].double(), y[:, None].double()  # channels as a batch
    mean_a, mean_b, aa, bb, ab = (_windowed(part) for part in (a, b, a * a, b * b, a * b))
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    alike = (2 * mean_a * mean_b + c1) * (2 * (ab - mean_a * mean_b) + c2)
    most = (mean_a**2 + mean_b**2 + c1) * (aa - mean_a**2 + bb - mean_b**2 + c2)
    return float((alike / most).mean())


def _windowed(images: Tensor) -> Tensor:
    height, width = images.shape[2:]
    return F.conv2d(
        F.conv2d(images, _gaussian(min(11, height))[:, None][None, None]), _gaussian(min(11, width))[None, None, None]
    )


def _gaussian(size: int) -> Tensor:
    offsets = torch.arange(size, dtype=torch.float64) - (size - 1) / 2
    weights = (offsets.square() / (-2 * 1.5**2)).exp()
    return weights / weights.sum()
