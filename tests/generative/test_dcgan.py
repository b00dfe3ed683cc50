"""The networks have the published layers, and one pair grows with the image."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from nnfuzz import generative, models
from nnfuzz.generative.dcgan import Cut


def weights(net: nn.Module) -> list[tuple[int, ...]]:
    return [tuple(m.weight.shape) for m in net.modules() if isinstance(m, nn.Conv2d | nn.Linear)]


def test_grey_ones_are_the_paper_s() -> None:
    gan = generative.build((1, 28, 28))
    assert weights(gan.discriminator) == [(64, 1, 5, 5), (128, 64, 5, 5), (1024, 3200), (1, 1024)]
    assert weights(gan.generator) == [(1024, 100), (6272, 1024), (64, 128, 5, 5), (1, 64, 5, 5)]
    assert [type(m) for m in gan.discriminator].count(nn.Tanh) == 3
    update = gan.optimizer(gan.discriminator.parameters()).param_groups[0]
    assert (update["lr"], update["momentum"], update["nesterov"]) == (5e-4, 0.9, True)


def test_coloured_ones_are_the_paper_s() -> None:
    gan = generative.build((3, 32, 32))
    assert weights(gan.discriminator) == [(128, 3, 3, 3), *[(128, 128, 4, 4)] * 3, (1, 512)]
    assert weights(gan.generator) == [
        (32768, 32), (256, 128, 5, 5), (256, 256, 5, 5), (256, 256, 5, 5), (3, 256, 7, 7),
    ]  # fmt: skip
    assert [m.p for m in gan.discriminator.modules() if isinstance(m, nn.Dropout)] == [0.25, 0.25, 0.25, 0.4]
    norms = [m.momentum for m in gan.discriminator.modules() if isinstance(m, nn.BatchNorm2d)]
    assert norms == pytest.approx([0.2, 0.2]), "a Keras momentum of 0.8"
    assert gan.clip == 1.0


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (1, 8, 8), (3, 33, 50), (2, 90, 61)])
@pytest.mark.parametrize("network", ["auto", "growing"])
def test_made_images_have_the_size_and_the_range(shape: tuple[int, int, int], network: str) -> None:
    gan = generative.build(shape, network)
    noise = torch.rand(2, gan.noise) * 2 - 1
    with torch.no_grad():
        made = gan.generator(noise)
        assert made.shape == (2, *shape)
        assert made.abs().max() <= 1
        assert gan.discriminator(made).shape == (2, 1)


def test_the_seed_decides_and_the_global_generator_is_left_alone() -> None:
    before = torch.get_rng_state()
    nets = [generative.build((1, 8, 8), seed=seed).generator for seed in (0, 0, 1)]
    digests = [models.digest(net) for net in nets]
    assert digests[0] == digests[1] != digests[2]
    assert (torch.get_rng_state() == before).all()


def test_the_middle_is_cut_out() -> None:
    x = torch.arange(36.0).view(1, 1, 6, 6)
    assert Cut(2, 4)(x)[0, 0].tolist() == [[13, 14, 15, 16], [19, 20, 21, 22]]
