"""The gallery: pictures small enough to be carried inside the page, and what stands beside each."""

from __future__ import annotations

import base64
import io
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

from markupsafe import Markup
from torch import Tensor
from torch.nn import functional

from nnfuzz.picture import as_image, difference
from nnfuzz.records import Finding
from nnfuzz.report import words

if TYPE_CHECKING:
    from nnfuzz.report.page import Shown

MOST = 60  # groups shown
SIDES = (224, 160, 112)  # of a picture at most; the first at which all of them should fit into the budget
BUDGET = 3_200_000  # characters of all pictures together, so that the page stays within 5 MB
SMALL = 96  # a side up to which an image is enlarged in whole pixels
LINEAGE = 12  # mutations told of one finding
MODELS = 8
DOUBT = {True: "doubtful: independent models read it otherwise", False: "undoubted", None: ""}


@dataclass(frozen=True)
class Picture:
    uri: Markup
    width: int
    height: int
    alt: str
    small: bool


Three = tuple[Picture, Picture, Picture]  # seed, input, difference


@dataclass(frozen=True)
class Answer:
    """What one model said."""

    model: str  # just "answered" if there is only one
    answer: str
    sure: str
    wrong: bool


@dataclass(frozen=True)
class Card:
    finding: Finding
    right: str
    given: str
    size: int
    seeds: int
    plausibility: str
    pictures: Three
    most: int  # that a pixel was changed by
    before: tuple[Answer, ...]
    after: tuple[Answer, ...]
    changes: tuple[str, ...]
    unsaid: int  # more mutations than are told
    again: str  # what came of running it again
    doubt: str  # what independent models make of it, if they were asked
    replay: str


def gallery(groups: Sequence[Shown], classes: Sequence[str], models: Sequence[str], run: str) -> list[Card]:
    """As many of the first groups as the page can carry."""
    some, left, cards = groups[:MOST], BUDGET, []
    # Images of one run are alike in size, so the first tells how large all of them may be.
    fits = (side for side in SIDES if some and _weight(_drawn(some[0], side)) * len(some) <= BUDGET)
    side = next(fits, SIDES[-1])
    for shown in some:
        three = _drawn(shown, side)
        left -= _weight(three)
        if left < 0:
            break
        cards.append(_card(shown, three, classes, models, run))
    return cards


def _drawn(shown: Shown, side: int) -> Three:
    # What is seen as the difference is that of what is seen.
    before, after = _displayed(shown.seed, side), _displayed(shown.x, side)
    small = max(shown.x.shape[1:]) <= SMALL
    return (
        picture(before, "the seed", small),
        picture(after, "the input", small),
        picture(difference(before, after), "what changed", small),
    )


def _weight(pictures: Three) -> int:
    return sum(len(each.uri) for each in pictures)


def _displayed(x: Tensor, side: int) -> Tensor:
    """The image itself, or its shrunk copy of at most `side` pixels a side."""
    times = side / max(x.shape[1:])
    if times >= 1:
        return x
    size = [max(1, round(length * times)) for length in x.shape[1:]]
    return functional.interpolate(x[None].float(), size, mode="area")[0].round().to(x.dtype)


def picture(x: Tensor, alt: str, small: bool) -> Picture:
    """As a PNG in a data URI."""
    buffer = io.BytesIO()
    as_image(x).save(buffer, "PNG", compress_level=9)
    coded = base64.b64encode(buffer.getvalue()).decode()
    return Picture(Markup("data:image/png;base64,") + Markup(coded), x.shape[2], x.shape[1], alt, small)


def _card(shown: Shown, pictures: Three, classes: Sequence[str], models: Sequence[str], run: str) -> Card:
    finding = shown.finding
    return Card(
        finding,
        words.name(finding.right, classes),
        words.name(finding.answer, classes, "no answer"),
        shown.size,
        shown.seeds,
        f"{shown.plausibility:.2f}" if isfinite(shown.plausibility) else "",
        pictures,
        int((shown.x.int() - shown.seed.int()).abs().max()),
        answers(finding.seed_answers, (), finding.right, classes, models),
        answers(finding.answers, finding.confidences, finding.right, classes, models),
        tuple(words.lineage(finding.mutations[:LINEAGE])),
        max(0, len(finding.mutations) - LINEAGE),
        _again(finding),
        DOUBT[finding.doubtful],
        f"nnfuzz replay {shlex.quote(run)} {finding.id}" if run else "",
    )


def answers(
    labels: Sequence[int], confidences: Sequence[float], right: int, classes: Sequence[str], models: Sequence[str]
) -> tuple[Answer, ...]:
    """One entry a model; two models are an old one and a new one."""
    names = ("old", "new") if len(models) == 2 else tuple(models)
    said = []
    for i, label in enumerate(labels[:MODELS]):
        name = (names[i] if i < len(names) else f"model {i + 1}") if len(labels) > 1 else "answered"
        sure = words.share(confidences[i]) if label >= 0 and i < len(confidences) else ""
        said.append(Answer(name, words.name(label, classes, "no answer"), sure, label != right))
    return tuple(said)


def _again(finding: Finding) -> str:
    if not finding.asked:
        return "not run again"
    times = f"{finding.repeated} of {finding.asked}"
    return f"confirmed, {times}" if finding.confirmed else f"flaky, {times}"
