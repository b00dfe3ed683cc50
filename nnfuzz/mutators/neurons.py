"""Which neurons to push: DLFuzz's four strategies (section 3.2), and DeepXplore's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from nnfuzz.errors import NnfuzzError
from nnfuzz.records import Seen

NEAR = 0.25  # of the threshold: the paper says "slightly", its code .25 above and .2 below
TOP = 0.1  # of the neurons that have weights: the paper says "top", its code a tenth


@dataclass(frozen=True, eq=False)
class Known:
    """What a strategy may look at."""

    times: Tensor  # [N] how often each neuron was covered
    weights: Tensor  # [N] the mean weight of what comes in, NaN = none
    value: Tensor  # [B,N] scaled, of the inputs that are about to change
    threshold: float

    def __getitem__(self, group: slice) -> Known:
        """Of one model: what is rare or heavy in it does not depend on the others."""
        return Known(self.times[group], self.weights[group], self.value[:, group], self.threshold)


Strategy = Callable[[Known], Tensor]  # [N] or [B,N] chances, not negative; neurons are drawn in proportion


def often(known: Known) -> Tensor:
    """Strategy 1: covered often."""
    return known.times.double()


def rarely(known: Known) -> Tensor:
    """Strategy 2: covered rarely."""
    return (known.times.max() - known.times).double()


def heavy(known: Known) -> Tensor:
    """Strategy 3: among the top weights, all alike."""
    weighed = known.weights[~known.weights.isnan()]
    if not len(weighed):
        return torch.zeros_like(known.weights, dtype=torch.float64)
    return (known.weights >= weighed.quantile(1 - TOP)).double()


def near(known: Known) -> Tensor:
    """Strategy 4: near the threshold, all alike."""
    return ((known.value - known.threshold).abs() < NEAR).double()


def uncovered(known: Known) -> Tensor:
    """DeepXplore's: never covered; any neuron, where none is left."""
    never = (known.times == 0).double()
    return never if never.any() else torch.ones_like(never)


STRATEGIES: dict[str, Strategy] = {
    "often": often, "rarely": rarely, "heavy": heavy, "near": near, "uncovered": uncovered,
}  # fmt: skip


@dataclass(frozen=True)
class Neurons:
    """m neurons for each row, of each group (a model's), divided evenly among the strategies.

    Drawn without replacement; where fewer than its share have a chance, a strategy gives those. `times` is a table
    that somebody else updates: it stands still while rows are picked for.
    """

    strategies: tuple[str, ...]
    m: int
    threshold: float
    times: Tensor = field(repr=False)  # [N]
    weights: Tensor = field(repr=False)  # [N]
    groups: tuple[slice, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if unknown := [name for name in self.strategies if name not in STRATEGIES]:
            raise NnfuzzError(f"expected strategies among {', '.join(STRATEGIES)}, and came {', '.join(unknown)}")

    @property
    def draws(self) -> int:
        """Random numbers that a row needs."""
        return len(self.times)

    def __call__(self, seen: Seen, chance: Tensor) -> Tensor:
        """[B,N] the direction to push each neuron in: 1, -1, or 0 for those not picked."""
        known = Known(self.times, self.weights, seen.features["scaled"].detach().cpu(), self.threshold)
        picked = torch.zeros(chance.shape, dtype=torch.bool)
        push = torch.zeros(chance.shape, dtype=torch.float64)
        for name, count in zip(self.strategies, shares(self.m, len(self.strategies)), strict=True):
            for group in self.groups:
                chances = STRATEGIES[name](known[group]).expand_as(chance[:, group])
                mine = drawn(chances.masked_fill(picked[:, group], 0), chance[:, group], count)
                picked[:, group] |= mine
                # The paper's idea: activate what is just below the threshold, deactivate what is just above. Its code
                # does the reverse below it.
                down = mine & (known.value[:, group] > self.threshold) if name == "near" else torch.zeros_like(mine)
                push[:, group] += mine.double() - 2 * down.double()
        return push.to(seen.neurons)


def shares(m: int, parts: int) -> Sequence[int]:
    """m in equal parts; the first ones take what is left over."""
    return [m // parts + (i < m % parts) for i in range(parts)]


def drawn(chances: Tensor, chance: Tensor, count: int) -> Tensor:
    """[B,N] bool: `count` in each row without replacement, in proportion (Efraimidis and Spirakis, 2006)."""
    key = torch.where(chances > 0, chance.clamp_min(1e-300).log() / chances, -torch.inf)
    best = key.topk(min(count, key.shape[1])).indices
    mine = torch.zeros_like(key, dtype=torch.bool).scatter_(1, best, True)
    return mine & (chances > 0)
