"""A new version that is weaker on one class the brighter it gets, and broken in a band that no single mutation reaches.

Both recipes for pairs have to find it within a fixed number of mutants; the same loop that keeps whatever does not fail
needs more, and one that keeps nothing never gets there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from nnfuzz import budget
from nnfuzz.campaign import Campaign
from nnfuzz.feedback import KEEPS
from nnfuzz.mutators import DRFUZZ
from nnfuzz.oracles import FirstOf, not_finite
from nnfuzz.recipes import drfuzz, elites
from nnfuzz.records import Kind, Model
from nnfuzz.target import Target
from nnfuzz.versions import Regressed
from tests.quality.test_planted_bugs import LeftOrRight, seeds

SMALL_STEPS = tuple(o for o in DRFUZZ if o.name in ("brightness", "reverse_patch", "gauss_noise", "saltpepper_noise"))


class Old(LeftOrRight):
    def defect(self, logits: Tensor, brightness: Tensor) -> Tensor:
        return 20 * logits


class New(LeftOrRight):
    def defect(self, logits: Tensor, brightness: Tensor) -> Tensor:
        lead = 20 * (logits[:, 1] - logits[:, 0])
        weaker = lead * (1 - 0.6 * ((brightness - 0.4) / 0.3).clamp(0, 1))
        inside = (brightness > 0.67) & (brightness < 0.68)
        second = torch.where(inside, -lead, weaker)
        lead = torch.where(lead > 0, second, lead)
        return torch.stack([-lead, lead], 1) / 2


def tries_needed(recipe: Callable[..., Campaign], keep: str | None, seed: int, most: int) -> int:
    start = seeds()
    target = Target((Model(Old(), "old"), Model(New(), "new")), start.x, read=(1,))
    oracle = FirstOf((not_finite, Regressed()))
    campaign = recipe(start, target, None, oracle, rows=50, rng=seed, operators=SMALL_STEPS)
    campaign = campaign if keep is None else replace(campaign, keep=KEEPS[keep])
    assert not len(campaign.admit()), "both versions are right on every seed"
    made = 0
    for step in budget.tries(campaign.steps(), most):
        made += len(step.tried)
        if (step.verdict == Kind.REGRESSION).any():
            return made
    return most


@pytest.mark.parametrize("recipe", [drfuzz, elites])
def test_a_planted_regression_is_found(recipe: Callable[..., Campaign]) -> None:
    most = 4000
    guided = [tries_needed(recipe, None, seed, most) for seed in range(3)]
    assert max(guided) < 2000
    unguided = [tries_needed(drfuzz, "all", seed, most) for seed in range(3)]
    assert sum(guided) * 2 < sum(unguided)
    assert tries_needed(drfuzz, "nothing", 0, 2000) == 2000, "one mutation away from a seed it cannot be reached"
