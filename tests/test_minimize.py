"""Planted classifiers whose smallest wrong input is known."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from nnfuzz.minimize import distance, minimize
from nnfuzz.mutators import (
    DEEPHUNTER_AFFINE,
    DEEPHUNTER_PIXEL,
    Operator,
    blur,
    brightness,
    contrast,
    noise,
    rotation,
    translation,
)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def row(*param: float) -> Tensor:
    return torch.tensor(param, dtype=torch.float64)


def replayed(seed: Tensor, trail) -> Tensor:
    x = seed[None]
    for operator, param in trail:
        x = operator.apply(x, param[None])
    return x[0]


def bar(side: int = 28) -> Tensor:
    """An upright stroke with soft edges."""
    x = torch.zeros(1, side, side)
    x[:, 5:-5, side // 2 - 2 : side // 2 + 2] = 200
    return x.to(torch.uint8)


def turned(x: Tensor) -> Tensor:
    """Degrees by which the bright pixels' longest axis is off the upright."""
    side = x.shape[-1]
    weight = (x[:, 0].double() - 60).clamp_min(0)
    at = torch.arange(side, dtype=torch.float64) - (side - 1) / 2
    across = (weight * at.square()).sum((1, 2))
    down = (weight * at.square()[:, None]).sum((1, 2))
    both = (weight * at * at[:, None]).sum((1, 2))
    return (torch.atan2(2 * both, down - across) / 2).abs() * 180 / math.pi


def test_only_the_block_that_matters_is_left():
    seed = torch.full((1, 16, 16), 20, dtype=torch.uint8)
    x = torch.randint(100, 256, (1, 16, 16), dtype=torch.uint8, generator=seeded())
    left = minimize(x, seed, (), lambda c: (c[:, 0, 2:4, 2:4] >= 90).flatten(1).all(1))
    assert left.reproduced
    assert left.after.l0 == 4
    changed = (left.x != seed).nonzero()[:, 1:].tolist()
    assert changed == [[2, 2], [2, 3], [3, 2], [3, 3]]
    assert int(left.x[0, 2:4, 2:4].min()) == 90  # and no brighter than it takes
    assert left.before == distance(x, seed)


def test_turned_no_more_than_it_takes_and_noise_dropped():
    trail = [(brightness(), row(15)), (rotation(), row(37)), (noise(), row(3, 0.3, 5)), (contrast(), row(0.8))]
    left = minimize(replayed(bar(), trail), bar(), trail, lambda c: turned(c) > 10)
    ((operator, param),) = left.trail
    assert operator.name == "rotation"
    assert 9.5 < param.item() < 11  # warping moves the measured angle by a fraction of a degree
    assert torch.equal(left.x, replayed(bar(), left.trail))  # no ghost of the upright bar in it
    assert left.after.l2 < left.before.l2
    assert left.after.ssim > left.before.ssim


def test_of_two_that_matter_none_is_dropped():
    seed = torch.full((1, 8, 8), 60, dtype=torch.uint8)
    seed[:, 2:5, 2:5] = 120
    trail = [(blur(), row(1)), (translation(), row(1)), (contrast(), row(1.5)), (brightness(), row(-3))]
    left = minimize(
        replayed(seed, trail), seed, trail, lambda c: (c.float().mean((1, 2, 3)) > 70) & (c[:, 0, 0, 0] < 20)
    )
    assert {operator.name for operator, _ in left.trail} == {"translation", "contrast"}


def test_weaker_noise_and_weaker_blur():
    seed = torch.full((1, 16, 16), 100, dtype=torch.uint8)
    trail = [(noise(), row(1, 2500.0, 7))]
    left = minimize(replayed(seed, trail), seed, trail, lambda c: c.double().flatten(1).std(1) > 10)
    ((_, param),) = left.trail
    assert 80 < param[1] < 130
    assert (param[0], param[2]) == (1, 7)
    trail = [(blur(), row(3))]
    left = minimize(replayed(bar(), trail), bar(), trail, lambda c: (c != bar()).flatten(1).any(1))
    ((_, param),) = left.trail
    assert param.tolist() == [4]  # the smallest Gaussian


@pytest.mark.parametrize("case", range(50))
def test_never_worse(case):
    rng = seeded(case)
    seed = torch.randint(0, 256, (1 + 2 * (case % 2), 9, 7), dtype=torch.uint8, generator=rng)
    operators = DEEPHUNTER_AFFINE + DEEPHUNTER_PIXEL
    picked = torch.randint(len(operators), (case % 6,), generator=rng).tolist()
    trail = [(operators[i], operators[i].draw(1, rng)[0]) for i in picked]
    x = replayed(seed, trail)
    if case % 7 == 0:  # not quite what the trail gives
        x = x ^ torch.randint(0, 3, x.shape, dtype=torch.uint8, generator=rng)
    weight = torch.randn(3, seed.numel(), generator=rng, dtype=torch.float64)

    def still(candidates: Tensor) -> Tensor:
        answer = (candidates.flatten(1).double() - seed.flatten().double()) @ weight.T
        return (answer + torch.tensor([1.0, 0, 0])).argmax(1) == wrong

    wrong = 0
    wrong = int(((x.flatten().double() - seed.flatten().double()) @ weight.T + torch.tensor([1.0, 0, 0])).argmax())
    left, again = (minimize(x, seed, trail, still, asks=600) for _ in range(2))
    assert left.reproduced
    assert bool(still(left.x[None])[0])
    assert left.after.l2 <= left.before.l2
    assert left.after == distance(left.x, seed)
    assert len(left.trail) <= len(trail)
    assert torch.equal(left.x, again.x)
    assert (left.asked, [p.tolist() for _, p in left.trail]) == (again.asked, [p.tolist() for _, p in again.trail])
    assert left.asked <= 600 + 6


