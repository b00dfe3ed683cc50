"""The run folder: what a run was, what it found, how it went. Written while the run goes on."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import torch
from torch import Tensor

from nnfuzz.errors import NnfuzzError
from nnfuzz.picture import as_image
from nnfuzz.records import Kind, Step

FINDING = (
    "id",
    "kind",
    "image",
    "seed",
    "label",
    "seed_answer",
    "answer",
    "confidence",
    "mutation",
    "parameters",
    "parent",
)


def vacant(path: Path) -> None:
    """Refuse a folder that holds something, or could not be written."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise NnfuzzError(
            f"{path} already holds something and is left as it is; give another folder with --out, or remove it"
        )
    nearest = next(p for p in (path, *path.absolute().parents) if p.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise NnfuzzError(f"expected to write the run to {path} and {nearest} cannot be written to; give another --out")


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NnfuzzError(
            f"expected to write the run to {path} and came {error.strerror or error}; make room, or give another --out"
        ) from error


class RunFolder:
    """`run.json` says what was asked for, `findings/` holds every distinct finding as it was executed,
    `findings.csv` what is known of each, `stats.csv` the run second by second, `summary.json` the end."""

    def __init__(self, path: Path, operators: Sequence[tuple[str, int]] = ()) -> None:
        self.path = path
        self.count = 0
        self._operators = operators  # the name of each, and how many parameters it has
        self._stats: TextIO | None = None
        vacant(path)
        with _writing(path):
            (path / "findings").mkdir(parents=True)
            self._findings = self._open("findings.csv")
            self._rows = csv.writer(self._findings)
            self._rows.writerow(FINDING)

    def _open(self, name: str) -> TextIO:
        return (self.path / name).open("w", newline="", encoding="utf-8")

    def describe(self, configuration: Mapping[str, Any]) -> None:
        self._json("run.json", configuration)

    def summarise(self, result: Mapping[str, Any]) -> None:
        self._json("summary.json", result)

    def _json(self, name: str, content: Mapping[str, Any]) -> None:
        part = self.path / f".{name}.part"
        with _writing(self.path):
            part.write_text(json.dumps(content, indent=2, default=str) + "\n", encoding="utf-8")
            os.replace(part, self.path / name)  # a reader sees the old file or the new one, never half of one

    def add(self, step: Step, rows: Tensor) -> list[str]:
        """Write these rows of a step as findings; their image files come back."""
        with _writing(self.path):
            names = self._add(step, rows)
            self._findings.flush()
        return names

    def _add(self, step: Step, rows: Tensor) -> list[str]:
        found, logits = step.children[rows], step.seen.logits[0, rows]
        confidence, answer = logits.softmax(1).max(1)
        first = found.notes.get("answer", torch.full_like(answer, -1))
        op, param = found.notes.get("op"), found.notes.get("param")
        names = []
        for i, kind in enumerate(step.verdict[rows].tolist()):
            name = f"findings/{self.count:06d}-{Kind(kind).label}.png"
            as_image(found.x[i]).save(self.path / name, compress_level=1)
            mutation, width = self._operators[int(op[i])] if op is not None and op[i] >= 0 else ("", 0)
            values = " ".join(f"{v:g}" for v in param[i, :width].tolist()) if param is not None else ""
            self._rows.writerow([
                self.count, Kind(kind).label, name, int(found.seed[i]), int(found.label[i]), int(first[i]),
                int(answer[i]), f"{confidence[i].item():.4f}", mutation, values, int(found.parent[i]),
            ])  # fmt: skip
            names.append(name)
            self.count += 1
        return names

    def tick(self, snapshot: Mapping[str, Any]) -> None:
        """One line of statistics."""
        with _writing(self.path):
            if self._stats is None:
                self._stats = self._open("stats.csv")
                csv.writer(self._stats).writerow(snapshot)
            csv.writer(self._stats).writerow(snapshot.values())
            self._stats.flush()

    def close(self) -> None:
        self._findings.close()
        if self._stats is not None:
            self._stats.close()
