"""Networks that are right by construction, with one defect planted where a single mutation cannot reach it.

Coverage guidance has to find each within a fixed number of mutants; the same loop without guidance needs more.
"""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from nnfuzz import budget
from nnfuzz.coverage import KMNC, NC, SNAC, Cover
from nnfuzz.coverage.ranges import profile
from nnfuzz.oracles import FirstOf, changed, misclassified, not_finite
from nnfuzz.recipes import deephunter, dlfuzz
from nnfuzz.records import Batch, Kind, Model
from nnfuzz.target import Target
from tests.conftest import generator

ORACLE = FirstOf((not_finite, misclassified))


class LeftOrRight(nn.Module):
    """Which half of the image is brighter? A 1x1 convolution passes the pixels on, so its neuron is the mean."""

    def __init__(self) -> None:
        super().__init__()
        self.look = nn.Conv2d(1, 1, 1)
        self.halves = nn.AdaptiveAvgPool2d((1, 2))
        nn.init.ones_(self.look.weight)
        nn.init.zeros_(self.look.bias)

    def forward(self, x: Tensor) -> Tensor:
        seen = self.look(x)
        return self.defect(self.halves(seen).flatten(1), seen.mean((1, 2, 3)))

    def defect(self, logits: Tensor, brightness: Tensor) -> Tensor:
        return logits


class FlipsInABand(LeftOrRight):
    def defect(self, logits: Tensor, brightness: Tensor) -> Tensor:
        inside = (brightness > 0.67) & (brightness < 0.68)
        return torch.where(inside[:, None], logits.flip(1), logits)


class NaNWhenBright(LeftOrRight):
    def defect(self, logits: Tensor, brightness: Tensor) -> Tensor:
        return torch.where((brightness > 0.69)[:, None], float("nan"), logits)


def seeds() -> Batch:
    """Images of mean 0.4 to 0.5, with one half brighter by an eighth: brightness and affine steps keep the label."""
    rng = generator(0)
    base = 102 + 20 * torch.rand(50, 1, 1, 1, generator=rng)
    noise = 4 * torch.rand(50, 1, 12, 12, generator=rng)
    brighter = torch.randint(2, (50,), generator=rng)
    half = (torch.arange(12) >= 6).long()[None, None, None] == brighter[:, None, None, None]
    return Batch.of_seeds((base + noise + 32 * half).to(torch.uint8), brighter)


def tries_needed(net: nn.Module, kind: Kind, criterion: str, keep: str, seed: int, most: int) -> int:
    start = seeds()
    target = Target(Model(net, "planted"), start.x)
    ranges = profile([target(start.x).neurons])
    cover = Cover(KMNC(ranges) if criterion == "kmnc" else SNAC(ranges, buckets=50))
    campaign = deephunter(start, target, cover, ORACLE, rows=64, power=16, batch=10, rng=seed, keep=keep,
                          affine=(), select="pool")  # fmt: skip
    assert not len(campaign.admit()), "the network is right on every seed"
    made = 0
    for step in budget.tries(campaign.steps(), most):
        made += len(step.tried)
        if (step.verdict == kind).any():
            return made
    return most


BUGS = {
    "flip": (FlipsInABand, Kind.MISCLASSIFIED, "snac"),
    "nan": (NaNWhenBright, Kind.NOT_FINITE, "snac"),
}


@pytest.mark.parametrize(("net", "kind", "criterion"), BUGS.values(), ids=BUGS)
def test_guided_search_needs_fewer_tries(net: type[nn.Module], kind: Kind, criterion: str) -> None:
    most = 4000
    guided = [tries_needed(net(), kind, criterion, "rows", seed, most) for seed in range(5)]
    unguided = [tries_needed(net(), kind, criterion, "all", seed, most) for seed in range(5)]
    from_seeds = tries_needed(net(), kind, criterion, "nothing", 0, 2000)

    assert max(guided) < 2000
    assert sum(guided) * 2 < sum(unguided)
    assert from_seeds == 2000, "one mutation away from a seed the defect cannot be reached"


class DeadNeuron(nn.Module):
    """Which half is brighter? Its second neuron looks for a checkerboard, which no seed has; where it wakes, the scores
    break. The defect is a condition, so no gradient of the scores leads there."""

    def __init__(self) -> None:
        super().__init__()
        self.look = nn.Conv2d(1, 2, 2, stride=2, bias=False)
        self.halves = nn.AdaptiveAvgPool2d((1, 2))
        with torch.no_grad():
            self.look.weight[0] = 0.25
            self.look.weight[1] = torch.tensor([[0.5, -0.5], [-0.5, 0.5]])

    def forward(self, x: Tensor) -> Tensor:
        seen = self.look(x)
        scores = self.halves(seen[:, :1]).flatten(1)
        awake = seen[:, 1].mean((1, 2)) > 0.3
        return torch.where(awake[:, None], float("nan"), scores)


def walks_needed(seed: int, most: int, **options: object) -> int:
    """Walks of 20 steps until the dead neuron was woken."""
    start = seeds()
    target = Target(Model(DeadNeuron(), "planted"), start.x, features=("scaled",))
    campaign = dlfuzz(start, target, Cover(NC(target.neurons)), FirstOf((not_finite, changed)), rows=100, rng=seed,
                      iterations=20, step=8.0, stop="never", m=1, k=1, **options)  # type: ignore[arg-type]  # fmt: skip
    assert not len(campaign.admit())
    made = 0
    for step in budget.tries(campaign.steps(), 20 * most):
        made += len(step.tried) // 20
        if (step.verdict == Kind.NOT_FINITE).any():
            return made
    return most


def test_coverage_guidance_wakes_a_dead_neuron_and_plain_ascent_does_not() -> None:
    guided = [walks_needed(seed, 40, strategies="rarely", weight=10.0) for seed in range(5)]
    assert max(guided) < 40
    assert walks_needed(0, 100, weight=0.0) == 100, "up the scores alone, it sleeps on"
    assert walks_needed(0, 100, strategies="often", weight=10.0) == 100, "as it does when what is awake is pushed"
