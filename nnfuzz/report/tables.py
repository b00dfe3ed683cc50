"""What was counted over all findings: what was taken for what, and which mutations did it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt

from nnfuzz.records import Finding
from nnfuzz.report.words import name, share

MOST = 12  # classes a side
OTHER = -2  # stands for all classes that are not shown
SHADES = 9


@dataclass(frozen=True)
class Cell:
    count: int
    shade: int  # 0 = nothing … SHADES = the most frequent
    right: bool  # on the diagonal


@dataclass(frozen=True)
class Row:
    name: str
    cells: tuple[Cell, ...]
    total: int


@dataclass(frozen=True)
class Confusion:
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    totals: tuple[int, ...]
    classes: int  # right ones that occur
    answers: int  # wrong ones that occur
    cut: bool
    long: bool  # names of columns that do not fit across


@dataclass(frozen=True)
class Bar:
    name: str
    count: int
    share: str  # of all findings
    width: float  # in percent of the longest


def confusion(findings: Sequence[Finding], classes: Sequence[str]) -> Confusion | None:
    """A table of right and given answers, of the most frequent ones only where there are many."""
    if not findings:
        return None
    pairs = Counter((finding.right, finding.answer) for finding in findings)
    rights, answers = Counter[int](), Counter[int]()
    for (right, answer), count in pairs.items():
        rights[right] += count
        answers[answer] += count
    square = len(rights | answers) <= MOST
    down, across = (_axis(rights | answers if square else side) for side in (rights, answers))
    table = Counter[tuple[int, int]]()
    for (right, answer), count in pairs.items():
        table[right if right in down else OTHER, answer if answer in across else OTHER] += count
    most = max(table[place] for place in table if OTHER not in place) if any(OTHER not in p for p in table) else 1
    columns = tuple(_named(answer, classes, "no answer") for answer in across)
    return Confusion(
        columns,
        tuple(_row(_named(right, classes, "unknown"), right, across, table, most) for right in down),
        tuple(sum(table[right, answer] for right in down) for answer in across),
        len(rights), len(answers), OTHER in (*down, *across), max(map(len, columns)) > 3,
    )  # fmt: skip


def _axis(counts: Counter[int]) -> list[int]:
    if len(counts) <= MOST:
        return sorted(counts)
    return [*(label for label, _ in counts.most_common(MOST)), OTHER]


def _named(label: int, classes: Sequence[str], unknown: str) -> str:
    return "other" if label == OTHER else name(label, classes, unknown)


def _row(name: str, right: int, across: Sequence[int], table: Counter[tuple[int, int]], most: int) -> Row:
    counts = [table[right, answer] for answer in across]
    cells = tuple(
        # The root, or one frequent confusion would leave all others white.
        Cell(count, 0 if OTHER in (right, answer) else ceil(SHADES * sqrt(count / most)), right == answer != OTHER)
        for count, answer in zip(counts, across, strict=True)
    )
    return Row(name, cells, sum(counts))


def operators(findings: Sequence[Finding]) -> list[Bar]:
    """Findings with each operator in their lineage, most frequent first."""
    counts = Counter(op for finding in findings for op in {step.operator for step in finding.mutations})
    ranked = counts.most_common(2 * MOST)
    return [
        Bar(name.replace("_", " "), count, share(count / len(findings)), round(100 * count / ranked[0][1], 2))
        for name, count in ranked
    ]
