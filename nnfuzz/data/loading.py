"""From what a user writes to images."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from nnfuzz.data.arrays import read_npz, splits
from nnfuzz.data.images import Images, checked, resized
from nnfuzz.data.named import NAMED
from nnfuzz.errors import NnfuzzError

SPLITS = ("train", "test")


def load(spec: str, split: str = "test", size: tuple[int, int] | None = None) -> Images:
    """Images from NAME, NAME:train, NAME:test, a folder of pictures or an .npz file, at height x width `size`."""
    if split not in SPLITS:
        raise NnfuzzError(f"expected the split train or test and came {split!r}; give one of the two")
    if size is not None and (len(size) != 2 or min(size) < 1):
        raise NnfuzzError(f"expected a size as height and width from 1 up and came {size}; give two such numbers")
    name, split = _forced(spec, split)
    images = checked(NAMED[name](name, split) if name in NAMED else _from_path(name, split, size))
    return images if size is None else replace(images, x=resized(images.x, size, images.name))


def has_split(spec: str, split: str) -> bool:
    """Whether `load(spec, split)` gives that split, rather than all there is or the other one."""
    name, got = _forced(spec, split)
    if name in NAMED:
        return got == split and split in SPLITS
    path = Path(name).expanduser()
    return split in (splits(path) if os.path.isfile(path) else _split_folders(path))


def _forced(spec: str, split: str) -> tuple[str, str]:
    name, colon, forced = spec.partition(":")
    if not colon or name not in NAMED:
        return spec, split
    if forced not in SPLITS:
        raise NnfuzzError(f"{spec}: expected {name}:train or {name}:test and came {forced!r}; give one of the two")
    return name, forced


def _split_folders(root: Path) -> set[str]:
    """Train and test are splits when a folder has both, and classes otherwise: there are pictures of trains."""
    found = {split for split in SPLITS if os.path.isdir(root / split)}
    return found if len(found) == 2 else set()


def _from_path(spec: str, split: str, size: tuple[int, int] | None) -> Images:
    path = Path(spec).expanduser()
    if not spec or not os.path.exists(path):
        raise NnfuzzError(
            f"expected data named {', '.join(NAMED)}, a folder of pictures or an .npz file, and {spec!r} is none "
            "of them; check the name or the path"
        )
    from nnfuzz.data.folders import read_folder  # Pillow comes with it

    try:
        if path.is_dir():
            root = path / split if split in _split_folders(path) else path
            return replace(read_folder(root, size), name=path.resolve().name)
        if path.suffix == ".npz":
            return read_npz(path, split)
    except OSError as error:
        raise NnfuzzError(
            f"{spec}: expected to read it and came {error.strerror or error}; check that it can be read"
        ) from error
    raise NnfuzzError(f"{spec}: expected a folder of pictures or an .npz file and came another file; give one of those")
