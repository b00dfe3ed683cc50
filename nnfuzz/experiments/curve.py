"""Lines over a whole number, as an SVG picture that stands alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 60, 130, 40, 50  # margins; the lines' names stand in the right one
COLOURS = ("#0b6e75", "#b3541e", "#5b4b9a", "#2e7d32", "#a3293d", "#7a6a12", "#555")
APART = 16  # of two names

Points = Sequence[tuple[float, float]]


def svg(title: str, across: str, lines: Mapping[str, Points]) -> str:
    """Shares up, from a round number below the lowest to one above the highest."""
    every = [point for points in lines.values() for point in points]
    first, last = min(x for x, _ in every), max(x for x, _ in every)
    shares = _ticks(min(y for _, y in every), max(y for _, y in every))
    low, high = shares[0], shares[-1]

    def place(x: float, y: float) -> tuple[float, float]:
        along, up = (x - first) / ((last - first) or 1), (y - low) / (high - low)
        return LEFT + along * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    parts = [_text(LEFT, 22, title, "start", 15)]
    for share in shares:
        _, y = place(first, share)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(_text(LEFT - 8, y + 4, f"{100 * share:g}%", "end"))
    for x in sorted({round(first + (last - first) * i / 4) for i in range(5)}):
        parts.append(_text(place(x, low)[0], HEIGHT - BOTTOM + 18, str(x), "middle"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, across, "middle"))
    parts += _drawn({name: [place(*point) for point in points] for name, points in lines.items()})
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">'
    return "\n".join([head, f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>', *parts, "</svg>"]) + "\n"


def _ticks(low: float, high: float) -> list[float]:
    """At most seven round shares, the first not above `low`, the last not below `high`."""
    for step in (1, 2, 5, 10, 20):
        first, last = floor(100 * low / step), max(ceil(100 * high / step), floor(100 * low / step) + 1)
        if last - first <= 6:
            break
    return [number * step / 100 for number in range(first, last + 1)]


def _drawn(paths: Mapping[str, Points]) -> list[str]:
    parts = []
    colour = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(paths)}
    height = _apart({name: path[-1][1] for name, path in paths.items()})
    for name, path in paths.items():
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in path)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour[name]}" stroke-width="2"/>')
        parts.append(_text(path[-1][0] + 8, height[name] + 4, name, "start", 12, colour[name]))
    return parts


def _apart(ends: Mapping[str, float]) -> dict[str, float]:
    """Where the names stand: beside the ends of their lines, none on another, all of them inside."""
    places, lowest = dict[str, float](), HEIGHT - BOTTOM + 0.0
    ordered = sorted(ends, key=lambda name: -ends[name])  # from the bottom up
    for left, name in zip(reversed(range(len(ends))), ordered, strict=True):
        places[name] = max(min(ends[name], lowest), TOP + left * APART)
        lowest = places[name] - APART
    return places


def _text(x: float, y: float, text: str, anchor: str, size: int = 12, fill: str = "#333") -> str:
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{fill}"'
    return f"<text {where}>{escape(text)}</text>"
