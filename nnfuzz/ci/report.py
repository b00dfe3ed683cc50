"""What is told of a run, and the words for it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from nnfuzz.gate import Condition, Failed
from nnfuzz.records import Finding, Kind

LONGEST = 300  # characters of a model's own message
# What XML 1.0 forbids even escaped, half of a surrogate pair among it: control characters have no place in a report,
# nor have those that turn the direction of writing.
UNPRINTABLE = re.compile(
    r"[\u200e\u200f\u2028-\u202e\u2066-\u2069]|[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)


@dataclass(frozen=True)
class Report:
    """One run: its numbers, what it found and what was asked of it."""

    suite: str
    result: Mapping[str, Any]
    groups: tuple[tuple[Finding, int], ...]  # one that stands for each group, and how many are in it
    conditions: tuple[Condition, ...] = ()
    failed: tuple[Failed, ...] = ()
    run: str | None = None  # the folder that the findings' images are in
    classes: tuple[str, ...] = ()  # names of the labels, where they have some

    @classmethod
    def of(
        cls, suite: str, result: Mapping[str, Any], found: Iterable[Finding | tuple[Finding, int]],
        conditions: Iterable[Condition] = (), failed: Iterable[Failed] = (), run: str | None = None,
        classes: Sequence[str] = (),
    ) -> Report:  # fmt: skip
        """A finding that comes alone is a group of one; what failed was a condition."""
        groups = tuple((one, 1) if isinstance(one, Finding) else one for one in found)
        failed = tuple(failed)
        asked = dict.fromkeys((*conditions, *(one.condition for one in failed)))
        return cls(suite, result, groups, tuple(asked), failed, run, tuple(classes))

    @property
    def interrupted(self) -> bool:
        return bool(self.result["ended"] == "interrupted")

    @property
    def tolerated(self) -> bool:
        """There is a gate and it lets the findings pass."""
        return bool(self.conditions) and not self.failed and not self.interrupted

    def said(self, finding: Finding) -> str:
        return said(finding, self.classes)

    def image(self, finding: Finding) -> str:
        return f"{self.run}/{finding.image}" if self.run else finding.image

    def replay(self, finding: Finding) -> str | None:
        return replay(self.run, finding.id) if self.run else None


def said(finding: Finding, classes: Sequence[str] = ()) -> str:
    """What is wrong with an input, in one line."""
    rightly = f", rightly {_named(finding.right, classes)}," if finding.right >= 0 else ""
    doubted = ", doubtful" if finding.doubtful else ""
    return f"seed {finding.seed}{rightly} {_wrong(finding, classes)}{doubted}"


def _wrong(finding: Finding, classes: Sequence[str]) -> str:
    if finding.kind == Kind.RAISED.label:
        return f"makes the model raise {printable(finding.error)[:LONGEST] or 'an error'}"
    if finding.kind == Kind.HUNG.label:
        return "makes the model hang"
    if finding.kind == Kind.NOT_FINITE.label:
        return "is given scores that are not finite"
    pairs = zip(finding.answers, finding.confidences, strict=False)
    answers = [_named(answer, classes) + ("" if isnan(sure) else f" ({sure:.0%} sure)") for answer, sure in pairs]
    if finding.kind == Kind.REGRESSION.label and len(answers) == 2:
        return f"is answered {answers[0]} by the old version and {answers[1]} by the new one"
    return f"is answered {' and '.join(answers)}"


def _named(label: int, classes: Sequence[str]) -> str:
    return printable(classes[label]) if 0 <= label < len(classes) else str(label)


def replay(run: str, finding: int) -> str:
    """The command that runs a finding again."""
    return f"nnfuzz replay {shlex.quote(run)} {finding}"


def safe(text: str) -> str:
    """Text without what no report may hold."""
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def printable(text: str) -> str:
    """The same on one line."""
    return " ".join(safe(text).split())
