"""A run with findings of several kinds, hostile texts among them."""

from __future__ import annotations

from math import nan
from typing import Any

import pytest

from nnfuzz.ci import Report
from nnfuzz.gate import conditions, judge, numbers
from nnfuzz.records import Finding, Kind, Mutation

HOSTILE = "\x1b[31mno <b>&amp; | `x` ]]> \x00\ud800\ufffe\n| new | row |\r\n\U0001f600 ![i](u)"


@pytest.fixture
def result() -> dict[str, Any]:
    return {
        "seconds": 12345.678, "tries": 6400, "executed": 6000, "findings": 15, "distinct_findings": 12, "seeds_hit": 5,
        "coverage": {"kmnc": {"before": 0.2, "after": 0.45}}, "kinds": {"misclassified": 10, "raised": 2},
        "seeds": 110, "seeds_set_aside": 10, "ended": "tries", "run": "runs/one", "first_finding_seconds": None,
    }  # fmt: skip


def finding(number: int, kind: Kind = Kind.MISCLASSIFIED, **other: Any) -> Finding:
    values = {
        "id": number, "kind": kind.label, "image": f"findings/{number:06d}-{kind.label}.png", "seed": 17, "label": 3,
        "seed_answers": (3,), "answers": (5,), "confidences": (0.98,), "mutations": (Mutation("shift", (1.0, 2.5)),),
        "repeated": 3, "asked": 3, "seconds": 0.25,
    }  # fmt: skip
    return Finding(**{**values, **other})


@pytest.fixture
def found() -> list[Finding | tuple[Finding, int]]:
    return [
        (finding(0), 7),
        finding(1, Kind.CHANGED, label=-1, seed_answers=(2,), repeated=1),
        finding(2, Kind.NOT_FINITE, confidences=(nan,)),
        finding(3, Kind.RAISED, answers=(-1,), confidences=(nan,), error=HOSTILE),
        finding(4, Kind.HUNG, label=-1, seed_answers=(-1,), answers=(-1,)),
        finding(5, answers=(5, 6), confidences=(0.9, nan)),
        finding(6, Kind.REGRESSION, seed_answers=(3, 3), answers=(3, 8), confidences=(0.9, 0.4), doubtful=True),
    ]


@pytest.fixture
def report(result: dict[str, Any], found: list[Finding | tuple[Finding, int]]) -> Report:
    asked = conditions(["errors>0,rate>0.5"])
    return Report.of("lenet5 <on> mnist|2", result, found, asked, judge(asked, numbers(result)), "runs/my run")
