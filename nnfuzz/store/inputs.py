"""One input as a file: a lossless PNG where the pixels fit one, else an .npz."""

from __future__ import annotations

import errno
import os
import re
import zipfile
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from nnfuzz.errors import NnfuzzError
from nnfuzz.store import png

NAME = re.compile(r"findings/\d{6,}-[a-z][a-z-]*\.(png|npz)")
LARGEST = 1 << 28  # bytes that one input may take when it is read


def ending(x: Tensor) -> str:
    fits = x.dtype == torch.uint8 and x.dim() == 3 and len(x) in (1, 3)
    return "png" if fits else "npz"


def save(x: Tensor, path: Path) -> None:
    """Whole or not at all."""
    folder, name = os.path.split(path)
    part = f"{folder}/.{name}.part"
    if name.endswith(".png"):
        content = png.encode(x)
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0), 0o666)
        try:  # in one call: a file object around it takes as long again
            if os.write(file, content) < len(content):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        finally:
            os.close(file)
    else:
        with open(part, "wb") as archive:
            np.savez_compressed(archive, x=x.numpy())
    os.replace(part, path)


def load(folder: Path, name: str) -> Tensor:
    """What `save` wrote, from a folder that anybody may have tampered with."""
    path = folder / name
    if not NAME.fullmatch(name) or path.is_symlink() or path.parent.is_symlink():
        raise NnfuzzError(f"expected an input of the run {folder} and came {name!r}; the run is damaged")
    return read(path)


def read(path: Path) -> Tensor:
    """One file that `save` wrote."""
    try:
        return _png(path) if path.suffix == ".png" else read_npz(path)
    except NnfuzzError:
        raise
    except Exception as error:  # Pillow, zipfile and numpy raise many kinds for a damaged file
        raise NnfuzzError(f"expected the input {path} and came {type(error).__name__}: {error}") from error


def _png(path: Path) -> Tensor:
    from PIL import Image

    with Image.open(path, formats=("PNG",)) as image:
        if image.width * image.height * len(image.getbands()) > LARGEST or image.mode not in ("L", "RGB"):
            raise NnfuzzError(f"expected a picture as nnfuzz writes them and came a {image.mode} {image.size}: {path}")
        pixels = np.array(image)
    x = torch.from_numpy(pixels)
    return x[None] if x.dim() == 2 else x.permute(2, 0, 1).contiguous()


def read_npz(path: Path) -> Tensor:
    """The array x of an .npz file, once its header says that it is plain and not too large."""
    with zipfile.ZipFile(path) as archive, archive.open("x.npy") as file:
        version = np.lib.format.read_magic(file)
        head = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = head(file)
        if dtype.hasobject or np.prod(shape, dtype=np.float64) * dtype.itemsize > LARGEST:
            raise NnfuzzError(f"expected an array as nnfuzz writes them and came {dtype} of {shape}: {path}")
    # Not numpy.load: it would take a member x, if there is one, whose header nobody has looked at.
    with zipfile.ZipFile(path) as archive, archive.open("x.npy") as file:
        return torch.from_numpy(np.lib.format.read_array(file, allow_pickle=False))
