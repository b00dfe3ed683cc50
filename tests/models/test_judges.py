"""Judges: the distortions they are taught with, and how they are taught."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from nnfuzz import data, models
from nnfuzz.errors import NnfuzzError
from nnfuzz.models.distort import STEPS, Step, moved, patched, thickened, toned
from tests.conftest import generator

EACH = {step.__name__: step for step, _ in STEPS}


def discs(rows: int, channels: int = 1, side: int = 28) -> Tensor:
    at = torch.arange(side) - side / 2 + 0.5
    disc = 200 * (at[:, None].square() + at.square() < (side / 4) ** 2)
    return disc.to(torch.uint8).expand(rows, channels, side, side).clone()


@pytest.fixture
def stripes() -> data.Images:
    """Two classes: lines across, lines down."""
    x = torch.zeros(80, 1, 16, 16, dtype=torch.uint8)
    x[:40, :, 7:9], x[40:, :, :, 7:9] = 250, 250
    return data.Images(x, torch.arange(80) // 40, ("across", "down"), "stripes")


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (3, 9, 20), (1, 8, 8)])
def test_distorted_images_are_images(shape: tuple[int, int, int]) -> None:
    x = torch.randint(0, 256, (40, *shape), dtype=torch.uint8, generator=generator(0))
    before, state = x.clone(), torch.get_rng_state()
    out = models.distort(x, generator(1))
    assert out.shape == x.shape
    assert (out == out.to(torch.uint8)).all()
    assert (out == models.distort(x, generator(1))).all()
    assert (out != models.distort(x, generator(2))).any()
    assert (x == before).all()
    assert (torch.get_rng_state() == state).all()
    assert models.distort(x[:0], generator(0)).shape == (0, *shape)


@pytest.mark.parametrize("step", EACH.values(), ids=EACH)
def test_each_step_changes_most_images_and_keeps_what_they_show(step: Step) -> None:
    x = discs(100).float()
    out = step(x.clone(), generator(0))
    changed = (out.round() != x).flatten(1).any(1)
    assert changed.sum() > 60
    alike = torch.cosine_similarity(out.flatten(1), x.flatten(1))
    assert alike.median() > 0.65
    assert len(out.flatten(1).unique(dim=0)) > 4, "rows are distorted each in its own way"


def test_sizes_of_the_distortions() -> None:
    x = discs(300).float()
    area = (moved(x, generator(0)) > 100).flatten(1).sum(1) / (x[0] > 100).sum()
    assert 0.4 < area.min() < 0.75
    assert 1.4 < area.max() < 2.6
    thick = (thickened(x, generator(0)) > 100).flatten(1).sum(1) / (x[0] > 100).sum()
    assert thick.min() < 0.85
    assert thick.max() > 1.15
    assert ((patched(x, generator(0)) != x).flatten(1).sum(1) <= 25).all()
    assert toned(x, generator(0)).amax() > 255, "saturation is left to the caller"


@pytest.mark.parametrize(
    "network", ["guard", *(pytest.param(name, marks=pytest.mark.slow) for name in models.REFEREES)]
)
def test_a_judge_learns(network: str, stripes: data.Images) -> None:
    state = torch.get_rng_state()
    trained = models.train_judge(network, stripes, stripes, epochs=12)
    assert trained.history[-1].test is not None
    assert trained.history[-1].test > 0.9
    assert not trained.model.net.training
    assert (torch.get_rng_state() == state).all()


def test_the_same_seed_gives_the_same_judge(stripes: data.Images) -> None:
    def judge(seed: int) -> str:
        return models.digest(models.train_judge("guard", stripes, epochs=1, seed=seed).model.net)

    assert judge(0) == judge(0) != judge(1)


def test_too_few_images(stripes: data.Images) -> None:
    few = replace(stripes, x=stripes.x[36:44], label=stripes.label[36:44])
    with pytest.raises(NnfuzzError, match=r"at least 10 labelled images of each of 2 classes .* came 8; .*consistent"):
        models.train_judge("guard", few)


def test_three_referees_and_the_guard_are_four_architectures() -> None:
    kinds = {
        name: sorted({type(m).__name__ for m in models.build(name).net.modules()})
        for name in ("guard", *models.REFEREES, "lenet5")
    }
    assert len({tuple(kind) for kind in kinds.values()}) == 5


def test_large_images_are_read_with_few_positions() -> None:
    net = models.build("guard", (3, 200, 150), 5).net
    assert net(torch.rand(1, 3, 200, 150)).shape == (1, 5)
