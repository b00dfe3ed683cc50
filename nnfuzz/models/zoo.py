"""The reference networks by name. All return logits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from nnfuzz.errors import NnfuzzError
from nnfuzz.models import judges
from nnfuzz.models.lenet import lenet
from nnfuzz.models.resnet import ResNet20
from nnfuzz.models.vgg import vgg16
from nnfuzz.records import Model

Shape = tuple[int, int, int]
IMAGENET = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


@dataclass(frozen=True)
class Entry:
    """How to make one network, and the data set that it is usually trained on."""

    make: Callable[[Shape, int], nn.Module]
    dataset: str
    shape: Shape
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    smallest: int = 4  # pixels of height and width, below which nothing is left to pool


MNIST: Shape = (1, 28, 28)
CIFAR: Shape = (3, 32, 32)

ZOO: dict[str, Entry] = {
    "lenet1": Entry(lambda shape, classes: lenet(shape, classes, (4, 12)), "mnist", MNIST),
    "lenet4": Entry(lambda shape, classes: lenet(shape, classes, (6, 16), (84,)), "mnist", MNIST),
    "lenet5": Entry(lambda shape, classes: lenet(shape, classes, (6, 16), (120, 84)), "mnist", MNIST),
    "lenet5-valid": Entry(
        lambda shape, classes: lenet(shape, classes, (6, 16), (120, 84), same=False), "mnist", MNIST, smallest=16
    ),
    "resnet20": Entry(lambda shape, classes: ResNet20(shape[0], classes), "cifar10", CIFAR, *IMAGENET),
    "vgg16": Entry(vgg16, "cifar10", CIFAR, *IMAGENET, smallest=32),
    "digits": Entry(lambda shape, classes: lenet(shape, classes, (16, 32), (), kernel=3), "digits", (1, 8, 8)),
    "guard": Entry(judges.guard, "mnist", MNIST),
    "referee-stacked": Entry(judges.stacked, "mnist", MNIST),
    "referee-residual": Entry(judges.residual, "mnist", MNIST),
    "referee-mixer": Entry(judges.Mixer, "mnist", MNIST),
}
REFEREES = ("referee-stacked", "referee-residual", "referee-mixer")


def build(
    name: str,
    shape: Shape | None = None,
    classes: int = 10,
    mean: tuple[float, ...] | None = None,
    std: tuple[float, ...] | None = None,
    seed: int = 0,
) -> Model:
    """An untrained network, its first weights drawn from `seed` without touching the global generator."""
    if name not in ZOO:
        raise NnfuzzError(f"expected a network named {', '.join(ZOO)} and came {name!r}; give one of them")
    entry = ZOO[name]
    shape = shape or entry.shape
    if min(shape[1:]) < entry.smallest or min(shape[0], classes) < 1:
        raise NnfuzzError(
            f"{name}: expected images of at least 1x{entry.smallest}x{entry.smallest} in at least 1 class and came "
            f"{'x'.join(map(str, shape))} in {classes}; take a smaller network or give --resize HxW"
        )
    mean, std = mean or entry.mean, std or entry.std
    if len(mean) not in (1, shape[0]):
        # ImageNet's three channels, asked of grey images: their average does as well.
        mean, std = (sum(mean) / len(mean),), (sum(std) / len(std),)
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        net = entry.make(shape, classes).eval()
    return Model(net, name, mean, std, shape=shape, classes=classes)
