"""Numbers, names and mutations as people read them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from math import isfinite
from pathlib import PurePath
from typing import Any

from markupsafe import Markup

from nnfuzz.records import Finding, Kind, Mutation

NAMED = 40  # characters of a model in a sentence
WEIGHTS = (".safetensors", ".pt", ".pth")
LONGEST = 1000  # characters of any one text: a page has to stay small whatever is put in
WENT_WRONG = {
    Kind.MISCLASSIFIED.label: "answered wrongly",
    Kind.CHANGED.label: "answered differently",
    Kind.NOT_FINITE.label: "with scores that are not finite",
    Kind.RAISED.label: "on which the model raised an error",
    Kind.DISAGREEING.label: "on which the models disagree",
    Kind.HUNG.label: "on which the model hung",
}
ENDED = {
    "time": "Ended when the time was up.",
    "tries": "Ended when all tries were made.",
    "interrupted": "Interrupted before its end.",
    "not yet": "Not ended: this is what it was at its last checkpoint.",
}
BLURS = ("box 3", "box 4", "box 5", "Gaussian 3", "Gaussian 5", "Gaussian 7", "median 3", "median 5", "bilateral")
KERNELS = ("1×1", "1×2", "2×1", "2×2", "1×3", "3×1", "3×3")
NOISES = ("additive noise", "salt-and-pepper noise", "multiplicative noise")


def printable(value: object) -> object:
    """Text of bounded length that every encoder and browser takes; what is markup already stays as it is."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    text = short(value, LONGEST).encode("utf-8", "replace").decode()
    return "".join(c if c.isprintable() or c in "\n\t " else "\N{REPLACEMENT CHARACTER}" for c in text)


def short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    if seconds < 10:
        return f"{round(seconds, 2):.2g} s"
    for size, unit in ((7200, "h"), (120, "min")):
        if seconds >= size:
            return f"{seconds / (size / 2):.3g} {unit}"
    return f"{seconds:.0f} s"


def share(value: float) -> str:
    """A part of a whole, never rounded to all or nothing."""
    if not isfinite(value):
        return "scores not finite"
    if 0.995 <= value < 1:
        return ">99%"
    return "<1%" if 0 < value < 0.005 else f"{value:.0%}"


def name(label: int, classes: Sequence[str], unknown: str = "unknown") -> str:
    """A class as its data call it."""
    if label < 0:
        return unknown
    return classes[label] if label < len(classes) else str(label)


def verdict(result: Mapping[str, Any], models: Sequence[str] = ()) -> str:
    """The run in one line."""
    count, took = result["distinct_findings"], duration(result["seconds"])
    if not count:
        return f"Nothing found in {took}, {counted(result['tries'], 'try', 'tries')}"
    kinds = [kind for kind, found in result["kinds"].items() if found]
    wrong = _wrong(kinds[0], models) if len(kinds) == 1 else "that went wrong"
    started = result["seeds"] - result["seeds_set_aside"]
    inputs = counted(count, "distinct input")
    return f"{inputs} {wrong}, on {result['seeds_hit']:,} of {counted(started, 'image')}, in {took}"


def _wrong(kind: str, models: Sequence[str]) -> str:
    if kind == Kind.REGRESSION.label:
        old, new = map(called, models) if len(models) == 2 else ("the old version", "the new one")
        return f"that {old} reads right and {new} reads wrong"
    return WENT_WRONG.get(kind, kind)


def called(model: str) -> str:
    """The last part of a path, where most of them differ, without the ending of weights, in which they do not."""
    path = PurePath(model)
    return short((path.stem if path.suffix in WEIGHTS else path.name) or model, NAMED)


def ended(reason: str) -> str:
    return ENDED.get(reason, f"Ended: {reason}.".replace("..", "."))


def figures(result: Mapping[str, Any], findings: Sequence[Finding], groups: int) -> list[tuple[str, str, str]]:
    """(what, how much, beside what) of the numbers worth a look before anything else."""
    first = result["first_finding_seconds"]
    again = [finding for finding in findings if finding.asked]
    confirmed = sum(finding.confirmed for finding in again)
    kinds = {kind.replace("-", " "): count for kind, count in result["kinds"].items() if count}
    rows = [
        ("first finding", "none" if first is None else duration(first), "" if first is None else "of search"),
        ("tries", f"{result['tries']:,}", f"{result['tries_per_second']:,.0f} a second"),
        ("seeds set aside", f"{result['seeds_set_aside']:,}", "wrong before any change"),
    ]
    if groups:
        rows.append(("groups", f"{groups:,}", f"of {counted(len(findings), 'finding')}"))
    rows += _of_a_pair(result) + _doubts(result, findings)
    if again:
        rows.append(("confirmed", f"{confirmed:,}", f"{len(again) - confirmed:,} flaky"))
    if len(kinds) > 1:
        rows += [(kind, f"{count:,}", f"of {result['distinct_findings']:,}") for kind, count in kinds.items()]
    return rows


