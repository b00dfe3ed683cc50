"""How a judge is trained: it must read what mutators leave of an image, and be sure only where it can be."""

from __future__ import annotations

from collections.abc import Callable

import torch

from nnfuzz.errors import NnfuzzError
from nnfuzz.layout import quick
from nnfuzz.models.distort import distort
from nnfuzz.models.train import Epoch, Labelled, Trained, train
from nnfuzz.models.zoo import build

RECIPE = 1  # counted up whenever networks, distortions or the numbers here change, so that old guards are not taken
SEEN = 360_000  # images of 28x28 pixels, six times MNIST's training set
FEWEST = 10  # images of a class, below which nothing is learned


def train_judge(
    network: str, images: Labelled, test: Labelled | None = None, *, seed: int = 0, seen: int = SEEN,
    epochs: int | None = None, seconds: float | None = None, lr: float = 4e-3,
    on_epoch: Callable[[Epoch], None] | None = None,
) -> Trained:  # fmt: skip
    """Train a network of the zoo under strong distortions: for so many epochs, or so many images seen."""
    _, channels, height, width = images.x.shape
    enough(images)
    model = build(network, (channels, height, width), len(images.classes), seed=seed)
    model.net.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    rounds = epochs or max(3, round(seen * min(1.0, 28 * 28 / (height * width) * 2) / len(images.label)))
    # Nothing is cached: weights change from step to step, and the cache would keep the first ones.
    dtype = quick("cpu")
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16, cache_enabled=False):
        return train(
            model, images, test, epochs=rounds, seconds=seconds, batch=256 if len(images.label) > 10_000 else 64,
            lr=lr, seed=seed, optimizer="adamw", weight_decay=0.02, augment=distort, on_epoch=on_epoch,
        )  # fmt: skip


def enough(images: Labelled) -> None:
    """Refuse a set that teaches nothing."""
    known = int((images.label >= 0).sum())
    if known < FEWEST * max(2, len(images.classes)):
        raise NnfuzzError(
            f"expected at least {FEWEST} labelled images of each of {len(images.classes)} classes to train a judge and "
            f"came {known}; name training data that has more, give --guard MODEL, or take --fidelity consistent"
        )
