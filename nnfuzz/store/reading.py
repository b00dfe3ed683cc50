"""A run folder for those who come later: replay, triage, minimisation, reports. Nothing in it is trusted."""

from __future__ import annotations

import csv
import json
import sqlite3
from contextlib import closing
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nnfuzz.errors import NnfuzzError
from nnfuzz.records import Finding, Kind, Mutation
from nnfuzz.store import distrust, inputs, schema
from nnfuzz.store.packing import unpack
from nnfuzz.store.writing import BASE, RESULT, RUN, STATS

COLUMNS = (
    "id", "kind", "image", "seed", "label", "seed_answers", "answers", "confidences", "mutations", "repeated",
    "asked", "seconds", "error", "doubtful",
)  # fmt: skip
COUNTERS = (
    "step", "tries", "executed", "findings", "distinct_findings", "seeds_hit", "corpus", "flaky", "coverage",
)  # fmt: skip


class Run:
    """What a run folder holds as of its last checkpoint."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._shape: tuple[int, ...] | None = None
        distrust.only_plain(path)
        with closing(self._base()):
            pass  # refuse a damaged or newer one at once
        self.configuration = self._json(RUN)

    def _base(self) -> sqlite3.Connection:
        return schema.read(self.path / BASE)

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(self._base()) as base:
            try:
                return base.execute(query, values).fetchall()
            except sqlite3.Error as error:
                raise self._damaged(str(error)) from error

    def _damaged(self, came: str) -> NnfuzzError:
        return NnfuzzError(f"expected a whole run in {self.path} and came {came}; it is left as it is")

    def _json(self, name: str) -> dict[str, Any]:
        try:
            if (self.path / name).stat().st_size > distrust.LARGEST:
                raise ValueError("too large")
            content = json.loads((self.path / name).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise self._damaged(f"{type(error).__name__} in {name}") from error
        if not isinstance(content, dict):
            raise self._damaged(f"no object in {name}")
        return content

    def verify(self) -> None:
        """Refuse a configuration or a result in which something is missing, or of another type."""
        for name, content, shape in (
            (RUN, self.configuration, distrust.CONFIGURATION), (RESULT, self.result, distrust.RESULT),
        ):  # fmt: skip
            if wrong := content and distrust.misfit(content, shape):
                raise self._damaged(f"{wrong} in {name}")

    @property
    def result(self) -> dict[str, Any]:
        """The numbers at the end, or at the last checkpoint; none before the first one."""
        return self._json(RESULT) if (self.path / RESULT).exists() else {}

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        rows = self._rows(f"SELECT {', '.join(COLUMNS)} FROM findings ORDER BY id")
        return tuple(self._finding(dict(zip(COLUMNS, row, strict=True))) for row in rows)

    def _finding(self, row: dict[str, Any]) -> Finding:
        try:
            for name in ("seed_answers", "answers"):
                row[name] = tuple(int(value) for value in json.loads(row[name]))
            row["confidences"] = tuple(float(value) for value in json.loads(row["confidences"]))
            row["mutations"] = tuple(
                Mutation(str(name), tuple(map(float, param))) for name, *param in json.loads(row["mutations"])
            )
            for name in ("id", "seed", "label", "repeated", "asked"):
                row[name] = int(row[name])
            row["doubtful"] = None if row["doubtful"] is None else bool(int(row["doubtful"]))
            row["seconds"], row["error"], row["kind"] = float(row["seconds"]), str(row["error"]), str(row["kind"])
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise self._damaged(f"a finding that says {str(error)[:100]}") from error
        if not inputs.NAME.fullmatch(str(row["image"])):
            raise self._damaged(f"a finding at {str(row['image'])[:100]!r}")
        finding = Finding(**row)
        if not _possible(finding):
            raise self._damaged(f"a finding {finding.id} that cannot be")
        return finding

    def chosen(self, ids: tuple[int, ...]) -> tuple[Finding, ...]:
        """The findings of these ids; none given: all."""
        known = {finding.id: finding for finding in self.findings}
        unknown = [i for i in ids if i not in known]
        if unknown:
            there = f"0 to {max(known)}" if known else "none"
            raise NnfuzzError(f"expected ids of findings in {self.path} ({there}), and came {unknown[0]}")
        return tuple(known[i] for i in ids) if ids else self.findings

    def pixels(self, finding: Finding) -> Tensor:
        """The input itself, as it was executed."""
        return self._alike(inputs.load(self.path, finding.image), finding.image)

    def _alike(self, x: Any, name: str) -> Tensor:
        """Pixels in the shape of all others of the run."""
        if not isinstance(x, Tensor) or x.dtype != torch.uint8 or x.dim() != 3 or not x.numel():
            raise self._damaged(f"no image ({name})")
        self._shape = self._shape or tuple(x.shape)
        if x.shape != self._shape:
            raise self._damaged(f"images of {list(self._shape)} and of {list(x.shape)} ({name})")
        return x

    def original(self, seed: int) -> Tensor:
        """The image that a finding began with."""
        found = self._rows("SELECT x FROM seeds WHERE seed = ?", seed)
        return self._alike(unpack(found[0][0]) if found else None, f"seed {seed}")

    def originals(self, most: int) -> Tensor:
        """Some of the clean images, of as many seeds."""
        rows = self._rows("SELECT seed FROM seeds ORDER BY seed")
        some = [rows[i * len(rows) // min(most, len(rows))][0] for i in range(min(most, len(rows)))]
        return torch.stack([self.original(seed) for seed in some]) if some else torch.empty(0)

    def features(self) -> Tensor:
        """[findings, D] what the model saw in each, in its layer before the scores."""
        blobs = [blob for (blob,) in self._rows("SELECT features FROM findings ORDER BY id")]
        if not all(isinstance(blob, bytes) and len(blob) % 4 == 0 for blob in blobs):
            raise self._damaged("features that are no numbers")
        rows = [torch.frombuffer(bytearray(b), dtype=torch.float32) if b else torch.empty(0) for b in blobs]
        if len({len(row) for row in rows}) > 1:
            raise self._damaged("features of different widths")
        return torch.stack(rows) if rows else torch.empty(0, 0)

    def steps(self) -> list[dict[str, Any]]:
        """The counters after every turn: what an uninterrupted run and a resumed one share."""
        rows = self._rows(f"SELECT {', '.join(COUNTERS)} FROM steps ORDER BY step")
        return [dict(zip(COUNTERS, row, strict=True)) for row in rows]

    def history(self) -> list[dict[str, float]]:
        """stats.csv in numbers."""
        path = self.path / STATS
        if not path.exists():
            return []
        try:
            with path.open(newline="", encoding="utf-8") as file:
                return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]
        except (OSError, ValueError, TypeError, csv.Error) as error:
            raise self._damaged(f"{type(error).__name__} in {STATS}") from error


def _possible(finding: Finding) -> bool:
    """Could a run have written this?"""
    return (
        finding.kind in {kind.label for kind in Kind if kind}
        and min(finding.id, finding.seed, finding.repeated, finding.label + 1) >= 0
        and finding.repeated <= finding.asked
        and len(finding.answers) == len(finding.confidences) > 0 < len(finding.seed_answers)
        and all(-1 <= answer < 1 << 31 for answer in (finding.label, *finding.answers, *finding.seed_answers))
        and isfinite(finding.seconds)
    )