def _of_a_pair(result: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """What is counted of two versions."""
    beside = {
        "regression_faults": "different seeds and wrong classes",
        "regression_inputs": "right before, wrong now",
        "general_failures": "wrong now, whatever was before",
        "faults_in_seeds": "before any change",
    }
    rows = []
    for what, meaning in beside.items():
        if what in result:
            distinct = result.get(f"{what}_distinct")
            more = "" if distinct is None or distinct == result[what] else f", {distinct:,} of them distinct"
            rows.append((what.replace("_", " "), f"{result[what]:,}", meaning + more))
    return rows


def _doubts(result: Mapping[str, Any], findings: Sequence[Finding]) -> list[tuple[str, str, str]]:
    asked = [finding.doubtful for finding in findings if finding.doubtful is not None]
    if not asked and result.get("doubtful_share") is None:
        return []
    part = result.get("doubtful_share")
    part = sum(asked) / len(asked) if part is None else part
    return [("doubtful", share(part), "no longer their label to independent models")]


def mutation(step: Mutation) -> str:
    """What was done to an image; an operator or parameters not known here keep their own notation."""
    try:
        said = _SAID[step.operator](*step.param)
    except (KeyError, TypeError, IndexError, ValueError, OverflowError):
        return str(step)
    return said


def lineage(steps: Sequence[Mutation]) -> list[str]:
    """Each step in words; the same words twice in a row are said once."""
    said = [(text, len(list(same))) for text, same in groupby(map(mutation, steps))]
    return [text if times == 1 else f"{text} {'twice' if times == 2 else f'{times} times'}" for text, times in said]


def _translation(dx: float, *dy: float) -> str:
    (down,) = dy or (dx,)
    sides = [f"{abs(dx):g} px {'right' if dx > 0 else 'left'}"] if dx else []
    sides += [f"{abs(down):g} px {'down' if down > 0 else 'up'}"] if down else []
    return f"moved {' and '.join(sides)}" if sides else "not moved"


def _rotation(degrees: float) -> str:
    return f"turned {abs(degrees):.3g}° {'anticlockwise' if degrees >= 0 else 'clockwise'}"


def _scale(factor: float) -> str:
    return f"{'enlarged' if factor > 1 else 'shrunk'} to {factor:.0%}"


def _brightness(shift: float) -> str:
    return f"{'darkened' if shift < 0 else 'brightened'} by {abs(shift):.3g}"


def _named(names: Sequence[str], form: str) -> Callable[..., str]:
    def say(kind: float, *_: float) -> str:
        if not 1 <= kind <= len(names):
            raise ValueError(kind)
        return form.format(names[int(kind) - 1])

    return say


_SAID: Mapping[str, Callable[..., str]] = {
    "translation": _translation,
    "rotation": _rotation,
    "scale": _scale,
    "shear": lambda factor: f"sheared by {factor:.3g}",
    "shear_from_the_top": lambda factor: f"sheared by {factor:.3g} from the top",
    "contrast": lambda factor: f"contrast × {factor:.3g}",
    "brightness": _brightness,
    "blur": _named(BLURS, "blurred ({})"),
    "noise": _named(NOISES, "{}"),
    "erode": _named(KERNELS, "eroded ({})"),
    "dilate": _named(KERNELS, "dilated ({})"),
    "reverse_patch": lambda *_: "a patch of 2×2 reversed",
    "white_patch": lambda *_: "a white patch of 2×2",
    "black_patch": lambda *_: "a black patch of 2×2",
    "gauss_noise": lambda variance, _: f"Gaussian noise of variance {variance:.3g}",
    "multiplicative_noise": lambda spread, _: f"multiplicative noise of spread {spread:.3g}",
    "saltpepper_noise": lambda share_, *_: f"salt and pepper on {share(share_)}",
    "pixel_change": lambda count, _: counted(int(count), "random pixel"),
}
