"""An image operation in two halves: drawing its parameters, and applying them. Only the first has chance in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Generator, Tensor

Draw = Callable[[int, Generator], Tensor]  # rows, rng -> float64 [rows,P]
Values = Draw | Sequence[float] | Sequence[tuple[float, ...]]  # what an operator's parameters are drawn from
Apply = Callable[[Tensor, Tensor], Tensor]  # uint8 [B,C,H,W], float64 [B,P] -> uint8 [B,C,H,W]
Weaken = Callable[[Tensor, Tensor], Tensor]  # float64 [P], shares in (0, 1] float64 [N] -> float64 [N,P]


@dataclass(frozen=True)
class Operator:
    """`apply` is pure: the same image and parameters give the same bytes, whatever rows are beside them.

    So a stored parameter row is enough to make the child again. `affine`: the operation moves pixels. `slow`: it
    costs many times what others do, so it is worth asking last. `weaken` gives the parameters of which only a
    share is left: 1 leaves the row as it is, and the smaller it is, the less the operation changes.
    """

    name: str
    draw: Draw
    apply: Apply = field(repr=False)  # the address in a function's repr would differ from run to run
    affine: bool = False
    slow: bool = False
    weaken: Weaken | None = field(default=None, repr=False)

    @cached_property
    def width(self) -> int:
        """P, how many parameters a row has."""
        return self.draw(0, Generator()).shape[1]


@dataclass(frozen=True)
class Choices:
    """Draws uniformly from a list; what is listed are numbers, or equally long tuples of them."""

    values: tuple[float, ...] | tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError("expected at least one value to choose from, got none")

    def __call__(self, rows: int, rng: Generator) -> Tensor:
        table = torch.tensor(self.values, dtype=torch.float64).reshape(len(self.values), -1)
        return table[torch.randint(len(table), (rows,), generator=rng)]  # [rows,P]


def choices(values: Sequence[float] | Sequence[tuple[float, ...]]) -> Choices:
    """A draw that takes each value equally often."""
    return Choices(tuple(values))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Uniform:
    """Draws numbers from [low, high)."""

    low: float
    high: float

    def __call__(self, rows: int, rng: Generator) -> Tensor:
        share = torch.rand(rows, 1, dtype=torch.float64, generator=rng)
        return self.low + (self.high - self.low) * share


def uniform(low: float, high: float) -> Uniform:
    """A draw from a whole interval."""
    return Uniform(low, high)


def drawn(values: Values) -> Draw:
    """Lists are drawn from uniformly; what draws already stays as it is."""
    return values if callable(values) else choices(values)


def span(first: int, last: int, step: float = 1.0) -> tuple[float, ...]:
    """first·step … last·step, both included; .3 is the literal 0.3, not the sum 0.1 + 0.1 + 0.1."""
    return tuple(round(index * step, 12) for index in range(first, last + 1))


def towards(*identity: float | None) -> Weaken:
    """On the straight way to the parameters that change nothing; None is one that is no strength, and stays."""
    still = torch.tensor([value is None for value in identity])
    end = torch.tensor([value or 0.0 for value in identity], dtype=torch.float64)

    def weaken(param: Tensor, share: Tensor) -> Tensor:
        return torch.where(still, param, end + share[:, None] * (param - end))

    return weaken


def as_rows(column: Tensor) -> Tensor:
    """One number per row, ready to meet [B,C,H,W]."""
    return column.reshape(-1, 1, 1, 1)


def to_pixels(x: Tensor) -> Tensor:
    """Round and saturate floats to 8 bits, in place as far as that goes: nothing ever wraps around."""
    # Going by int16 is three times as fast as the direct cast, which is not vectorised.
    return x.round_().clamp_(0, 255).to(torch.int16).to(torch.uint8)


def back(order: Tensor) -> Tensor:
    """The permutation that undoes this one."""
    return torch.empty_like(order).scatter_(0, order, torch.arange(len(order)))


def grouped(x: Tensor, param: Tensor, group: Tensor, applies: Sequence[Apply]) -> Tensor:
    """Row i goes through applies[group[i]]; -1 leaves it as it is. One call for all rows of a group."""
    sizes = torch.bincount(group + 1, minlength=len(applies) + 1).tolist()
    if bool((group[1:] >= group[:-1]).all()):  # then no image has to be copied there and back
        return _in_order(x, param, sizes, applies)
    order = group.argsort(stable=True)
    # index_select: ten times as fast as x[order] here
    done = _in_order(x.index_select(0, order), param.index_select(0, order), sizes, applies)
    return done.index_select(0, back(order))


def _in_order(x: Tensor, param: Tensor, sizes: list[int], applies: Sequence[Apply]) -> Tensor:
    xs, params = torch.split(x, sizes), torch.split(param, sizes)
    done = [f(x_, p) for f, x_, p in zip(applies, xs[1:], params[1:], strict=True) if len(x_)]
    return torch.cat([xs[0], *done])
