from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from nnfuzz.mutators import gauss_noise, multiplicative_noise, noise, pixel_change, saltpepper_noise
from nnfuzz.mutators.noise import random_normal, random_words

GREY = torch.full((64, 1, 64, 64), 128, dtype=torch.uint8)


def rows(kind, strength, count=64):
    seeds = torch.arange(count, dtype=torch.float64)
    return torch.stack([torch.full_like(seeds, kind), torch.full_like(seeds, strength), seeds], 1)


def test_words_are_uniform():
    words = random_words(torch.arange(200), 5000).double().numpy()
    assert stats.kstest((words.ravel() + 32768.5) / 65536, "uniform").pvalue > 0.01
    per_seed = [stats.kstest((row + 32768.5) / 65536, "uniform").pvalue for row in words]
    assert stats.kstest(per_seed, "uniform").pvalue > 0.01
    per_place = [stats.kstest((row + 32768.5) / 65536, "uniform").pvalue for row in words[:, :200].T]
    assert stats.kstest(per_place, "uniform").pvalue > 0.01


def test_normals_are_normal():
    n = random_normal(torch.arange(100), 4000).double().numpy()
    assert stats.kstest(n.ravel(), "norm").pvalue > 0.01
    assert n.std() == pytest.approx(1, abs=0.005)


@pytest.mark.parametrize("step", [1, 2, 3, 4, 8, 64])
def test_neighbouring_seeds_and_places_are_independent(step):
    n = random_normal(torch.arange(300), 1000).double()
    few = 4 / n.numel() ** 0.5  # four standard errors of a correlation
    assert abs((n[:-step] * n[step:]).mean()) < few
    assert abs((n[:, :-step] * n[:, step:]).mean()) < few
    assert abs(((n[:-step] ** 2 - 1) * (n[step:] ** 2 - 1)).mean() / 2) < few
    assert abs(((n[:, :-step] ** 2 - 1) * (n[:, step:] ** 2 - 1)).mean() / 2) < few


def test_one_bit_of_the_seed_turns_half_of_the_bits():
    seed = torch.randint(1 << 31, (500,), generator=torch.Generator().manual_seed(0))
    for bit in range(31):
        flips = (random_words(seed, 16) ^ random_words(seed ^ (1 << bit), 16)).numpy().view(np.uint8)
        assert np.unpackbits(flips).mean() == pytest.approx(0.5, abs=0.01)


def test_a_prefix_is_the_same_noise():
    seed = torch.arange(5)
    assert torch.equal(random_words(seed, 7), random_words(seed, 1000)[:, :7])


def test_additive_noise_has_its_variance():
    made = noise().apply(GREY, rows(1, 400.0)).double() - 128
    assert made.var() == pytest.approx(400, rel=0.02)
    assert abs(made.mean()) < 0.2
    small = noise().apply(GREY, rows(1, 0.1)).long() - 128
    assert set(small.unique().tolist()) == {-1, 0, 1}
    assert (small != 0).double().mean() == pytest.approx(2 * stats.norm.sf(0.5 / 0.1**0.5), rel=0.05)


def test_salt_and_pepper_has_its_share():
    made = noise().apply(GREY, rows(2, 0.004))
    values, counts = made.unique(return_counts=True)
    assert values.tolist() == [0, 128, 255]
    assert counts[0] / GREY.numel() == pytest.approx(0.002, rel=0.1)
    assert counts[2] / GREY.numel() == pytest.approx(0.002, rel=0.1)
    assert noise().apply(GREY, rows(2, 1.0)).unique().tolist() == [0, 255]
    assert torch.equal(noise().apply(GREY, rows(2, 0.0)), GREY)


def test_multiplicative_noise_saturates_and_keeps_black():
    made = noise().apply(GREY, rows(3, 1.0)).double()
    assert (made == 0).double().mean() == pytest.approx(stats.norm.cdf(-1), abs=0.01)
    assert (made == 255).double().mean() == pytest.approx(stats.norm.sf(255 / 128 - 1), abs=0.01)
    assert noise().apply(torch.zeros_like(GREY), rows(3, 1.0)).sum() == 0
    bright = torch.full_like(GREY, 250)
    near = noise().apply(bright, rows(3, 0.01)).long()
    assert near.min() > 230  # a value that left at the top has not come back at the bottom


def test_settings_travel_in_the_parameters():
    drawn = noise(variance=9.0, share=0.1, spread=0.5).draw(300, torch.Generator().manual_seed(0))
    assert {tuple(row) for row in drawn[:, :2].tolist()} == {(1, 9.0), (2, 0.1), (3, 0.5)}
    assert torch.equal(drawn[:, 2], drawn[:, 2].round())
    assert drawn[:, 2].max() < 2**31


def test_channels_get_noise_of_their_own():
    made = noise().apply(GREY.expand(-1, 3, -1, -1), rows(1, 400.0)).long()
    assert (made[:, 0] != made[:, 1]).double().mean() > 0.9


def test_gauss_and_multiplicative_noise_are_those_kinds():
    drawn = gauss_noise().draw(200, torch.Generator().manual_seed(0))
    assert set(drawn[:, 0].tolist()) == {2, 1, 0.5, 0.1, 0.05, 0.01, 0.005, 0.001}
    assert torch.equal(gauss_noise().apply(GREY, rows(1, 400.0)[:, 1:]), noise().apply(GREY, rows(1, 400.0)))
    drawn = multiplicative_noise([0.25, 1]).draw(200, torch.Generator().manual_seed(0))
    assert set(drawn[:, 0].tolist()) == {0.5, 1}
    assert torch.equal(multiplicative_noise().apply(GREY, rows(3, 0.5)[:, 1:]), noise().apply(GREY, rows(3, 0.5)))


def test_gauss_noise_on_black_does_not_wrap():
    made = gauss_noise().apply(torch.zeros_like(GREY), rows(1, 2.0)[:, 1:])
    assert made.max() < 10


@pytest.mark.parametrize(("side", "each"), [(28, 2), (64, 9), (1, 1)])
def test_saltpepper_noise_has_its_count(side, each):
    x = torch.full((500, 1, side, side), 7, dtype=torch.uint8)
    made = saltpepper_noise().apply(x, saltpepper_noise().draw(500, torch.Generator().manual_seed(0)))
    salt, pepper = (made == 255).flatten(1).sum(1), (made == 0).flatten(1).sum(1)
    assert (salt.max() if side > 1 else 1, pepper.max()) == (each, each)
    assert salt.double().mean() > 0.95 * each or side == 1  # the same place twice is rare
    places = (made != 7).flatten(1).nonzero()[:, 1].double().numpy() / side**2
    assert stats.kstest(places, "uniform").pvalue > 1e-3 or side == 1


def test_pixel_change_changes_that_many():
    x = torch.full((900, 3, 16, 16), 7, dtype=torch.uint8)
    params = pixel_change().draw(900, torch.Generator().manual_seed(0))
    made = pixel_change().apply(x, params)
    changed = (made != x).flatten(1).sum(1)
    assert bool((changed <= params[:, 0]).all())
    assert (params[:, 0] - changed).mean() < 0.1  # the same place twice, or the old value again, are rare
    assert set(params[:, 0].unique().tolist()) == set(range(1, 10))
    assert stats.kstest(made[made != x].double().numpy() / 256, "uniform").pvalue > 1e-3
