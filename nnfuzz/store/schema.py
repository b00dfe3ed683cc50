"""run.db: what is in it, how it is opened, and what is refused."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from nnfuzz.errors import NnfuzzError

FORMAT = 1
APPLICATION = 0x6E6E667A  # "nnfz", in the file's header
PAGE = 1 << 15  # bytes; a corpus is written in megabytes, which takes twice as long in SQLite's usual pages
LOG = 256  # pages that it grows by until they go into the file

TABLES = {
    # What a run had done after each turn: counters, and the coverage of each criterion as JSON.
    "steps": "step INTEGER PRIMARY KEY, seconds REAL, tries INTEGER, executed INTEGER, findings INTEGER,"
    " distinct_findings INTEGER, seeds_hit INTEGER, corpus INTEGER, flaky INTEGER, coverage TEXT",
    # What the corpus took in a turn, with its lineage: a packed dict of columns (see packing.py).
    "corpus": "step INTEGER PRIMARY KEY, first INTEGER, rows INTEGER, columns BLOB",
    "findings": "id INTEGER PRIMARY KEY, step INTEGER, kind TEXT, image TEXT, seed INTEGER, label INTEGER,"
    " seed_answers TEXT, answers TEXT, confidences TEXT, mutations TEXT, repeated INTEGER, asked INTEGER,"
    " seconds REAL, error TEXT, doubtful INTEGER, parent INTEGER, fingerprint INTEGER, features BLOB",
    "seeds": "seed INTEGER PRIMARY KEY, x BLOB",  # originals of the findings, packed
    "checkpoint": "one INTEGER PRIMARY KEY CHECK (one = 1), step INTEGER, state BLOB",
}


def create(path: Path) -> sqlite3.Connection:
    """An empty run.db, open for writing; nobody ever sees one with half of its tables."""
    part = path.with_name(f".{path.name}.part")
    with closing(sqlite3.connect(part, isolation_level=None)) as base:
        base.execute(f"PRAGMA page_size = {PAGE}")
        base.execute(f"PRAGMA application_id = {APPLICATION}")
        base.execute(f"PRAGMA user_version = {FORMAT}")
        for name, columns in TABLES.items():
            base.execute(f"CREATE TABLE {name} ({columns})")
        base.execute("PRAGMA journal_mode = WAL")  # once it has its name there is never another journal beside it
    os.replace(part, path)
    return _writing(sqlite3.connect(path, isolation_level=None))


def reopen(path: Path) -> sqlite3.Connection:
    """An existing run.db, checked, open for writing."""
    with closing(read(path)) as base, _understood(path):
        if (said := base.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise _damaged(path, said.splitlines()[-1])
    return _writing(sqlite3.connect(path, isolation_level=None))


def _writing(base: sqlite3.Connection) -> sqlite3.Connection:
    base.execute("PRAGMA trusted_schema = OFF")
    base.execute("PRAGMA journal_mode = WAL")
    base.execute(f"PRAGMA wal_autocheckpoint = {LOG}")
    base.execute("PRAGMA synchronous = NORMAL")  # a killed process loses nothing committed, a power cut a second
    return base


def read(path: Path) -> sqlite3.Connection:
    """An existing run.db, checked, for reading; it is left as it is."""
    if not path.is_file() or path.is_symlink():
        raise NnfuzzError(f"expected a run with a {path.name} in {path.parent} and there is none; check the folder")
    log = path.with_name(f"{path.name}-wal")
    # Where there is no log nobody is writing, and SQLite need not leave one beside what it only reads.
    mode = "mode=ro" if log.exists() and log.stat().st_size else "mode=ro&immutable=1"
    base = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{mode}", uri=True, isolation_level=None)
    try:
        base.execute("PRAGMA trusted_schema = OFF")
        base.execute("PRAGMA cell_size_check = ON")
        with _understood(path):
            _check(base, path)
    except BaseException:
        base.close()
        raise
    return base


def _check(base: sqlite3.Connection, path: Path) -> None:
    application = base.execute("PRAGMA application_id").fetchone()[0]
    version = base.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION:
        raise _damaged(path, "a database of something else")
    if version > FORMAT:
        raise NnfuzzError(
            f"{path.parent} is a run in format {version} and this nnfuzz reads up to {FORMAT}; take a newer nnfuzz"
        )
    # A forged file could bring triggers, views, generated columns and virtual tables, which run when it is read.
    found = dict(base.execute("SELECT name, sql FROM sqlite_master"))
    if found != {name: f"CREATE TABLE {name} ({columns})" for name, columns in TABLES.items()}:
        names = ", ".join(sorted(name[:40] for name in map(str, found))[:10])
        raise _damaged(path, f"other contents ({names or 'nothing'})")


@contextmanager
def _understood(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, came: str) -> NnfuzzError:
    return NnfuzzError(f"expected {path} to be the database of a run and came {came}; it is left as it is")
