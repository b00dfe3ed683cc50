"""Gradient ascent on pixels: DLFuzz's and DeepXplore's mutation, all rows at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Generator, Tensor

from nnfuzz.errors import NnfuzzError
from nnfuzz.mutators.objectives import Objective
from nnfuzz.mutators.operator import to_pixels
from nnfuzz.records import Batch
from nnfuzz.roles import Target

PHOTOGRAPH = 100  # pixels across, from which DeepXplore's squares for photographs are taken, not those for digits
PLACE = 2  # random numbers that a place in an image takes

# gradient [B,C,H,W], a place for the walk and one for the step [B,2] each in [0, 1) -> direction [B,C,H,W]
Process = Callable[[Tensor, Tensor, Tensor], Tensor]


def rms(gradient: Tensor, walk: Tensor, step: Tensor) -> Tensor:
    """Divided by its root mean square: each row moves equally far, whatever the slope."""
    size = gradient.square().flatten(1).mean(1).sqrt()
    return gradient / (size + 1e-5)[:, None, None, None]


def sign(gradient: Tensor, walk: Tensor, step: Tensor) -> Tensor:
    """Its sign alone."""
    return gradient.sign()


def light(gradient: Tensor, walk: Tensor, step: Tensor) -> Tensor:
    """All pixels alike, brighter or darker (DeepXplore)."""
    return rms(gradient, walk, step).mean((1, 2, 3), keepdim=True).expand_as(gradient)


@dataclass(frozen=True)
class Occlusion:
    """Only inside one rectangle, whose place is drawn for each walk (DeepXplore)."""

    digit: int = 10
    photograph: int = 50

    def __call__(self, gradient: Tensor, walk: Tensor, step: Tensor) -> Tensor:
        return rms(gradient, walk, step) * inside(gradient, walk, self.digit, self.photograph)


@dataclass(frozen=True)
class Blackout:
    """A patch, drawn for each step, goes darker where that is uphill, as specks of dirt (DeepXplore)."""

    digit: int = 6
    photograph: int = 10

    def __call__(self, gradient: Tensor, walk: Tensor, step: Tensor) -> Tensor:
        patch = inside(gradient, step, self.digit, self.photograph)
        downhill = (gradient * patch).sum((1, 2, 3), keepdim=True) < 0
        return -(patch * downhill).expand_as(gradient)


def inside(x: Tensor, place: Tensor, digit: int, photograph: int) -> Tensor:
    """[B,1,H,W]: 1 in a square that lies wholly in the image, 0 around it."""
    side = photograph if min(x.shape[2:]) >= PHOTOGRAPH else digit
    height, width = (_span(place[:, i], length, side) for i, length in enumerate(x.shape[2:]))
    return (height[:, None, :, None] & width[:, None, None, :]).to(x)


def _span(place: Tensor, length: int, side: int) -> Tensor:
    """[B,length] bool: `side` neighbours, from a place in [0, 1)."""
    first = (place * (max(0, length - side) + 1)).long()[:, None]
    at = torch.arange(length)
    return (at >= first) & (at < first + side)


PROCESSES: dict[str, Process] = {
    "rms": rms, "sign": sign, "light": light, "occlusion": Occlusion(), "blackout": Blackout(),
}  # fmt: skip


@dataclass(frozen=True)
class Ascent:
    """Walks uphill. A parent that comes several times in a row is one walk, and its children are the steps of it;
    after `steps` of them the next walk begins.

    Each step follows the gradient at the pixels before it, rounded as they are executed, while the walk itself goes on
    unrounded: so small steps add up, and what is executed is what was looked at. With `stop` a walk ends when it has
    reached what it was for; children that would come after that are their parent over again.
    """

    target: Target = field(repr=False)
    objective: Objective
    process: str = "rms"
    size: float = 5.1  # of a step, in grey levels
    steps: int = 3
    stop: bool = True
    at_once: int = field(default=64, repr=False)  # walks in one pass: what a gradient needs lies in memory till its end

    def __post_init__(self) -> None:
        if self.process not in PROCESSES:
            raise NnfuzzError(f"expected process among {', '.join(PROCESSES)}, and came {self.process}")
        if self.steps < 1:
            raise NnfuzzError(f"expected at least one iteration a walk, and came {self.steps}")

    def __call__(self, parents: Batch, rng: Generator) -> Batch:
        walk, number = walks(parents, self.steps)
        begins = number == 0
        x = parents.x[begins]
        width = self.objective.draws + PLACE * (1 + self.steps)
        chance = torch.rand(len(x), width, generator=rng, dtype=torch.float64)
        last = int(number.max()) + 1 if len(x) else 1
        parts = zip(torch.split(x, self.at_once), torch.split(chance, self.at_once), strict=True)
        made = torch.cat([self._climb(part, chances, last) for part, chances in parts])
        return parents.child(made[walk, number])

    def _climb(self, x: Tensor, chance: Tensor, last: int) -> Tensor:
        """[B,last,C,H,W]: what each step gives. Rows are dropped on the way as they arrive."""
        made = x[:, None].repeat(1, last, 1, 1, 1)
        rows, now, aim = torch.arange(len(x)), x.float(), None
        chance, places = chance[:, : self.objective.draws], chance[:, self.objective.draws :]
        for number in range(last):
            pixels = (made[rows, number - 1] if number else x).float().requires_grad_()
            seen = self.target(pixels, grad=True)
            going = seen.logits.isfinite().all(2).all(0)
            if aim is None:
                aim = self.objective.aim(seen, chance)
            elif self.stop:
                going &= ~self.objective.reached(aim, seen)
            slope = uphill(self.objective(aim, seen), pixels)[going]
            rows, now, aim, places = rows[going], now[going], aim[going], places[going]
            if not len(rows):
                break
            place = places[:, PLACE * (1 + number) : PLACE * (2 + number)]
            direction = PROCESSES[self.process](slope, places[:, :PLACE], place)
            now = (now + self.size * direction).clamp_(0, 255)
            made[rows, number] = to_pixels(now.clone())
        return made


def walks(parents: Batch, steps: int) -> tuple[Tensor, Tensor]:
    """[B] which walk each row belongs to, and [B] which step of it it is."""
    at = torch.arange(len(parents))
    fresh = torch.ones(len(parents), dtype=torch.bool)
    fresh[1:] = (parents.parent[1:] != parents.parent[:-1]) | (parents.seed[1:] != parents.seed[:-1])
    number = (at - torch.where(fresh, at, 0).cummax(0).values) % steps
    return (number == 0).cumsum(0) - 1, number


def uphill(value: Tensor, pixels: Tensor) -> Tensor:
    """[B,C,H,W] how each row's value grows with its pixels / 255; 0 where a model gave no answer."""
    if not value.requires_grad:
        return torch.zeros_like(pixels)
    (slope,) = torch.autograd.grad(value.sum(), pixels)
    return slope.mul_(255).nan_to_num_(0, 0, 0)


def check_gradients(target: Target, x: Tensor, recipe: str) -> None:
    """Refuse, before anything is searched, a model through which no gradient comes back to the pixels."""
    pixels = x.float().requires_grad_()
    seen = target(pixels, grad=True)
    if seen.raised.any():  # one that hands its input to another library raises, but only here
        gives = bool(target(x).raised.any())
    else:
        gives = seen.logits.requires_grad and _reaches(seen.logits.sum(), pixels)
    if not gives:
        raise NnfuzzError(
            f"{recipe} follows gradients and expected a model that gives them back to its pixels, and came one that"
            " gives none; use --recipe deephunter"
        )


def _reaches(value: Tensor, pixels: Tensor) -> bool:
    try:
        return torch.autograd.grad(value, pixels, allow_unused=True)[0] is not None
    except RuntimeError:  # an operation on the way has no derivative
        return False