def test_what_does_not_reproduce_is_left_alone():
    x = torch.full((1, 8, 8), 9, dtype=torch.uint8)
    left = minimize(x, torch.zeros_like(x), (), lambda c: torch.zeros(len(c), dtype=torch.bool))
    assert not left.reproduced
    assert torch.equal(left.x, x)
    assert left.before == left.after
    assert left.asked == 2


def test_what_only_holds_in_a_batch_does_not_hold():
    x = torch.full((1, 8, 8), 90, dtype=torch.uint8)

    def still(c: Tensor) -> Tensor:
        return (c == x).flatten(1).all(1) if len(c) == 1 else torch.ones(len(c), dtype=torch.bool)

    left = minimize(x, torch.zeros_like(x), (), still)
    assert left.reproduced
    assert torch.equal(left.x, x)


def test_questions_come_many_at_a_time_and_can_be_limited():
    sizes = []

    def still(c: Tensor) -> Tensor:
        sizes.append(len(c))
        return c.flatten(1).sum(1) > 16 * 16 * 50

    x, seed = torch.full((1, 16, 16), 255, dtype=torch.uint8), torch.zeros(1, 16, 16, dtype=torch.uint8)
    assert minimize(x, seed, (), still).asked == sum(sizes)
    assert len(sizes) < 60
    assert max(sizes) > 15
    sizes.clear()
    assert minimize(x, seed, (), still, asks=20).reproduced
    assert sum(sizes) <= 20 + 4


def test_operators_without_a_weaker_form():
    dim = Operator("dim", lambda rows, rng: torch.zeros(rows, 0, dtype=torch.float64), lambda x, _: x // 2)
    left = minimize(bar() // 2, bar(), [(dim, row())], lambda c: c.flatten(1).amax(1) <= 100)
    assert [operator.name for operator, _ in left.trail] == ["dim"]


def test_distance_of_known_images():
    x, seed = torch.zeros(3, 4, 4, dtype=torch.uint8), torch.zeros(3, 4, 4, dtype=torch.uint8)
    assert distance(x, seed) == distance(seed, x)
    assert (distance(x, seed).l0, distance(x, seed).ssim) == (0, 1)
    x[0, 0, 0], x[2, 3, 3] = 30, 40
    assert (distance(x, seed).l0, distance(x, seed).l2, distance(x, seed).linf) == (2, 50, 40)


def slow_ssim(a: np.ndarray, b: np.ndarray) -> float:
    """Equation 13, window by window."""
    down, right = min(11, a.shape[1]), min(11, a.shape[2])
    one, two = (np.exp(-((np.arange(n) - (n - 1) / 2) ** 2) / (2 * 1.5**2)) for n in (down, right))
    w = np.outer(one, two) / (one.sum() * two.sum())
    values = []
    for c, i, j in np.ndindex(a.shape[0], a.shape[1] - down + 1, a.shape[2] - right + 1):
        p, q = (image[c, i : i + down, j : j + right].astype(float) for image in (a, b))
        mp, mq = (w * p).sum(), (w * q).sum()
        vp, vq, vpq = (w * (p - mp) ** 2).sum(), (w * (q - mq) ** 2).sum(), (w * (p - mp) * (q - mq)).sum()
        c1, c2 = 2.55**2, 7.65**2
        values.append((2 * mp * mq + c1) * (2 * vpq + c2) / ((mp**2 + mq**2 + c1) * (vp + vq + c2)))
    return float(np.mean(values))


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 16, 20), (1, 11, 11), (1, 8, 8), (3, 4, 15), (1, 1, 1)])
def test_ssim_is_the_published_one(shape):
    x = torch.randint(0, 256, shape, dtype=torch.uint8, generator=seeded(1))
    near = (x.int() + torch.randint(-30, 30, shape, generator=seeded(2))).clamp(0, 255).to(torch.uint8)
    assert distance(near, x).ssim == pytest.approx(slow_ssim(near.numpy(), x.numpy()), abs=1e-9)


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 16, 20)])
def test_ssim_agrees_with_scikit_image(shape):
    metrics = pytest.importorskip("skimage.metrics")
    x = torch.randint(0, 256, shape, dtype=torch.uint8, generator=seeded(3))
    near = (x.int() + torch.randint(-30, 30, shape, generator=seeded(4))).clamp(0, 255).to(torch.uint8)
    theirs = metrics.structural_similarity(
        near.numpy(), x.numpy(), channel_axis=0, gaussian_weights=True, sigma=1.5, use_sample_covariance=False,
        data_range=255,
    )  # fmt: skip
    assert distance(near, x).ssim == pytest.approx(theirs, abs=1e-9)
