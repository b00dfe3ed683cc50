"""A table that has our figures and the published ones in turn, as plain values, Markdown, and lines for a screen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from nnfuzz.experiments.published import CRITERIA, Row, pair

NONE = "–"
Pair = tuple[float, float]
Means = tuple[str, Pair, Pair]  # criterion, ours, the paper's


@dataclass(frozen=True)
class Line:
    """One row: whose figures of which model, by criterion."""

    model: str
    whose: str
    cells: Mapping[str, str]


@dataclass(frozen=True)
class Table:
    number: str
    title: str
    columns: Sequence[str]
    lines: Sequence[Line]
    notes: Sequence[str] = ()

    @property
    def head(self) -> list[str]:
        return ["", "", *(name.upper() if name in CRITERIA else name for name in self.columns)]

    def rows(self) -> list[list[str]]:
        return [[line.model, line.whose, *(line.cells.get(c, NONE) for c in self.columns)] for line in self.lines]

    def markdown(self) -> str:
        rows = [self.head, ["---"] * len(self.head), *self.rows()]
        body = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        return "\n\n".join([f"## {self.title}", body, *self.notes]) + "\n"

    def plain(self) -> dict[str, Any]:
        return asdict(self)


Result = Mapping[str, Any]  # what one run gave, in plain values


def percent(*shares: float) -> str:
    """Shares of one; two decimals, since a boundary neuron more may be all that changed."""
    return " → ".join(f"{100 * share:.2f}" for share in shares)


def by_model(results: Sequence[Result]) -> dict[str, dict[str, Result]]:
    """Model -> criterion -> result, in the order they were run."""
    found: dict[str, dict[str, Result]] = {}
    for result in results:
        found.setdefault(result["model"], {})[result["criterion"]] = result
    return found


def both(results: Sequence[Result], ours: Callable[[Result], Pair | None], table: Mapping[str, Row]) -> list[Means]:
    """For each criterion, the pairs of figures averaged over the models that have both ours and the paper's."""
    means = []
    for criterion in dict.fromkeys(r["criterion"] for r in results):
        pairs = [(ours(r), pair(table, r["published"], criterion)) for r in results if r["criterion"] == criterion]
        whole = [(a, b) for a, b in pairs if a and b]
        if whole:
            first, second = zip(*whole, strict=True)
            means.append((criterion, _mean(first), _mean(second)))
    return means


def _mean(pairs: Sequence[Pair]) -> Pair:
    return sum(a for a, _ in pairs) / len(pairs), sum(b for _, b in pairs) / len(pairs)
