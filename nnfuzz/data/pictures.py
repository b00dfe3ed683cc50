"""Picture files to one uint8 tensor: sizes are read first, pixels only when all of them will fit."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from PIL import Image, UnidentifiedImageError
from torch import Tensor

from nnfuzz.data.images import guard
from nnfuzz.errors import NnfuzzError

# Pillow would also start an interpreter for PostScript; nothing but these five is ever opened.
FORMATS = ("PNG", "JPEG", "BMP", "WEBP", "GIF")
SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".webp", ".gif"})
GREY = frozenset({"1", "L", "LA", "La"})
EIGHT_BIT = GREY | {"P", "PA", "RGB", "RGBA", "RGBa", "RGBX", "CMYK", "YCbCr", "LAB", "HSV"}


@dataclass
class Pictures:
    """What came of a list of files: the rows that could be read, and which rows those are."""

    x: Tensor = field(default_factory=lambda: torch.empty(0, 1, 0, 0, dtype=torch.uint8))
    rows: list[int] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def read(root: Path, files: Sequence[str], size: tuple[int, int] | None) -> Pictures:
    """The files under root that are pictures, all grey or all colour, all of one size."""
    out = Pictures()
    heads = {row: head for row, name in enumerate(files) if (head := _head(root, name, out.skipped))}
    if not heads:
        return out
    size = size or _one_size(root, {files[row]: extent for row, (extent, _) in heads.items()})
    mode = "L" if all(grey for _, grey in heads.values()) else "RGB"
    shape = (len(heads), 1 if mode == "L" else 3, *size)
    guard(shape, str(root))
    pixels = np.empty(shape, np.uint8)
    for row in heads:
        plane = _pixels(root, files[row], mode, size, out.skipped)
        if plane is not None:
            pixels[len(out.rows)] = plane
            out.rows.append(row)
    out.x = torch.from_numpy(pixels[: len(out.rows)])
    return out


def _head(root: Path, name: str, skipped: list[str]) -> tuple[tuple[int, int], bool] | None:
    """(height, width) and whether it is grey, without decoding; None if it is no picture."""
    try:
        with _open(root / name) as image:
            deep = image.format == "PNG" and any("16" in str(tile[3]) for tile in image.tile)
            if image.mode not in EIGHT_BIT or deep:
                raise NnfuzzError(
                    f"{root / name}: expected 8 bits a channel and came {'16' if deep else image.mode}; convert "
                    "it to an 8-bit picture, because nnfuzz runs exactly the pixels it stores"
                )
            return (image.height, image.width), image.mode in GREY
    except NnfuzzError:
        raise
    except Exception as error:  # Pillow's readers raise OSError, SyntaxError, struct.error, zlib.error …
        skipped.append(f"{name}: {_why(error)}")
        return None


def _open(path: Path) -> Image.Image:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            return Image.open(path, formats=FORMATS)
        except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
            raise NnfuzzError(
                f"{path}: expected a picture of at most {Image.MAX_IMAGE_PIXELS:,} pixels and came a larger one "
                "(a decompression bomb?); remove it or make it smaller"
            ) from error


def _pixels(root: Path, name: str, mode: str, size: tuple[int, int], skipped: list[str]) -> np.ndarray | None:
    """[C,H,W] of one file; None if its pixels are damaged."""
    try:
        with _open(root / name) as image:
            flat = _on_black(image).convert(mode)
        if flat.size != size[::-1]:
            flat = flat.resize(size[::-1], Image.Resampling.BILINEAR)
        plane = np.asarray(flat)
        return plane[None] if mode == "L" else plane.transpose(2, 0, 1)
    except Exception as error:  # as in _head
        skipped.append(f"{name}: {_why(error)}")
        return None


def _on_black(image: Image.Image) -> Image.Image:
    if not image.has_transparency_data:
        return image
    seen = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", seen.size, (0, 0, 0, 255)), seen)


def _one_size(root: Path, sizes: dict[str, tuple[int, int]]) -> tuple[int, int]:
    (first, size), *others = sizes.items()
    for other, found in others:
        if found != size:
            raise NnfuzzError(
                f"{root}: expected images of one size and {first} is {size[0]}x{size[1]} but {other} is "
                f"{found[0]}x{found[1]} (height x width); give --resize HxW"
            )
    return size


def _why(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file"
    kind = "not a picture" if isinstance(error, UnidentifiedImageError) else str(error) or repr(error)
    return kind.splitlines()[0][:100]
