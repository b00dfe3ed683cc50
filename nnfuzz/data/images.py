"""What every reader returns, and the checks that every set of images passes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nnfuzz.errors import NnfuzzError

MEMORY = 8 << 30  # bytes of pixels that one set may take
CLASSES = 100_000  # a label beyond this is a mistake rather than a class


@dataclass(frozen=True, eq=False)
class Images:
    """N images of one size, and what they show."""

    x: Tensor  # uint8 [N,C,H,W]
    label: Tensor  # int64 [N], -1 = not known
    classes: tuple[str, ...]  # the name of each label
    name: str
    files: tuple[str, ...] = ()  # where each row came from, if it came from a folder
    skipped: tuple[str, ...] = ()  # files left out, and why

    def __len__(self) -> int:
        return len(self.x)


def digest(images: Images) -> str:
    """Equal for equal pixels, shapes and labels, wherever they came from."""
    sha = hashlib.sha256(repr(tuple(images.x.shape)).encode())
    sha.update(images.x.contiguous().numpy().data)
    sha.update(images.label.contiguous().numpy().data)
    return sha.hexdigest()[:16]


def guard(shape: Iterable[int], name: str) -> None:
    """Refuse what would not fit in memory before anything of that size is made."""
    total = 1
    for size in shape:
        total *= int(size)
    if total > MEMORY:
        raise NnfuzzError(
            f"{name}: expected at most {MEMORY >> 30} GiB of pixels and came {total / (1 << 30):.1f} GiB; "
            "give fewer or smaller images"
        )


def checked(images: Images) -> Images:
    """The same images, once there is at least one and every label has a name."""
    name, label, count = images.name, images.label, len(images.classes)
    if not images.x.numel():
        raise NnfuzzError(f"{name}: expected at least one image and found none; give a set that has images")
    if len(label) != len(images.x):
        raise NnfuzzError(
            f"{name}: expected one label for each of {len(images.x)} images and came {len(label)}; "
            "write as many labels as images"
        )
    outside = (label < -1) | (label >= count)
    if outside.any():
        row = int(outside.nonzero()[0, 0])
        raise NnfuzzError(
            f"{name}: expected labels from 0 to {count - 1} (or -1 for not known) and row {row} has "
            f"{int(label[row])}; correct the labels"
        )
    return images


def integers(values: Iterable[object], name: str) -> Tensor:
    """Labels as whole numbers from -1 up, or a sentence about the first that is not one."""
    whole: list[int] = []
    for row, value in enumerate(values):
        number = _number(value)
        if number != number or number != int(number) or not -1 <= number < CLASSES:
            raise NnfuzzError(
                f"{name}: expected labels that are whole numbers from 0 to {CLASSES - 1} (or -1 for not "
                f"known) and row {row} has {str(value)[:40]}; correct the labels"
            )
        whole.append(int(number))
    return torch.tensor(whole, dtype=torch.int64)


def _number(value: object) -> float:
    try:
        number = float(str(value))
    except ValueError:
        return float("nan")
    return number if abs(number) < 2**53 else float("nan")


def numbered(label: Tensor) -> tuple[str, ...]:
    """Class names for labels that are numbers only."""
    return tuple(map(str, range(int(label.max()) + 1))) if len(label) else ()


def resized(x: Tensor, size: tuple[int, int], name: str) -> Tensor:
    """Every image at height x width, by the same filter as for files."""
    if tuple(x.shape[2:]) == tuple(size):
        return x
    from PIL import Image

    guard((*x.shape[:2], *size), name)
    planes = x.flatten(0, 1).numpy()
    out = np.empty((len(planes), *size), np.uint8)
    for row, plane in enumerate(planes):
        out[row] = np.asarray(Image.fromarray(plane).resize(size[::-1], Image.Resampling.BILINEAR))
    return torch.from_numpy(out).reshape(*x.shape[:2], *size)
