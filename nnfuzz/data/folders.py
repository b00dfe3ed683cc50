"""A folder of pictures: in class folders, listed in labels.csv, or with the label in front of each name."""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path

import torch
from torch import Tensor

from nnfuzz.data.images import Images, integers, numbered
from nnfuzz.data.pictures import SUFFIXES, read
from nnfuzz.errors import NnfuzzError

Listed = tuple[list[str], Tensor, tuple[str, ...]]  # files, their labels, class names
FILE_COLUMN = ("file", "filename", "image", "path", "name")
LABEL_COLUMN = ("label", "class", "target")


def read_folder(root: Path, size: tuple[int, int] | None) -> Images:
    """Every picture in the folder, whatever of the three layouts it has."""
    files, label, classes = _listed(root)
    for file in files:
        _inside(root, file)
    taken = [i for i, file in enumerate(files) if Path(file).suffix.lower() in SUFFIXES]
    odd = [f"{files[i]}: not a picture" for i in sorted(set(range(len(files))) - set(taken))]
    pictures = read(root, [files[i] for i in taken], size)
    skipped = (*odd, *pictures.skipped)
    if not pictures.rows:
        raise NnfuzzError(
            f"{root}: expected PNG, JPEG, BMP, WebP or GIF pictures and none could be read"
            + (f" ({len(skipped)} skipped, the first is {skipped[0]})" if skipped else "")
            + "; give class folders, a labels.csv, or files named LABEL_anything.png"
        )
    rows = [taken[i] for i in pictures.rows]
    return Images(pictures.x, label[rows], classes, root.name, tuple(files[i] for i in rows), skipped)


def _listed(root: Path) -> Listed:
    if (root / "labels.csv").exists():
        return _from_csv(root)
    folders = [entry for entry in _visible(root) if entry.is_dir()]
    return _from_class_folders(root, folders) if folders else _from_names(root)


def _visible(root: Path) -> list[Path]:
    return sorted(entry for entry in root.iterdir() if not entry.name.startswith("."))


def _inside(root: Path, file: str) -> None:
    """A label file or a link may not make us read what the user did not point at."""
    if "\0" in file:
        raise NnfuzzError(f"{root}: expected names of files and {file[:60]!r} cannot be one; correct labels.csv")
    real = os.path.realpath(root / file)
    if os.path.isabs(file) or not Path(real).is_relative_to(os.path.realpath(root)):
        raise NnfuzzError(f"{root}: expected files inside this folder and {file} leads out of it; copy it into it")
    if os.path.exists(real) and not os.path.isfile(real):
        raise NnfuzzError(f"{root}: expected {file} to be a plain file and it is not; remove it")


def _from_class_folders(root: Path, folders: list[Path]) -> Listed:
    files: list[str] = []
    label: list[int] = []
    for number, folder in enumerate(folders):
        _inside_folder(root, folder)
        for path in sorted(folder.rglob("*")):
            if not path.is_dir() and not any(part.startswith(".") for part in path.relative_to(root).parts):
                files.append(path.relative_to(root).as_posix())
                label.append(number)
    return files, torch.tensor(label, dtype=torch.int64), tuple(folder.name for folder in folders)


def _inside_folder(root: Path, folder: Path) -> None:
    if not Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(root)):
        raise NnfuzzError(
            f"{root}: expected class folders inside this folder and {folder.name} leads out of it; copy it into it"
        )


def _from_csv(root: Path) -> Listed:
    table = _rows(root)
    file_column, label_column = 0, 1
    first = [cell.strip().lower() for cell in table[0]] if table else []
    names = [c for c in FILE_COLUMN if c in first]
    labels = [c for c in LABEL_COLUMN if c in first]
    if names and labels:
        file_column, label_column = first.index(names[0]), first.index(labels[0])
        table = table[1:]
    for number, row in enumerate(table):
        if len(row) <= max(file_column, label_column):
            raise NnfuzzError(
                f"{root / 'labels.csv'}: expected the columns file and label and entry {number + 1} is "
                f"{','.join(row)[:60]!r}; write one file and one label a line"
            )
    files = [row[file_column].strip() for row in table]
    label, classes = _labels([row[label_column].strip() for row in table], str(root / "labels.csv"))
    return files, label, classes


def _rows(root: Path) -> list[list[str]]:
    path = root / "labels.csv"
    _inside(root, path.name)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return [row for row in csv.reader(file) if any(cell.strip() for cell in row)]
    except (csv.Error, UnicodeDecodeError) as error:
        raise NnfuzzError(f"{path}: expected UTF-8 text with commas and came {error}; save it as CSV") from error


def _labels(cells: list[str], name: str) -> tuple[Tensor, tuple[str, ...]]:
    """Numbers if all of them are; else the sorted names are the classes. An empty cell is not known."""
    known = [cell for cell in cells if cell]
    if all(re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", cell, re.IGNORECASE) for cell in known):
        label = integers([cell or -1 for cell in cells], name)
        return label, numbered(label)
    classes = sorted(set(known))
    place = {cell: number for number, cell in enumerate(classes)}
    return torch.tensor([place.get(cell, -1) for cell in cells], dtype=torch.int64), tuple(classes)


def _from_names(root: Path) -> Listed:
    """NUMBER_anything: all of the pictures, or none, in which case no label is known."""
    files = [entry.name for entry in _visible(root)]
    numbers = [re.match(r"(\d+)_", file) for file in files if Path(file).suffix.lower() in SUFFIXES]
    if not any(numbers):
        return files, torch.full((len(files),), -1), ()
    found = [re.match(r"(\d+)_(.*)\.", file) for file in files]
    for file, match in zip(files, found, strict=True):
        if not match and Path(file).suffix.lower() in SUFFIXES:
            raise NnfuzzError(
                f"{root}: expected every file to begin with its label, as in 7_anything.png, and {file} does not; "
                "rename it or use class folders"
            )
    label = integers([match[1] if match else -1 for match in found], str(root))
    return files, label, _titles(label, [match[2] if match else "" for match in found])


def _titles(label: Tensor, rests: list[str]) -> tuple[str, ...]:
    """The class is called as its file is, when there is one file a class (001_n01443537_goldfish.png)."""
    names = list(numbered(label))
    known = label[label >= 0]
    if len(set(known.tolist())) == len(known):
        for number, rest in zip(label.tolist(), rests, strict=True):
            title = re.sub(r"^n\d{8}_", "", rest).replace("_", " ").strip()
            if number >= 0 and re.search(r"[^\W\d]", title):
                names[number] = title
    return tuple(names)
