"""What a report is made from, and the page that comes out."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from torch import Tensor

from nnfuzz.records import Finding
from nnfuzz.report import words
from nnfuzz.report.cards import gallery
from nnfuzz.report.charts import coverage_chart, findings_chart
from nnfuzz.report.tables import confusion, operators

ROWS = 60  # of the configuration


@dataclass(frozen=True, eq=False)
class Shown:
    """One finding with its pixels, standing for a group of findings like it."""

    finding: Finding
    x: Tensor  # uint8 [C,H,W]
    seed: Tensor  # uint8 [C,H,W], what `x` was made from
    size: int  # findings in the group
    seeds: int  # different originals among them
    plausibility: float  # NaN = not measured


@dataclass(frozen=True, eq=False)
class Page:
    """Everything that a report says; nothing is read from elsewhere."""

    title: str
    ended: str  # "time", "tries", "interrupted", or a reason in words
    configuration: Sequence[tuple[str, str]]  # what was tested, as rows of a table
    result: Mapping[str, Any]  # of a hunt
    history: Sequence[Mapping[str, float]]  # snapshots: "seconds", "distinct_findings", a share of each criterion
    findings: Sequence[Finding]  # all of them: they are counted
    groups: Sequence[Shown]  # the gallery, best first
    classes: Sequence[str]  # the name of each label
    models: Sequence[str]  # one, or the old and the new
    run: str  # the run folder, as the user would type it


def render(page: Page) -> str:
    """The report as one HTML document of at most 5 MB."""
    cards = gallery(page.groups, page.classes, page.models, page.run)
    groups = {finding.group for finding in page.findings if finding.group >= 0}
    return (
        _environment()
        .get_template("page.html")
        .render(
            page=page,
            verdict=words.verdict(page.result, page.models),
            ended=words.ended(page.ended),
            figures=words.figures(page.result, page.findings, len(groups)),
            configuration=page.configuration[:ROWS],
            charts=[c for c in (findings_chart(page.history), coverage_chart(page.history, page.result)) if c],
            confusion=confusion(page.findings, page.classes),
            bars=operators(page.findings),
            cards=cards,
            total=max(len(groups), len(page.groups)),
            standing=sum(shown.size for shown in page.groups[: len(cards)]),
        )
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=words.printable,
    )
    environment.filters.update(sha256=_sha256, short=words.short)
    return environment


def _sha256(text: str) -> str:
    """As a Content-Security-Policy names what it lets pass."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
