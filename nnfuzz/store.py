"""The run folder: what a run was, what it found, how it went. Written while the run goes on."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

from torch import Tensor

from nnfuzz.errors import NnfuzzError
from nnfuzz.picture import as_image
from nnfuzz.records import Kind, Step

FINDING = ("id", "kind", "image", "seed", "label", "answer", "confidence", "mutation", "parameters", "parent")


class RunFolder:
    """`run.json` says what was asked for, `findings/` holds every distinct finding as it was executed,
    `findings.csv` what is known of each, `stats.csv` the run second by second, `summary.json` the end."""

    def __init__(self, path: Path, operators: tuple[str, ...] = ()) -> None:
        self.path = path
        self.count = 0
        self._operators = operators
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise NnfuzzError(
                f"{path} already holds something and is left as it is; give another folder with --out, or remove it"
            )
        (path / "findings").mkdir(parents=True)
        self._findings = self._open("findings.csv")
        self._rows = csv.writer(self._findings)
        self._rows.writerow(FINDING)
        self._stats: TextIO | None = None

    def _open(self, name: str) -> TextIO:
        return (self.path / name).open("w", newline="", encoding="utf-8")

    def describe(self, configuration: Mapping[str, Any]) -> None:
        self._json("run.json", configuration)

    def summarise(self, result: Mapping[str, Any]) -> None:
        self._json("summary.json", result)

    def _json(self, name: str, content: Mapping[str, Any]) -> None:
        part = self.path / f".{name}.part"
        part.write_text(json.dumps(content, indent=2, default=str) + "\n", encoding="utf-8")
        os.replace(part, self.path / name)  # a reader sees the old file or the new one, never half of one

    def add(self, step: Step, rows: Tensor) -> list[str]:
        """Write these rows of a step as findings; their image files come back."""
        found, logits = step.children[rows], step.seen.logits[0, rows]
        confidence, answer = logits.softmax(1).max(1)
        op, param = found.notes.get("op"), found.notes.get("param")
        names = []
        for i, kind in enumerate(step.verdict[rows].tolist()):
            name = f"findings/{self.count:06d}-{Kind(kind).label}.png"
            as_image(found.x[i]).save(self.path / name, compress_level=1)
            mutation = self._operators[int(op[i])] if op is not None and op[i] >= 0 else ""
            values = " ".join(f"{v:g}" for v in param[i].tolist()) if param is not None else ""
            self._rows.writerow([
                self.count, Kind(kind).label, name, int(found.seed[i]), int(found.label[i]), int(answer[i]),
                f"{confidence[i].item():.4f}", mutation, values, int(found.parent[i]),
            ])  # fmt: skip
            names.append(name)
            self.count += 1
        self._findings.flush()
        return names

    def tick(self, snapshot: Mapping[str, Any]) -> None:
        """One line of statistics."""
        if self._stats is None:
            self._stats = self._open("stats.csv")
            csv.writer(self._stats).writerow(snapshot)
        csv.writer(self._stats).writerow(snapshot.values())
        self._stats.flush()

    def close(self) -> None:
        self._findings.close()
        if self._stats is not None:
            self._stats.close()
