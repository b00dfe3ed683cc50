"""Conditions on a run's numbers: what may be written, what holds, what is refused."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from nnfuzz.cli import exits, options
from nnfuzz.errors import NnfuzzError
from nnfuzz.gate import NAMES, Condition, at_least, conditions, judge, numbers
from nnfuzz.records import Kind

RESULT = {
    "seconds": 2.5, "tries": 640, "executed": 600, "tries_per_second": 256.0, "findings": 15, "distinct_findings": 12,
    "seeds_hit": 5, "corpus": 80, "coverage": {"kmnc": {"before": 0.2, "after": 0.45}},
    "kinds": {"misclassified": 10, "not-finite": 2}, "first_finding_seconds": 0.1, "seeds": 110, "seeds_set_aside": 10,
    "setup_seconds": 0.3, "ended": "tries", "run": "runs/one",
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("errors>0", "errors>0"),
        (" misclassified >= 5 ", "misclassified>=5"),
        ("rate>0.01", "rate>0.01"),
        ("Not_Finite>0", "not-finite>0"),
        ("seeds-hit > 1e1", "seeds_hit>10"),
        ("coverage.kmnc<.5", "coverage.kmnc<0.5"),
        ("coverage.nc-raw<=0.5", "coverage.nc-raw<=0.5"),
        ("tries!=1000000", "tries!=1000000"),
        ("groups==-3", "groups==-3"),
    ],
)
def test_what_may_be_written(text: str, said: str) -> None:
    condition = Condition.parse(text)
    assert str(condition) == said
    assert Condition.parse(str(condition)) == condition


@pytest.mark.parametrize(
    "text", ["", "errors", ">0", "errors>", "errors=>1", "errors>nan", "errors>0 and rate>0", "errors>5%"]
)
def test_what_is_no_condition_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(NnfuzzError, match=r"like errors>0, and came") as refused:
        Condition.parse(text)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["error", "coverage", "coverage.", "misclassified2"])
def test_an_unknown_number_is_refused_with_those_that_are_known(name: str) -> None:
    with pytest.raises(NnfuzzError, match=r"errors, misclassified, .*coverage\.CRITERION, and came"):
        Condition.parse(f"{name}>0")


def test_the_help_names_every_number() -> None:
    said = get_args(options.FailOn)[1].help
    assert [name for name in NAMES if not re.search(rf"\b{name}\b", said)] == []


def test_several_are_given_with_commas_or_one_by_one() -> None:
    both = conditions(["errors>0, rate>0.5", "errors > 0", "flaky>2"])
    assert [str(one) for one in both] == ["errors>0", "rate>0.5", "flaky>2"]


def test_coverage_that_is_not_measured_is_refused_before_the_run() -> None:
    assert conditions(["coverage.kmnc<0.5"], ("nc", "kmnc"))
    with pytest.raises(NnfuzzError, match=r"measures \(coverage.kmnc, coverage.nc\), and came coverage.nbc<0.5"):
        conditions(["coverage.nbc<0.5"], ("nc", "kmnc"))


def test_the_numbers_of_a_result() -> None:
    counted = numbers(RESULT)
    assert counted["errors"] == 12
    assert counted["rate"] == 5 / 100
    assert counted["coverage.kmnc"] == 0.45
    labels = {kind.label for kind in Kind if kind > 0}
    assert labels <= counted.keys(), "each kind is counted, also where none was found"
    assert {kind: counted[kind] for kind in labels if counted[kind]} == {"misclassified": 10, "not-finite": 2}
    assert "groups" not in counted
    assert numbers({**RESULT, "groups": 3, "flaky": 1})["groups"] == 3


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("errors>0", True), ("errors>12", False), ("errors>=12", True), ("hung>0", False), ("rate>0.04", True),
        ("rate>0.05", False), ("coverage.kmnc<0.5", True), ("coverage.kmnc<=0.4", False), ("tries==640", True),
        ("tries!=640", False),
    ],
)  # fmt: skip
def test_a_condition_that_holds_fails_the_gate(text: str, fails: bool) -> None:
    failed = judge(conditions([text]), numbers(RESULT))
    assert bool(failed) == fails


def test_a_failure_says_the_condition_and_the_number() -> None:
    failed = judge(conditions(["errors>0,rate>0.5,coverage.kmnc<0.5"]), numbers(RESULT))
    assert [str(one) for one in failed] == ["errors>0 (it is 12)", "coverage.kmnc<0.5 (it is 0.45)"]


def test_what_was_not_counted_does_not_pass_unseen() -> None:
    with pytest.raises(NnfuzzError, match="expected this run to count groups for the condition groups>3"):
        judge(conditions(["groups>3"]), numbers(RESULT))
    assert judge(conditions(["rate>0.5"]), {"rate": float("nan")})


def test_growing_numbers_decide_early_only_where_more_cannot_help() -> None:
    asked = conditions(["errors>2,errors<9,rate>0,seeds_hit>=3"])
    assert [str(one.condition) for one in at_least(asked, {"errors": 3, "seeds_hit": 2})] == ["errors>2"]


def test_the_exit_code() -> None:
    failed = judge(conditions(["errors>0"]), numbers(RESULT))
    assert exits.after("tries", []) == 0
    assert exits.after("tries", failed) == 1
    assert exits.after("interrupted", failed) == exits.after("interrupted", []) == 3


def test_the_numbers_of_two_versions() -> None:
    pair = {**RESULT, "kinds": {"regression": 12}, "regression_inputs": 15, "regression_inputs_distinct": 12,
            "regression_faults": 7, "general_failures": 40, "general_failures_distinct": 38, "faults_in_seeds": 3,
            "doubtful": 1, "doubtful_share": 0.1}  # fmt: skip
    counted = numbers(pair)
    assert (counted["regressions"], counted["regression"], counted["regression_faults"]) == (12, 12, 7)
    failed = judge(conditions(["regressions>0,general_failures_distinct>38,doubtful-share>0.05"]), counted)
    assert [str(one) for one in failed] == ["regressions>0 (it is 12)", "doubtful_share>0.05 (it is 0.1)"]


def test_what_nobody_was_asked_about_is_no_number() -> None:
    assert "regressions" not in numbers(RESULT)
    assert "doubtful_share" not in numbers({**RESULT, "doubtful_share": None})
    with pytest.raises(NnfuzzError, match="count doubtful"):
        judge(conditions(["doubtful>0"]), numbers(RESULT))
