"""Table 6: how many different error-triggering tests a search finds."""

from __future__ import annotations

from collections.abc import Sequence

from nnfuzz.experiments.published import HOURS, TABLE6, single
from nnfuzz.experiments.table import Line, Result, Table, by_model


def table(results: Sequence[Result]) -> Table:
    lines = []
    for model, runs in by_model(results).items():
        lines.append(Line(model, "ours", {c: f"{r['distinct_findings']:,}" for c, r in runs.items()}))
        lines.append(Line("", "a second", {c: f"{_rate(r):,.1f}" for c, r in runs.items()}))
        figures = {c: single(TABLE6.get(r["published"] or ""), c) for c, r in runs.items()}
        if any(f is not None for f in figures.values()):
            whole = {c: f for c, f in figures.items() if f is not None}
            lines.append(Line("", "paper", {c: f"{1000 * f:,.0f}" for c, f in whole.items()}))
            lines.append(Line("", "a second", {c: f"{1000 * f / (3600 * HOURS):.3f}" for c, f in whole.items()}))
    criteria = list(dict.fromkeys(r["criterion"] for r in results))
    if len(by_model(results)) > 1:
        lines.append(Line("sum", "ours", {c: f"{_sum(results, c):,}" for c in criteria}))
    seconds = ", ".join(
        f"{model} {next(iter(runs.values()))['seconds']:.0f} s" for model, runs in by_model(results).items()
    )
    notes = [f"Search per criterion: {seconds} here, {HOURS:g} hours in the paper."]
    return Table("6", "Table 6: unique error-triggering tests", criteria, lines, notes)


def _rate(result: Result) -> float:
    return float(result["distinct_findings"] / max(result["seconds"], 1e-9))


def _sum(results: Sequence[Result], criterion: str) -> int:
    return sum(r["distinct_findings"] for r in results if r["criterion"] == criterion)
