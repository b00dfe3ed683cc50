"""The summary on a job's page: short, and no text in it can break it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from nnfuzz.ci import Report, markdown
from nnfuzz.ci.markdown import SHOWN, escaped
from nnfuzz.records import Kind
from tests.ci.conftest import HOSTILE, finding


def test_verdict_numbers_and_findings(report: Report) -> None:
    text = markdown(replace(report, suite="lenet5"))
    assert text.splitlines()[0] == "## nnfuzz: lenet5 failed the gate"
    assert "- **failed** errors&gt;0 (it is 12)".replace("&gt;", "&#62;") in text
    assert "- passed rate&#62;0.5" in text
    assert "| findings | 10 misclassified, 2 raised |" in text
    assert "| seeds with findings | 5 of 100 |" in text
    assert "| coverage kmnc | 20.00% → 45.00% |" in text
    assert (
        "| 0 | seed 17, rightly 3, is answered 5 (98% sure) | 7 | runs/my run/findings/000000-misclassified.png |"
        " nnfuzz replay 'runs/my run' 0 |" in text
    )


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({"failed": ()}, "passed the gate"),
        ({"failed": (), "conditions": ()}, "has 12 findings"),
        ({"result": "interrupted"}, "was interrupted"),
    ],
)
def test_the_heading_says_the_verdict(report: Report, change: dict[str, Any], verdict: str) -> None:
    if "result" in change:
        change = {"result": {**report.result, "ended": change["result"]}}
    assert markdown(replace(report, suite="s", **change)).startswith(f"## nnfuzz: s {verdict}\n")


def test_what_is_counted_of_two_versions_is_told(report: Report) -> None:
    pair = {"regression_inputs": 4000, "regression_faults": 912, "general_failures": 9000, "doubtful_share": 0.0241}
    text = markdown(replace(report, result={**report.result, **pair}))
    assert "| regression inputs | 4,000 |\n| regression faults | 912 |\n| general failures | 9,000 |" in text.replace(
        "&#95;", "_"
    )
    assert "| doubtful share | 2.41% |" in text
    assert "doubtful share" not in markdown(report)


def test_no_text_breaks_the_page(report: Report) -> None:
    hostile = replace(report, suite=HOSTILE, run=f"runs/{HOSTILE}", classes=(HOSTILE,) * 9)
    text = markdown(hostile)
    assert len(text.splitlines()) == len(markdown(report).splitlines())
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.count("|") in (3, 6)
    assert not set("`<>[]\x00\x1b") & set(text)
    assert escaped("a|`b`<i>&\n_c_ *d* ![e](f)\\") == (
        "a&#124;&#96;b&#96;&#60;i&#62;&#38; &#95;c&#95; &#42;d&#42; &#33;&#91;e&#93;(f)&#92;"
    )


def test_only_the_first_findings_are_shown(result: dict[str, Any]) -> None:
    text = markdown(Report.of("many", result, [finding(i, Kind.HUNG) for i in range(SHOWN + 5)], run="runs/one"))
    assert text.count("makes the model hang") == SHOWN
    assert text.endswith("and 5 more in runs/one\n")
