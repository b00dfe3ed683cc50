"""Line charts: where everything goes, in the units of an SVG. The template draws it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, isfinite, log10
from typing import Any

from markupsafe import Markup

from nnfuzz.report.words import duration

WIDTH, HEIGHT = 460, 260
LEFT, RIGHT, TOP, BOTTOM = 52, 92, 30, 40  # margins; the names of the lines stand in the right one
MOST = 300  # points of a line: more cannot be seen
APART = 15  # of two names of lines at least

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Tick:
    at: float
    text: str


@dataclass(frozen=True)
class Line:
    path: Markup
    x: float  # of its end
    y: float
    label_y: float
    texts: tuple[str, ...]  # the last value, and the name if there are several lines


@dataclass(frozen=True)
class Chart:
    id: str
    title: str
    description: str
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    across_unit: str
    up_unit: str
    lines: tuple[Line, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT
    top: int = TOP
    bottom: int = HEIGHT - BOTTOM


def findings_chart(history: Sequence[Mapping[str, float]]) -> Chart | None:
    """Distinct findings over time; all findings where the distinct ones were not counted."""
    key = "distinct_findings" if any("distinct_findings" in row for row in history) else "findings"
    lines = {"findings": column(history, key, 0)}
    return draw("findings", "Findings over time", "distinct inputs" if key != "findings" else "inputs", lines, False)


def coverage_chart(history: Sequence[Mapping[str, float]], result: Mapping[str, Any]) -> Chart | None:
    """What each criterion of the result saw, from what the seeds had covered on."""
    lines = {name: column(history, name, cover["before"]) for name, cover in result["coverage"].items()}
    which = f"{next(iter(lines))[:8]}: " if len(lines) == 1 else ""
    return draw("coverage", "Coverage over time", f"{which}share of all units", lines, True)


def column(history: Sequence[Mapping[str, float]], key: str, start: float) -> Points:
    """(seconds, value) of the rows that have both."""
    rows = [(row["seconds"], row[key]) for row in history if "seconds" in row and key in row]
    sound = [row for row in rows if 0 <= row[0] < 1e15 and isfinite(row[1])]
    begun = [(0.0, float(start))] if sound and sound[0][0] > 0 else []
    return thinned([*begun, *sound])


def thinned(points: Points, most: int = MOST) -> Points:
    """Every so many of them, the first and the last among them."""
    if len(points) <= most:
        return points
    return [points[round(i * (len(points) - 1) / (most - 1))] for i in range(most)]


def steps(high: float, whole: bool = False) -> list[float]:
    """0, and up to five round numbers that reach `high`."""
    if high <= 0:
        return [0.0, 1.0]
    size = 10.0 ** floor(log10(high / 5))
    size = next(size * times for times in (1, 2, 5, 10) if size * times * 5 >= high * (1 - 1e-9))
    if whole:
        size = max(1.0, size)
    return [i * size for i in range(ceil(high / size - 1e-9) + 1)]


def draw(id: str, title: str, unit: str, series: Mapping[str, Points], shares: bool) -> Chart | None:
    """A chart of these lines from 0 on; None if there is nothing to draw."""
    series = {name: points for name, points in series.items() if points}
    if not series:
        return None
    last = max(points[-1][0] for points in series.values()) or 1.0
    up = steps(max(value for points in series.values() for _, value in points), whole=not shares)
    size, across_unit = next((s, u) for s, u, least in ((3600, "hours", 7200), (60, "minutes", 120), (1, "seconds", 0))
                             if last >= least)  # fmt: skip
    across = [step for step in steps(last / size) if step * size <= last * (1 + 1e-9)]

    def place(seconds: float, value: float) -> tuple[float, float]:
        return (round(LEFT + seconds / last * (WIDTH - LEFT - RIGHT), 1),
                round(HEIGHT - BOTTOM - value / up[-1] * (HEIGHT - TOP - BOTTOM), 1))  # fmt: skip

    written = {name: _amount(points[-1][1], shares) for name, points in series.items()}
    return Chart(
        id, title, _described(series, written, last),
        tuple(Tick(place(step * size, 0)[0], f"{step:,.4g}") for step in across),
        tuple(Tick(place(0, step)[1], f"{step * 100:.4g}%" if shares else _short(step)) for step in up),
        across_unit, unit,
        tuple(_lines([[place(*point) for point in points] for points in series.values()], series, written)),
    )  # fmt: skip


def _lines(paths: Sequence[Points], names: Mapping[str, object], written: Mapping[str, str]) -> list[Line]:
    heights = _spread([path[-1][1] for path in paths])
    return [
        Line(Markup(" ".join(f"{x:g},{y:g}" for x, y in path)), *path[-1], height,
             (written[name],) if len(paths) == 1 else (written[name], name[:8]))
        for path, height, name in zip(paths, heights, names, strict=True)
    ]  # fmt: skip


def _spread(heights: Sequence[float]) -> list[float]:
    """Heights for names beside the ends of lines, moved apart where two would cover each other."""
    placed = list(heights)
    order = sorted(range(len(placed)), key=placed.__getitem__)
    for above, below in pairwise(order):
        placed[below] = max(placed[below], placed[above] + APART)
    limit = float(HEIGHT - BOTTOM)
    for i in reversed(order):
        placed[i] = min(placed[i], limit)
        limit = placed[i] - APART
    return placed


def _amount(value: float, shares: bool) -> str:
    return f"{value:.1%}" if shares else f"{value:,.0f}"


def _short(value: float) -> str:
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**5, "k")):
        if value >= size:
            return f"{value / (1000 if unit == 'k' else size):,.4g}{unit}"
    return f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"


def _described(series: Mapping[str, Points], written: Mapping[str, str], last: float) -> str:
    said = ", ".join(f"{name} {written[name]}" for name in series)
    return f"After {duration(last)}: {said}."
