"""The run folder while a run goes on: what it was, what it found, how it went, and where it stands."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from math import inf
from pathlib import Path
from typing import Any, TextIO

from torch import Tensor

from nnfuzz.errors import NnfuzzError
from nnfuzz.records import Batch, Finding
from nnfuzz.store import inputs, schema
from nnfuzz.store.packing import pack, unpack
from nnfuzz.store.writing import BASE, RESULT, RUN, STATS, vacant, write, writing

STOOD = "(SELECT step FROM checkpoint)"  # the last checkpoint


class RunFolder:
    """Everything goes into one open transaction that `checkpoint` commits: a run that is killed stands again where its
    last checkpoint was. `commit` alone is cheaper: readers see what was found, and whoever goes on finds it again. Only
    the inputs of findings are files, whole from the moment they are there."""

    def __init__(self, path: Path, base: sqlite3.Connection, reader: sqlite3.Connection | None = None) -> None:
        self.path, self._base, self._reader = path, base, reader
        self.fresh = False
        self._stats: TextIO | None = None
        self._rows = 0  # of the corpus that were written down
        self._originals: set[int] = set()  # whose image is there
        with writing(path):
            self._base.execute("PRAGMA busy_timeout = 0")
            self._base.execute("BEGIN IMMEDIATE")  # held from commit to commit: nobody else can write

    @classmethod
    def create(cls, path: Path, configuration: Mapping[str, Any] | None = None) -> RunFolder:
        """With its run.json, and last its run.db: where there is one, there is a run to go on with."""
        vacant(path)
        with writing(path):
            (path / "findings").mkdir(parents=True)
            write(path, RUN, _json(configuration or {}))
            folder = cls(path, schema.create(path / BASE))
        folder.fresh = True
        return folder

    @classmethod
    def reopen(cls, path: Path) -> RunFolder:
        """A run to go on with, locked; it is left as it is until `take_back`."""
        # SQLite folds its log into the file when the last connection closes, unless that one only reads.
        with ExitStack() as opened:
            reader = opened.enter_context(closing(schema.read(path / BASE)))
            base = opened.enter_context(closing(schema.reopen(path / BASE)))
            folder = cls(path, base, reader)
            opened.pop_all()
        return folder

    def take_back(self) -> None:
        """Go on from the last checkpoint: what was written after it is removed, and will be written again."""
        with writing(self.path):
            for table in ("steps", "corpus", "findings"):
                self._base.execute(f"DELETE FROM {table} WHERE step > {STOOD}")
            held = {image for (image,) in self._base.execute("SELECT image FROM findings")}
            for file in (self.path / "findings").iterdir():
                name = f"findings/{file.name.removeprefix('.').removesuffix('.part')}"
                ours = inputs.NAME.fullmatch(name)  # what nnfuzz did not write stays
                if ours and f"findings/{file.name}" not in held:
                    file.unlink()
            for name in (RUN, RESULT, STATS, "report.html"):
                (self.path / f".{name}.part").unlink(missing_ok=True)
            self._cut_stats()
            (self._rows,) = self._base.execute("SELECT COALESCE(SUM(rows), 0) FROM corpus").fetchone()
            self._originals = {seed for (seed,) in self._base.execute("SELECT seed FROM seeds")}
        self._let_go()

    def _let_go(self) -> None:
        if self._reader:
            self._reader.close()
            self._reader = None

    def _cut_stats(self) -> None:
        path = self.path / STATS
        if not path.exists():
            return
        (seconds,) = self._base.execute("SELECT MAX(CAST(seconds AS REAL)) FROM steps").fetchone()
        rows = path.read_text(encoding="utf-8", errors="replace").splitlines()
        whole = [row for row in rows[1:] if row.count(",") == rows[0].count(",") and _number(row) <= (seconds or 0)]
        write(self.path, STATS, "".join(f"{row}\r\n" for row in rows[:1] + whole))

    def describe(self, configuration: Mapping[str, Any]) -> None:
        write(self.path, RUN, _json(configuration))

    def summarise(self, result: Mapping[str, Any]) -> None:
        write(self.path, RESULT, _json(result))

    def step(self, number: int, counts: Mapping[str, Any], coverage: Mapping[str, float]) -> None:
        """The counters after a turn."""
        self._insert("steps", [{"step": number, **counts, "coverage": json.dumps(coverage)}])

    def keep(self, step: int, batch: Batch) -> None:
        """Rows that the corpus took, in order; `parent` is where they came from."""
        columns = {"x": batch.x, "label": batch.label, "seed": batch.seed, "parent": batch.parent}
        packed = pack({**columns, "notes": dict(batch.notes)})
        self._insert("corpus", [{"step": step, "first": self._rows, "rows": len(batch), "columns": packed}])
        self._rows += len(batch)

    def kept(self) -> Iterator[Batch]:
        """What `keep` was given until the last checkpoint, in order."""
        # One by one: a connection whose query somebody gave up halfway would stay open after it is closed.
        for (step,) in self._base.execute(f"SELECT step FROM corpus WHERE step <= {STOOD} ORDER BY step").fetchall():
            packed = self._base.execute("SELECT columns FROM corpus WHERE step = ?", (step,)).fetchall()[0][0]
            try:
                columns = unpack(packed)
                notes = columns.pop("notes")
                yield Batch(**columns, notes=notes)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise NnfuzzError(f"expected a corpus in {self.path} and came {error}; the run is damaged") from error

    def add(
        self, step: int, found: Sequence[Finding], x: Tensor, parent: Tensor, fingerprint: Tensor, features: Tensor
    ) -> None:
        """New findings, with what is only needed to compare them."""
        with writing(self.path):
            for finding, pixels in zip(found, x, strict=True):
                inputs.save(pixels, self.path / finding.image)
        columns = zip(found, parent.tolist(), fingerprint.tolist(), features.float().numpy(), strict=True)
        self._insert("findings", [
            {
                "id": finding.id, "step": step, "kind": finding.kind, "image": finding.image, "seed": finding.seed,
                "label": finding.label, "seed_answers": json.dumps(finding.seed_answers),
                "answers": json.dumps(finding.answers), "confidences": json.dumps(finding.confidences),
                "mutations": json.dumps([[m.operator, *m.param] for m in finding.mutations]),
                "repeated": finding.repeated, "asked": finding.asked, "seconds": finding.seconds,
                "error": finding.error, "doubtful": finding.doubtful, "parent": parent_id, "fingerprint": key,
                "features": seen.tobytes(),
            }
            for finding, parent_id, key, seen in columns
        ])  # fmt: skip

    def doubt(self, doubtful: Mapping[int, bool]) -> None:
        """What independent models make of findings, by id."""
        with writing(self.path):
            self._base.executemany(
                "UPDATE findings SET doubtful = ? WHERE id = ?", [(said, number) for number, said in doubtful.items()]
            )

    def original(self, seed: int, x: Tensor) -> None:
        """The image that findings began with."""
        if seed not in self._originals:
            self._originals.add(seed)
            self._insert("seeds", [{"seed": seed, "x": pack(x)}])

    def _insert(self, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
        places = ", ".join(f":{name}" for name in rows[0])
        with writing(self.path):
            self._base.executemany(f"INSERT INTO {table} ({', '.join(rows[0])}) VALUES ({places})", rows)

    def checkpoint(self, step: int, state: Mapping[str, Any]) -> None:
        """From here a killed run goes on."""
        with writing(self.path):
            self._base.execute("INSERT OR REPLACE INTO checkpoint VALUES (1, ?, ?)", (step, pack(state)))
        self.commit()

    def commit(self) -> None:
        """From here on readers see what there is."""
        with writing(self.path):
            self._base.execute("COMMIT")
            self._base.execute("BEGIN IMMEDIATE")

    def state(self) -> tuple[int, Any] | None:
        """The last checkpoint: its step, and what was given with it."""
        found = self._base.execute("SELECT step, state FROM checkpoint").fetchone()
        return None if found is None else (found[0], unpack(found[1]))

    def fingerprints(self) -> list[int]:
        """Of the findings until the last checkpoint."""
        found = self._base.execute(f"SELECT fingerprint FROM findings WHERE step <= {STOOD} ORDER BY id")
        return [key for (key,) in found]

    def tick(self, *snapshots: Mapping[str, Any]) -> None:
        """A line of statistics for each."""
        with writing(self.path):
            if self._stats is None:
                path = self.path / STATS
                fresh = not path.exists()
                self._stats = path.open("a", newline="", encoding="utf-8")
                if fresh:
                    csv.writer(self._stats).writerow(snapshots[0])
            csv.writer(self._stats).writerows(snapshot.values() for snapshot in snapshots)
            self._stats.flush()

    def discard(self) -> None:
        """A run that never began leaves nothing."""
        self.close()
        for name in (RUN, RESULT, BASE, f"{BASE}-wal", f"{BASE}-shm"):
            (self.path / name).unlink(missing_ok=True)
        for folder in (self.path / "findings", self.path):
            folder.rmdir()

    def close(self) -> None:
        """What came after the last checkpoint is not kept."""
        self._base.close()
        self._let_go()
        if self._stats is not None:
            self._stats.close()


def _json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2, default=str) + "\n"


def _number(row: str) -> float:
    """The first value of a line; one that is none is later than all others."""
    try:
        return float(row.partition(",")[0])
    except ValueError:
        return inf
