"""The data sets that have a name, read from their official file formats."""

from __future__ import annotations

import gzip
import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from nnfuzz.data.download import need
from nnfuzz.data.images import Images, guard
from nnfuzz.errors import NnfuzzError

DIGITS = tuple(map(str, range(10)))
FASHION = (
    *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
    *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
)
CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def _mnist(name: str, split: str) -> Images:
    part = "train" if split == "train" else "t10k"
    images, labels = need(name, [f"{part}-images-idx3-ubyte.gz", f"{part}-labels-idx1-ubyte.gz"])
    x = torch.from_numpy(_idx(images, 3))[:, None]
    label = torch.from_numpy(_idx(labels, 1)).long()
    return Images(x, label, FASHION if name == "fashion-mnist" else DIGITS, name)


def _idx(path: Path, dimensions: int) -> np.ndarray:
    """The IDX format: two zero bytes, type 8 (bytes), the number of dimensions, their sizes, the bytes."""
    opened = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rb") as file:
            start = file.read(4 + 4 * dimensions)
            magic, *shape = struct.unpack(f">{1 + dimensions}I", start)
            if magic != 0x800 + dimensions:
                raise ValueError(f"a file that starts with {start[:4].hex()}")
            guard(shape, str(path))
            size = int(np.prod(shape))
            data = file.read(size)
    except (OSError, EOFError, zlib.error, struct.error, ValueError) as error:
        raise _unreadable(path, f"an IDX file of {dimensions} dimensions", error) from error
    if len(data) != size:
        raise _unreadable(path, f"{size} bytes after the header", EOFError(f"only {len(data)} bytes"))
    return np.frombuffer(bytearray(data), np.uint8).reshape(shape)


def _cifar10(name: str, split: str) -> Images:
    parts = [f"data_batch_{i}" for i in range(1, 6)] if split == "train" else ["test_batch"]
    rows = []
    for path in need(name, [f"cifar-10-batches-bin/{part}.bin" for part in parts]):
        guard([path.stat().st_size], str(path))
        data = np.fromfile(path, np.uint8)
        if len(data) % 3073:
            raise _unreadable(path, "records of 3073 bytes", EOFError(f"{len(data)} bytes"))
        rows.append(data.reshape(-1, 3073))
    table = np.concatenate(rows)
    x = np.ascontiguousarray(table[:, 1:]).reshape(-1, 3, 32, 32)
    return Images(torch.from_numpy(x), torch.from_numpy(table[:, 0].astype(np.int64)), CIFAR10, name)


def _svhn(name: str, split: str) -> Images:
    from scipy.io import loadmat

    (path,) = need(name, [f"{split}_32x32.mat"])
    try:
        content = loadmat(path, variable_names=["X", "y"])
        x, y = content["X"], content["y"].astype(np.int64).ravel()
        if x.dtype != np.uint8 or x.ndim != 4 or x.shape[2] != 3:
            raise ValueError(f"X of {x.dtype} {x.shape}")
    except Exception as error:  # scipy's readers raise many kinds for a damaged file
        raise _unreadable(path, "a MATLAB file with X [32,32,3,N] and y [N,1]", error) from error
    x = np.ascontiguousarray(x.transpose(3, 2, 0, 1))
    label = torch.from_numpy(np.where(y == 10, 0, y))  # the official files call the digit 0 class 10
    return Images(torch.from_numpy(x), label, DIGITS, name)


def _digits(name: str, split: str) -> Images:
    from sklearn.datasets import load_digits

    bunch = load_digits()
    order = np.argsort(bunch.target, kind="stable")
    # Every fifth of each class is a test image: the same rows whatever the version of numpy.
    test = np.zeros(len(order), bool)
    test[order[::5]] = True
    rows = test if split == "test" else ~test
    x = np.rint(bunch.images[rows] * (255 / 16)).astype(np.uint8)
    label = torch.from_numpy(bunch.target[rows].astype(np.int64))
    return Images(torch.from_numpy(x)[:, None], label, DIGITS, name)


def _framed_digits(name: str, split: str) -> Images:
    """The same digits as MNIST has its own: 20x20 in a black frame of 28x28, so that a shift keeps all of them."""
    small = _digits(name, split)
    large = torch.nn.functional.interpolate(small.x.float(), size=(20, 20), mode="bicubic")
    x = torch.nn.functional.pad(large, (4, 4, 4, 4)).round_().clamp_(0, 255)
    return replace(small, x=x.to(torch.uint8))


def _unreadable(path: Path, expected: str, error: Exception) -> NnfuzzError:
    return NnfuzzError(
        f"{path}: expected {expected} and came {type(error).__name__} ({error}); delete the file so that it is "
        "fetched again"
    )


NAMED: dict[str, Callable[[str, str], Images]] = {
    "mnist": _mnist,
    "fashion-mnist": _mnist,
    "cifar10": _cifar10,
    "svhn": _svhn,
    "digits": _digits,
    "digits28": _framed_digits,
}
