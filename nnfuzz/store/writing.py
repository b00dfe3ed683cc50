"""Writing to a run: where it cannot be written it is said in one sentence, and no file is ever half there."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nnfuzz.errors import NnfuzzError

RUN, RESULT, BASE, STATS = "run.json", "summary.json", "run.db", "stats.csv"
NOT_YET = "not yet"  # in the summary of a run that goes on, or was killed: how it ended


def vacant(path: Path) -> None:
    """Refuse a folder that holds something, or could not be written."""
    if (path / BASE).exists():
        raise NnfuzzError(
            f"{path} already holds a run and is left as it is; nnfuzz resume {path} goes on with it, or give another"
            " folder with --out"
        )
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise NnfuzzError(
            f"{path} already holds something and is left as it is; give another folder with --out, or remove it"
        )
    nearest = next(p for p in (path, *path.absolute().parents) if p.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise NnfuzzError(f"expected to write the run to {path} and {nearest} cannot be written to; give another --out")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise NnfuzzError(f"{path} is being written by another nnfuzz; wait for it, or stop it") from error
        raise NnfuzzError(f"expected to write the run to {path} and came: {error}; make room") from error
    except OSError as error:
        raise NnfuzzError(
            f"expected to write the run to {path} and came {error.strerror or error}; make room, or give another --out"
        ) from error


def write(run: Path, name: str, content: str) -> None:
    """A file of a run: a reader sees the old one or the new one, never half of one."""
    part = run / f".{name}.part"
    with writing(run):
        part.write_text(content, encoding="utf-8")
        os.replace(part, run / name)
