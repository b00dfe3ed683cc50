"""DLFuzz's tables on a small network: figures that fit together, and the picture."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from typer.testing import CliRunner

from nnfuzz.cli import app
from nnfuzz.errors import NnfuzzError
from nnfuzz.experiments import dlfuzz_retrain
from nnfuzz.experiments.curve import svg
from nnfuzz.experiments.dlfuzz import Ask, paper
from nnfuzz.experiments.dlfuzz_published import TABLE1
from tests.experiments.conftest import Silent


def test_the_printed_averages_come_out() -> None:
    """The abstract: 338.59 % more inputs, 89.82 % smaller perturbations, 2.86 % higher coverage."""
    rows = list(TABLE1.values())

    def mean(values: list[float]) -> float:
        return sum(values) / len(values)

    assert mean([100 * (row.found[1] / row.found[0] - 1) for row in rows]) == pytest.approx(338.59, abs=0.01)
    assert mean([100 * (1 - row.l2[1] / row.l2[0]) for row in rows]) == pytest.approx(89.82, abs=0.05)
    assert mean([row.gain for row in rows]) == pytest.approx(2.86, abs=0.01)
    assert sum(row.found[1] for row in rows[:3]) + sum(row.found[1] for row in rows[3:]) == 396


@pytest.mark.usefixtures("stocked")
def test_table_1_and_the_strategies(watch: Silent) -> None:
    result, tables = paper(Ask(("1", "strategies"), ("digits",), seeds=8), watch)
    assert [table.number for table in tables] == ["1", "strategies"]
    ours = result["runs"]["1"]
    assert [r["whose"] for r in ours] == ["DLFuzz", "DLFuzz, k 1, rarely"], "nobody to compare with, so no DeepXplore"
    for r in (*ours, *result["runs"]["strategies"]):
        assert r["found"] == r["fail_again"] > 0
        assert 0 < r["images_hit"] <= r["images"] == 8
        assert r["nc_before"] <= r["nc"] <= r["nc_executed"]
        assert r["nc_found"] <= r["nc"]
        assert 0 < r["l2"] < 1
    for r in result["runs"]["strategies"]:
        assert len(r["curve"]) == 8
        assert r["curve"] == sorted(r["curve"])
        assert r["curve"][-1] == pytest.approx(r["nc_executed"])


@pytest.mark.usefixtures("stocked")
def test_the_command_writes_the_curves(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, [
        "paper", "dlfuzz", "--table", "strategies", "--models", "digits", "--seeds", "4", "--threads", "2",
        "--out", str(tmp_path / "made"), "--json",
    ])  # fmt: skip
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["paper"] == "dlfuzz"
    picture = ElementTree.parse(tmp_path / "made" / "strategies-digits.svg")
    lines = picture.findall(".//{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 7


def test_a_curve_of_one_point_and_hostile_names() -> None:
    picture = ElementTree.fromstring(svg("<script>", "images", {"a<b": [(1, 0.5)], "c": [(1, 0.5)]}))
    names = [text.text for text in picture.iter() if text.tag.endswith("text")]
    assert {"<script>", "a<b", "c"} <= set(names)


@pytest.mark.usefixtures("stocked")
def test_retraining_beside_more_training_alone(watch: Silent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dlfuzz_retrain, "EPOCHS", 2)
    before = torch.get_rng_state()
    result, (table,) = paper(Ask(("retrain",), ("digits",)), watch)
    without, added = result["runs"]["retrain"]
    assert (without["training"], added["training"]) == ("without", "with 114")
    assert without["before"] == added["before"]
    assert len(added["epochs"]) == 2
    assert 0 < added["fresh"] < 1, "the old network reads none of these"
    assert without["fresh_inputs"] == added["fresh_inputs"] == 114
    assert len(table.rows()) == 2
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.usefixtures("home")
def test_mistakes(watch: Silent) -> None:
    with pytest.raises(NnfuzzError, match="expected --table among 1, strategies, retrain, and came '4'"):
        paper(Ask(("4",)), watch)
    with pytest.raises(NnfuzzError, match="expected --models as names"):
        paper(Ask(models=()), watch)
