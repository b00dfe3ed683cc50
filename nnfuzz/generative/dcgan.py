"""The networks of DRFuzz's fidelity: a generator and a discriminator for 28x28 grey and 32x32 colour images, layer for
layer as its authors have them, and a pair that grows with the image's size.

All of them live in [-1, 1]. Discriminators give a logit; the sigmoid belongs to the loss.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import ceil, log2

import torch
from torch import Tensor, nn

Shape = tuple[int, int, int]
Optimizer = Callable[[Iterator[nn.Parameter]], torch.optim.Optimizer]


@dataclass(frozen=True, eq=False)
class Gan:
    """A pair of networks and how they learn."""

    name: str
    generator: nn.Module  # noise [B,Z] in [-1, 1] -> images [B,C,H,W] in [-1, 1]
    discriminator: nn.Module  # images -> logits [B,1]
    noise: int
    optimizer: Optimizer
    clip: float | None = None  # of each gradient's value


def build(shape: Shape, network: str = "auto", seed: int = 0) -> Gan:
    """An untrained pair for these images; `auto` takes the paper's where it has one."""
    own: dict[Shape, Callable[[], Gan]] = {(1, 28, 28): _grey, (3, 32, 32): _colour}
    make = own.get(shape, partial(_growing, shape)) if network == "auto" else partial(_growing, shape)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        gan = make()
        for net in (gan.generator, gan.discriminator):
            net.apply(_glorot)
    return gan


def _glorot(module: nn.Module) -> None:
    """Keras' first weights, which the paper's learning rates belong to."""
    if isinstance(module, nn.Conv2d | nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)


def _norm(channels: int, keeps: float = 0.99) -> nn.BatchNorm2d:
    """Keras' momentum is the share that stays, torch's the share that comes."""
    return nn.BatchNorm2d(channels, eps=1e-3, momentum=1 - keeps)


def _grey() -> Gan:
    # The authors pool after the tanh. It rises, so that gives the same numbers and takes four times as many of them.
    discriminator = nn.Sequential(
        nn.Conv2d(1, 64, 5, padding=2), nn.MaxPool2d(2), nn.Tanh(),
        nn.Conv2d(64, 128, 5), nn.MaxPool2d(2), nn.Tanh(),
        nn.Flatten(), nn.Linear(3200, 1024), nn.Tanh(), nn.Linear(1024, 1),
    )  # fmt: skip
    generator = nn.Sequential(
        nn.Linear(100, 1024), nn.Tanh(), nn.Linear(1024, 128 * 7 * 7),
        nn.BatchNorm1d(128 * 7 * 7, eps=1e-3, momentum=0.01), nn.Tanh(), nn.Unflatten(1, (128, 7, 7)),
        nn.Upsample(scale_factor=2), nn.Conv2d(128, 64, 5, padding=2), nn.Tanh(),
        nn.Upsample(scale_factor=2), nn.Conv2d(64, 1, 5, padding=2), nn.Tanh(),
    )  # fmt: skip
    return Gan("grey", generator, discriminator, 100, partial(torch.optim.SGD, lr=5e-4, momentum=0.9, nesterov=True))


def _colour() -> Gan:
    leaky = partial(nn.LeakyReLU, 0.3)
    discriminator = nn.Sequential(
        nn.Conv2d(3, 128, 3), leaky(), nn.Dropout(0.25),
        nn.Conv2d(128, 128, 4, stride=2), _norm(128, 0.8), leaky(), nn.Dropout(0.25),
        nn.Conv2d(128, 128, 4, stride=2), _norm(128, 0.8), leaky(), nn.Dropout(0.25),
        nn.Conv2d(128, 128, 4, stride=2), leaky(),
        nn.Flatten(), nn.Dropout(0.4), nn.Linear(512, 1),
    )  # fmt: skip
    refined = [
        part for _ in range(2) for part in (nn.Conv2d(256, 256, 5, padding=2), _norm(256), leaky())
    ]  # fmt: skip
    generator = nn.Sequential(
        nn.Linear(32, 128 * 16 * 16), leaky(), nn.Unflatten(1, (128, 16, 16)),
        nn.Conv2d(128, 256, 5, padding=2), _norm(256), leaky(), nn.Upsample(scale_factor=2),
        *refined, nn.Conv2d(256, 3, 7, padding=3), nn.Tanh(),
    )  # fmt: skip
    return Gan("colour", generator, discriminator, 32, partial(torch.optim.Adam, lr=2e-4), clip=1.0)


class Cut(nn.Module):
    """The middle of a map that came out larger than the image."""

    def __init__(self, height: int, width: int) -> None:
        super().__init__()
        self.height, self.width = height, width

    def forward(self, x: Tensor) -> Tensor:
        top, left = (x.shape[2] - self.height) // 2, (x.shape[3] - self.width) // 2
        return x[:, :, top : top + self.height, left : left + self.width]


def _growing(shape: Shape, width: int = 32, noise: int = 64) -> Gan:
    """Radford et al. (ICLR 2016): halved by strided convolutions down to about 4x4, doubled from there up again."""
    channels, high, wide = shape
    halvings = max(1, ceil(log2(max(high, wide) / 4)))
    widths = [min(width << i, 8 * width) for i in range(halvings)]
    down: list[nn.Module] = []
    for i, filters in enumerate(widths):
        down += [nn.Conv2d(widths[i - 1] if i else channels, filters, 4, stride=2, padding=1), nn.LeakyReLU(0.2)]
    last = [-(-side // 2**halvings) for side in (high, wide)]
    flat = [nn.AdaptiveAvgPool2d((last[0], last[1])), nn.Flatten(), nn.Linear(widths[-1] * last[0] * last[1], 1)]
    up: list[nn.Module] = [
        nn.Linear(noise, widths[-1] * last[0] * last[1]), nn.Unflatten(1, (widths[-1], last[0], last[1])),
        nn.BatchNorm2d(widths[-1]), nn.ReLU(),
    ]  # fmt: skip
    for i in reversed(range(halvings)):
        up += [nn.Upsample(scale_factor=2), nn.Conv2d(widths[i], widths[max(0, i - 1)], 3, padding=1)]
        up += [nn.BatchNorm2d(widths[max(0, i - 1)]), nn.ReLU()]
    up += [nn.Conv2d(widths[0], channels, 3, padding=1), nn.Tanh(), Cut(high, wide)]
    learn = partial(torch.optim.Adam, lr=2e-4, betas=(0.5, 0.999))
    return Gan("growing", nn.Sequential(*up), nn.Sequential(*down, *flat), noise, learn)
