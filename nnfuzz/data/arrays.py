"""An .npz file of images and, if it has them, labels."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from nnfuzz.data.images import Images, guard, integers, numbered
from nnfuzz.errors import NnfuzzError

BOMB, DENSE = 1 << 28, 200  # bytes; and how often pixels that show something can be folded at most
IMAGES, LABELS = ("x", "images"), ("y", "label", "labels")


def splits(path: Path) -> set[str]:
    """Which of train and test the file keeps apart, as Keras does with x_train and x_test."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return set()
    return {split for split in ("train", "test") if any(f"{i}_{split}.npy" in names for i in IMAGES)}


def read_npz(path: Path, split: str) -> Images:
    """x or images, y or labels; with _train and _test behind the names if the file has both."""
    behind = f"_{split}" if split in splits(path) else ""
    try:
        with zipfile.ZipFile(path) as archive:
            names = {name.removesuffix(".npy") for name in archive.namelist()}
            x_name = next((n + behind for n in IMAGES if n + behind in names), None)
            y_name = next((n + behind for n in LABELS if n + behind in names), None)
            if x_name is None:
                raise NnfuzzError(
                    f"{path}: expected an array called x or images and came {', '.join(sorted(names)) or 'none'}; "
                    "save it with numpy.savez(file, x=images, y=labels)"
                )
            arrays = [_array(archive, name, path) if name else None for name in (x_name, y_name)]
    except NnfuzzError:
        raise
    except Exception as error:  # zipfile, zlib and numpy raise many kinds for a damaged file
        raise NnfuzzError(
            f"{path}: expected an .npz file of plain arrays and came {type(error).__name__} ({error}); save it "
            "again with numpy.savez(file, x=images, y=labels)"
        ) from error
    x, y = arrays
    assert x is not None
    label = torch.full((len(x),), -1) if y is None else _label(y, path)
    return Images(_nchw(_bytes(x, path), path), label, numbered(label), path.stem)


def _array(archive: zipfile.ZipFile, name: str, path: Path) -> np.ndarray:
    """One array, once its header says that it holds no Python objects and fits in memory."""
    member = archive.getinfo(f"{name}.npy")
    if member.file_size > BOMB and member.file_size > DENSE * member.compress_size:
        raise NnfuzzError(
            f"{path}: expected images and {name} unfolds to {member.file_size:,} bytes from {member.compress_size:,} (a"
            " zip bomb?); save it with numpy.savez if it is none"
        )
    with archive.open(f"{name}.npy") as file:
        version = np.lib.format.read_magic(file)
        head = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = head(file)
        guard((*shape, dtype.itemsize), f"{path}: {name}")
    with archive.open(f"{name}.npy") as file:
        return np.asarray(np.lib.format.read_array(file, allow_pickle=False))


def _bytes(x: np.ndarray, path: Path) -> np.ndarray:
    """uint8, or whole numbers from 0 to 255 of another type; anything else would have to be guessed."""
    if x.dtype == np.uint8:
        return x
    if x.dtype.kind not in "iuf":
        raise _not_bytes(path, str(x.dtype))
    if not x.size:
        return x.astype(np.uint8)
    low, high = x.min(), x.max()
    if not (low >= 0 and high <= 255) or (x.dtype.kind == "f" and (high <= 1 or (x != np.rint(x)).any())):
        raise _not_bytes(path, f"{x.dtype} from {low:g} to {high:g}")
    return x.astype(np.uint8)


def _not_bytes(path: Path, came: str) -> NnfuzzError:
    return NnfuzzError(
        f"{path}: expected pixels as whole numbers from 0 to 255 and came {came}; save them as "
        "(255 * x).round().astype('uint8') if they were scaled to 0..1"
    )


def _nchw(x: np.ndarray, path: Path) -> Tensor:
    if x.ndim == 3:
        x = x[:, None]
    elif x.ndim == 4 and x.shape[3] in (1, 3):
        x = x.transpose(0, 3, 1, 2)
    elif x.ndim != 4 or x.shape[1] not in (1, 3):
        raise NnfuzzError(
            f"{path}: expected images as [N,H,W], [N,H,W,C] or [N,C,H,W] with 1 or 3 channels and came "
            f"{list(x.shape)}; reshape them"
        )
    return torch.from_numpy(np.ascontiguousarray(x))


def _label(y: np.ndarray, path: Path) -> Tensor:
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]  # as Keras has them for CIFAR-10
    if y.ndim != 1:
        raise NnfuzzError(f"{path}: expected labels as [N] and came {list(y.shape)}; save one number an image")
    return integers(y.tolist(), str(path))
