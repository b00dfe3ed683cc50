"""Table 4: the coverage of the initial seeds, and after a search guided by it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from nnfuzz.experiments.published import SUBJECTS, TABLE4, pair
from nnfuzz.experiments.table import NONE, Line, Result, Table, both, by_model, percent

COUNTED = (
    "Neurons: as the criteria are defined (for KMNC sections, for NBC two bounds a neuron). Cells: what feedback tells"
    " apart (section 3.4): tenths of an interval for NC, NBC and SNAC, a neuron at a rank for TKNC and BKNC."
)
COUNTS = {"neurons": "groups", "cells": "cells"}


def goal(published: str | None, criterion: str) -> float | None:
    """The share that the paper's search reached in a day."""
    figures = pair(TABLE4, published, criterion)
    return figures[1] / 100 if figures else None


def table(results: Sequence[Result]) -> Table:
    lines = []
    for model, runs in by_model(results).items():
        figures = {c: f for c, r in runs.items() if (f := pair(TABLE4, r["published"], c))}
        for index, (said, name) in enumerate(COUNTS.items()):
            ours = {c: percent(r[f"{name}_before"], r[f"{name}_after"]) for c, r in runs.items()}
            lines.append(Line("" if index else model, f"ours, {said}", ours))
        if not figures:
            continue
        lines.append(Line("", "paper", {c: f"{f[0]:g} → {f[1]:g}" for c, f in figures.items()}))
        for said, name in COUNTS.items():
            lines.append(Line("", f"passed, {said}", {c: _after(r[f"{name}_passed"]) for c, r in runs.items()}))
    if len(by_model(results)) > 1:
        lines += _means(results)
    criteria = list(dict.fromkeys(r["criterion"] for r in results))
    return Table("4", "Table 4: coverage (%) of the seeds → after the search", criteria, lines, _notes(results))


def _means(results: Sequence[Result]) -> list[Line]:
    """Over the models that have figures in the paper."""
    lines: list[Line] = []
    for said, name in COUNTS.items():
        means = both(results, partial(_pair, name), TABLE4)
        ours = {c: f"{a[0]:.2f} → {a[1]:.2f}" for c, a, _ in means}
        lines.append(Line("" if lines else "mean", f"ours, {said}", ours))
    paper = {c: f"{b[0]:.2f} → {b[1]:.2f}" for c, _, b in means}
    return [*lines, Line("", "paper", paper)]


def _pair(count: str, result: Result) -> tuple[float, float]:
    return 100 * result[f"{count}_before"], 100 * result[f"{count}_after"]


def _after(seconds: float | None) -> str:
    if seconds is None:
        return NONE
    return "seeds" if seconds == 0 else f"{seconds:.1f} s"


def _notes(results: Sequence[Result]) -> list[str]:
    notes = [COUNTED]
    for model, runs in by_model(results).items():
        first = next(iter(runs.values()))
        subject = SUBJECTS.get(first["published"] or "")
        if subject and subject.neurons != first["neurons"]:
            notes.append(f"{model}: {first['neurons']:,} neurons here, {subject.neurons:,} in the paper.")
    if any(r["published"] == "mobilenet" for r in results):
        notes.append("The paper's MobileNet is version 1; ours is version 2.")
    notes.append("Passed: when the paper's figure of 24 hours was passed; “seeds”: by the seeds alone.")
    return notes
