"""nnfuzz regress as a user sees it: the numbers, the gate, the page, and one sentence for what makes no sense."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnfuzz.store import Run as Stored
from tests.cli.conftest import Run
from tests.conftest import arrays
from tests.store.versions import lay_out

Refused = Callable[..., str]
COUNTS = {
    "regression_inputs", "regression_inputs_distinct", "regression_faults", "seeds_hit", "general_failures",
    "general_failures_distinct", "faults_in_seeds", "fixed", "weakened", "half_weakened",
}  # fmt: skip
REST = ("--data", "thirds.npz", "--set", "rows=64", "--threads", 1)
CHEAP = ("--fidelity", "none", "--out", "run")


@pytest.fixture(autouse=True)
def two(place: Path) -> None:
    lay_out(place)


def regress(nnfuzz: Run, *options: object, new: str = "New", code: int = 0) -> dict[str, Any]:
    done = nnfuzz("regress", "two.py:Old", f"two.py:{new}", *REST, *CHEAP, *options, "--json", code=code)
    return json.loads(done.stdout, parse_constant=pytest.fail)


@pytest.mark.parametrize("recipe", ["drfuzz", "elites"])
def test_what_is_counted(nnfuzz: Run, recipe: str) -> None:
    result = regress(nnfuzz, "--tries", 640, "--recipe", recipe)
    assert result.keys() >= COUNTS
    assert 0 < result["regression_faults"] <= result["regression_inputs_distinct"] <= result["regression_inputs"]
    assert result["regression_inputs_distinct"] <= result["general_failures_distinct"] <= result["general_failures"]
    assert result["kinds"] == {"regression": result["regression_inputs_distinct"]}
    assert result["faults_in_seeds"] == 0
    assert "reached" not in result
    assert "doubtful_share" not in result
    findings = Stored(Path("run")).findings
    assert len({(f.seed, f.answers[1]) for f in findings}) == result["regression_faults"]
    assert len({f.seed for f in findings}) == result["seeds_hit"]
    for one in findings:
        assert one.answers[0] == one.label == one.seed_answers[0] == one.seed_answers[1] != one.answers[1]


def test_seeds_that_regress_as_they_are_are_counted_apart(nnfuzz: Run) -> None:
    result = regress(nnfuzz, "--tries", 64, new="Worse")
    x = arrays("thirds.npz")["x"]
    bright = int((x.mean((1, 2)) / 255 > 0.45).sum())
    assert result["faults_in_seeds"] == result["seeds_set_aside"] == bright > 0


def test_until_counts_are_reached(nnfuzz: Run) -> None:
    result = regress(nnfuzz, "--until", "regression_faults=5,seeds_hit=3", "--tries", 64_000)
    assert result["ended"] == "counts reached"
    assert result["regression_faults"] >= 5
    assert set(result["reached"]) == {"regression_faults", "seeds_hit"}
    assert 0 <= max(result["reached"].values()) <= result["seconds"] + 0.01, "but for rounding"


def test_counts_that_are_not_reached_are_said_to_be(nnfuzz: Run) -> None:
    result = regress(nnfuzz, "--until", "regression_faults=1", "--until", "seeds_hit=100000", "--tries", 640)
    assert result["ended"] == "tries"
    assert result["reached"]["regression_faults"] is not None
    assert result["reached"]["seeds_hit"] is None


def test_the_gate(nnfuzz: Run) -> None:
    result = regress(nnfuzz, "--tries", 320, "--fail-on", "regressions>0", "--markdown", "sum.md", code=1)
    assert result["gate"] == [f"regressions>0 (it is {result['regression_inputs_distinct']})"]
    assert "two.py:Old → two.py:New" in Path("sum.md").read_text()


def test_a_sound_version_passes_the_gate(nnfuzz: Run) -> None:
    result = regress(nnfuzz, "--tries", 320, "--fail-on", "regressions>0", new="Sound")
    assert (result["regression_faults"], result["gate"]) == (0, [])


def test_the_page_shows_what_both_answer(nnfuzz: Run) -> None:
    regress(nnfuzz, "--tries", 320)
    page = re.sub(r"(<[^>]+>|\s)+", " ", Path("run/report.html").read_text(encoding="utf-8"))
    assert "that two.py:Old reads right and two.py:New reads wrong" in page
    shown = re.findall(r" seed (\d+) old (\d) new (\d) input old (\d) [\d.]+% new (\d) [\d.]+% ", page)
    assert shown
    found = {(f.seed, *f.seed_answers, *f.answers) for f in Stored(Path("run")).findings}
    assert {tuple(map(int, one)) for one in shown} <= found


def test_without_labels_the_old_answers_count_as_right(nnfuzz: Run) -> None:
    np.savez("bare.npz", x=arrays("thirds.npz")["x"])
    done = nnfuzz("regress", "two.py:Old", "two.py:New", "--data", "bare.npz", "--set", "rows=64", "--threads", 1,
                  *CHEAP, "--tries", 320, "--json")  # fmt: skip
    assert "the old version's answer counts as right" in done.stderr
    assert json.loads(done.stdout)["regression_faults"] > 0
    assert {f.label for f in Stored(Path("run")).findings} == {0, 1, 2}
    labelled = regress(nnfuzz, "--tries", 320, "--out", "labelled")
    assert json.loads(done.stdout)["regression_faults"] == labelled["regression_faults"]


def test_coverage_of_the_new_version_is_news_as_well(nnfuzz: Run) -> None:
    result = regress(nnfuzz, "--tries", 320, "--criterion", "nc", "--recipe", "elites")
    assert result["coverage"].keys() == {"nc"}
    assert result["regression_faults"] > 0


@pytest.mark.parametrize(("referees", "share"), [("two.py:Sound", 0.0), ("two.py:Blind", 1.0),
                                                 ("two.py:Blind,two.py:Sound", 0.0)])  # fmt: skip
def test_referees(nnfuzz: Run, referees: str, share: float) -> None:
    """Of two, one against is no majority."""
    result = regress(nnfuzz, "--tries", 320, "--referee", referees, "--fail-on", "doubtful_share>0.5", code=int(share))
    assert result["doubtful_share"] == share
    assert {f.doubtful for f in Stored(Path("run")).findings} == {bool(share)}


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("Old", "wide", "3, 4 classes apart; they must agree"),
        ("Old", "Old", "are the same network with the same weights"),
        ("Blind", "New", "none of 90 seeds is answered right by both versions"),
        ("Old", "Blind", "none of 90 seeds is answered right by both versions"),
        ("Old", "Nothing", "Nothing"),
    ],
)
def test_versions_that_cannot_be_compared(refused: Refused, old: str, new: str, sentence: str) -> None:
    assert sentence in refused("regress", f"two.py:{old}", f"two.py:{new}", *REST, *CHEAP, "--tries", 100)
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--fidelity", "nope"), "expected fidelity to be one of none, label"),
        (("--until", "nope=3"), "expected a count for --until to be one of regression_inputs"),
        (("--until", "seeds_hit"), "expected --until NAME=VALUE, like --until regression_faults=100"),
        (("--until", "seeds_hit=0"), "a count of at least 1"),
        (("--until", "seeds_hit=²"), "a count of at least 1"),
        (("--until", "seeds_hit=-2"), "a count of at least 1"),
        (("--recipe", "nope"), "expected recipe to be one of"),
        (("--recipe", "deephunter"), "expected criteria among"),
        (("--set", "energy=0"), "expected energy above 0"),
        (("--set", "most=0"), "expected most above 0"),
        (("--recipe", "elites", "--set", "floor=2"), "expected floor from 0 to 1"),
        (("--recipe", "elites", "--set", "rows=0"), "expected rows above 0"),
        (("--referee", "two.py:wide"), "expected a referee that tells 3 classes apart"),
        (("--referee", "gone.py:net"), "gone.py"),
        (("--fail-on", "regresions>0"), "expected a condition on one of"),
    ],
)
def test_options_that_make_no_sense(refused: Refused, options: tuple[str, ...], sentence: str) -> None:
    """All of them before the search, so that nothing is left behind."""
    said = refused("regress", "two.py:Old", "two.py:New", *REST, *CHEAP, "--tries", 100, *options)
    assert sentence in said
    assert not Path("run").exists()


@pytest.mark.parametrize("options", [(), ("--oracle", "misclassified"), ("--with", "two.py:New,two.py:Sound")])
@pytest.mark.parametrize("recipe", ["drfuzz", "elites"])
def test_a_hunt_is_no_regression(refused: Refused, recipe: str, options: tuple[str, ...]) -> None:
    said = refused("hunt", "two.py:Old", "--data", "thirds.npz", "--recipe", recipe, "--tries", 100, *options)
    assert "use nnfuzz regress OLD NEW" in said
