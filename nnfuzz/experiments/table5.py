"""Table 5: do the tests made for instance C tell the earlier instances A and B of its training apart?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nnfuzz.experiments.answers import answers
from nnfuzz.experiments.published import TABLE5, pair
from nnfuzz.experiments.runs import Run
from nnfuzz.experiments.table import Line, Result, Table, both, by_model, percent
from nnfuzz.target import Target


def measure(run: Run, earlier: Sequence[Target]) -> dict[str, Any]:
    """The accuracy of A and B on the tests that C answers right."""
    if not len(run.x):
        return {"accuracy_on_tests": None, "ranked": None}
    a, b = (float((answers(target, run.x) == run.label).double().mean()) for target in earlier)
    return {"accuracy_on_tests": (a, b), "ranked": a < b}


def table(results: Sequence[Result]) -> Table:
    lines, notes = [], []
    for model, runs in by_model(results).items():
        ours = {c: r["accuracy_on_tests"] for c, r in runs.items()}
        lines.append(Line(model, "ours", {c: percent(*f) for c, f in ours.items() if f}))
        figures = {c: pair(TABLE5, r["published"], c) for c, r in runs.items()}
        if any(figures.values()):
            lines.append(Line("", "paper", {c: f"{f[0]:.1f} → {f[1]:.1f}" for c, f in figures.items() if f}))
        lines.append(Line("", "A < B", {c: "yes" if r["ranked"] else "no" for c, r in runs.items()}))
        notes.append(_note(model, next(iter(runs.values()))))
    if len(by_model(results)) > 1:
        means = both(results, _percents, TABLE5)
        lines.append(Line("mean", "ours", {c: f"{a[0]:.2f} → {a[1]:.2f}" for c, a, _ in means}))
        lines.append(Line("", "paper", {c: f"{b[0]:.2f} → {b[1]:.2f}" for c, _, b in means}))
    criteria = list(dict.fromkeys(r["criterion"] for r in results))
    title = "Table 5: accuracy (%) of instances A → B on the generated tests that C answers right"
    return Table("5", title, criteria, lines, notes)


def _percents(result: Result) -> tuple[float, float] | None:
    figures = result["accuracy_on_tests"]
    return (100 * figures[0], 100 * figures[1]) if figures else None


def _note(model: str, result: Result) -> str:
    shown = ", ".join(
        f"{letter} {percent(right)} % after {epoch} epoch{'s'[: epoch != 1]}"
        for letter, right, epoch in zip("ABC", result["accuracy_on_data"], result["epochs"], strict=True)
    )
    return f"{model}, accuracy on the test images: {shown}."
