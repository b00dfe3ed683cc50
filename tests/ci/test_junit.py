"""JUnit XML that build servers read: it follows the schema, whatever texts are in it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from nnfuzz.ci import Report, junit
from tests.ci.conftest import HOSTILE, finding

SCHEMA = etree.XMLSchema(file=str(Path(__file__).with_name("junit.xsd")))


def read(report: Report) -> Any:
    """The one suite, once the whole is valid."""
    root = etree.fromstring(junit(report).encode())
    SCHEMA.assertValid(root)
    (suite,) = root
    cases = suite.findall("testcase")
    assert int(suite.get("tests")) == len(cases)
    for name, path in (("failures", "testcase/failure"), ("skipped", "testcase/skipped")):
        assert int(suite.get(name)) == len(suite.findall(path))
    return suite


def test_a_case_for_each_condition_and_each_group(report: Report) -> None:
    suite = read(report)
    assert suite.get("name") == "lenet5 <on> mnist|2"
    assert [case.get("name") for case in suite.findall("testcase")][:3] == [
        "errors>0", "rate>0.5", "finding 0: misclassified",
    ]  # fmt: skip
    assert suite.get("tests") == "9"
    assert suite.get("failures") == "8"
    assert suite.find("testcase/failure").get("message") == "the gate fails: errors>0 (it is 12)"
    assert suite.find("properties/property[@name='tries']").get("value") == "6400"


def test_a_failure_says_what_to_look_at_and_how_to_see_it_again(report: Report) -> None:
    failures = [case.find("failure") for case in read(report).findall("testcase")[2:]]
    assert failures[0].get("message") == "seed 17, rightly 3, is answered 5 (98% sure)"
    assert failures[0].text.splitlines() == [
        "seed 17, rightly 3, is answered 5 (98% sure)",
        "image: runs/my run/findings/000000-misclassified.png",
        "group: 7 findings like this one",
        "made by: shift(1, 2.5)",
        "again: nnfuzz replay 'runs/my run' 0",
    ]
    assert "rightly 2," in failures[1].text
    assert "not confirmed: the same 1 of 3 times" in failures[1].text
    assert failures[2].get("message") == "seed 17, rightly 3, is given scores that are not finite"
    assert failures[4].get("message") == "seed 17 makes the model hang"
    assert failures[5].get("message").endswith("is answered 5 (90% sure) and 6")
    pair = "is answered 3 (90% sure) by the old version and 8 (40% sure) by the new one, doubtful"
    assert failures[6].get("message") == f"seed 17, rightly 3, {pair}"
    assert "doubtful: independent models no longer read the label" in failures[6].text


def test_control_characters_and_markup_in_errors_are_harmless(report: Report) -> None:
    said = read(report).findall("testcase/failure")[4].get("message")
    assert said.startswith(
        "seed 17, rightly 3, makes the model raise \ufffd[31mno <b>&amp; | `x` ]]> \ufffd\ufffd\ufffd |"
    )
    assert "\U0001f600" in said
    read(replace(report, suite=f"{HOSTILE}\t", run=f"runs/{HOSTILE}", classes=(HOSTILE,) * 9))
    read(replace(report, suite=" \n", run=None, result={**report.result, "ended": f"error: {HOSTILE}"}))


def test_what_the_gate_lets_pass_is_skipped(report: Report) -> None:
    suite = read(replace(report, failed=()))
    assert suite.get("failures") == "0"
    assert suite.get("skipped") == "7"


def test_without_a_gate_findings_fail(report: Report) -> None:
    assert read(replace(report, conditions=(), failed=())).get("failures") == "7"


def test_an_interrupted_run_is_not_judged(report: Report) -> None:
    ended = {**report.result, "ended": "interrupted"}
    assert read(replace(report, result=ended, failed=(), groups=())).get("skipped") == "2"


def test_a_clean_run_is_valid_too(result: dict[str, Any]) -> None:
    suite = read(Report.of("clean", {**result, "distinct_findings": 0, "kinds": {}}, []))
    assert suite.get("tests") == "0"


def test_the_time_is_local_and_without_a_zone(report: Report) -> None:
    assert 'timestamp="2026-11-19T02:03:04"' in junit(report, datetime(2026, 11, 19, 2, 3, 4, 567))


@pytest.mark.parametrize("broken", ["</failure><failure type='x'/>", "<b/></failure>"])
def test_the_schema_refuses_what_is_wrong(report: Report, broken: str) -> None:
    text = junit(replace(report, groups=((finding(0), 1),))).replace("</failure>", broken)
    assert not SCHEMA.validate(etree.fromstring(text.encode()))
