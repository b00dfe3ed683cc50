"""A summary in Markdown for the page of a CI job."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nnfuzz.ci.report import Report, printable

SHOWN = 10
COUNTED = (
    "groups", "flaky", "doubtful", "regression_inputs", "regression_inputs_distinct", "regression_faults",
    "general_failures", "general_failures_distinct", "faults_in_seeds",
)  # fmt: skip
# Written as a character reference, a character is text wherever it stands: in a cell, in code, inside HTML.
MARKUP = re.compile(r"[&<>|`*_~\[\]\\$#!]")


def markdown(report: Report) -> str:
    """A heading with the verdict, the numbers, the first findings."""
    heading = f"## nnfuzz: {escaped(report.suite)} {_verdict(report)}"
    return "\n\n".join([heading, *_gate(report), _numbers(report), *_findings(report)]) + "\n"


def escaped(text: str) -> str:
    return MARKUP.sub(lambda found: f"&#{ord(found[0])};", printable(text))


def _verdict(report: Report) -> str:
    if report.interrupted:
        return "was interrupted"
    if report.failed:
        return "failed the gate"
    if report.conditions:
        return "passed the gate"
    count = report.result["distinct_findings"]
    return f"has {count:,} findings" if count else "has no findings"


def _gate(report: Report) -> list[str]:
    """A line for each condition."""
    lines = [f"- **failed** {escaped(str(failed))}" for failed in report.failed]
    kept = [one for one in report.conditions if one not in {failed.condition for failed in report.failed}]
    lines += [f"- {'not judged' if report.interrupted else 'passed'} {escaped(str(one))}" for one in kept]
    return ["\n".join(lines)] if lines else []


def _numbers(report: Report) -> str:
    result = report.result
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in result["kinds"].items()) or "none"
    coverage = [(f"coverage {n}", f"{c['before']:.2%} → {c['after']:.2%}") for n, c in result["coverage"].items()]
    counted = [(name.replace("_", " "), f"{result[name]:,}") for name in COUNTED if name in result]
    counted += (
        [("doubtful share", f"{result['doubtful_share']:.2%}")] if result.get("doubtful_share") is not None else []
    )
    return _table(("number", "value"), [
        ("findings", kinds), *counted,
        ("seeds with findings", f"{result['seeds_hit']:,} of {result['seeds'] - result['seeds_set_aside']:,}"),
        *coverage,
        ("mutants tried", f"{result['tries']:,} in {result['seconds']:.1f} s"), ("ended by", str(result["ended"])),
    ])  # fmt: skip


def _findings(report: Report) -> list[str]:
    if not report.groups:
        return []
    shown = report.groups[:SHOWN]
    rows = [(str(f.id), report.said(f), str(size), report.image(f), report.replay(f) or "") for f, size in shown]
    left = len(report.groups) - len(shown)
    more = [f"and {left:,} more" + (f" in {escaped(report.run)}" if report.run else "")] * bool(left)
    return [_table(("finding", "what", "like it", "image", "again"), rows), *more]


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [[escaped(cell) for cell in row] for row in (head, *rows)]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
