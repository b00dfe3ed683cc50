"""DLFuzz's tables on a small network: figures that fit together, and the picture."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch
from torch import nn
from typer.testing import CliRunner

from nnfuzz.cli import app
from nnfuzz.data import Images
from nnfuzz.errors import NnfuzzError
from nnfuzz.experiments import dlfuzz_retrain, dlfuzz_table1
from nnfuzz.experiments.curve import svg
from nnfuzz.experiments.dlfuzz import Ask, paper
from nnfuzz.experiments.dlfuzz_published import TABLE1
from nnfuzz.experiments.subjects import Studied
from nnfuzz.records import Model
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
    assert [r["recipe"] for r in ours] == ["dlfuzz"] * 3, "nobody to compare with, so no DeepXplore"
    assert [r["options"]["iterations"] * r["options"]["step"] for r in ours] == [5 * 5.1] * 3
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


@pytest.mark.parametrize(("name", "classes", "row"), [
    ("lenet5", 10, "lenet5"), ("torchvision:vgg16", 1000, "vgg16"), ("resnet50", 1000, "resnet50"),
    ("vgg16", 10, None), ("torchvision:mobilenet_v2", 1000, None), ("lenet5@other.safetensors", 10, None),
])  # fmt: skip
def test_a_row_of_the_paper_stands_beside_its_own_network_alone(name: str, classes: int, row: str | None) -> None:
    net = Model(nn.Identity(), name, classes=classes)
    studied = Studied(name, net, Images(torch.zeros(0), torch.zeros(0), (), "none"), None, None)
    assert dlfuzz_table1.row_of(studied) == row


def test_gain_is_counted_as_the_two_releases_count() -> None:
    """DLFuzz with the images, DeepXplore without them; over the best of its constraints."""
    numbers = {"found": 3, "images": 4, "images_hit": 2, "l2": 0.1, "nc_before": 0.3, "seconds": 1.0,
               "cpu_seconds": 1.0, "fail_again": 3, "model": "lenet5", "published": "lenet5"}  # fmt: skip
    rows = [
        {**numbers, "recipe": "deepxplore", "whose": "light", "nc": 0.6, "nc_found": 0.25},
        {**numbers, "recipe": "deepxplore", "whose": "occlusion", "nc": 0.4, "nc_found": 0.35},
        {**numbers, "recipe": "dlfuzz", "whose": "DLFuzz", "nc": 0.42, "nc_found": 0.3},
    ]
    shown = dlfuzz_table1.table(rows)
    at = shown.head.index("NC gain")
    assert [row[at] for row in shown.rows()] == ["–", "–", "+7.00", "–", "+2.23"], "the last two are the paper's"
    assert dlfuzz_table1.table(rows[2:]).rows()[0][at] == "–", "over nobody"


@pytest.mark.usefixtures("stocked")
def test_a_bound_holds_for_everything_reported(watch: Silent) -> None:
    result, _ = paper(Ask(("1",), ("digits",), seeds=4, max_l2=0.05), watch)
    for r in result["runs"]["1"]:
        assert r["l2"] is None or r["l2"] <= 0.05
        assert r["options"]["max_l2"] == 0.05
    assert any(r["found"] for r in result["runs"]["1"])


def test_names_beside_the_lines_stay_in_the_picture() -> None:
    lines = {f"line {i}": [(1, 0.1), (2, 0.35)] for i in range(7)}
    picture = ElementTree.fromstring(svg("all end alike", "images", lines))
    texts = [t for t in picture.iter() if t.tag.endswith("text")]
    places = sorted(float(t.attrib["y"]) for t in texts if (t.text or "").startswith("line"))
    assert min(places) > 12, "the height of a letter"
    assert max(places) < 400
    assert min(b - a for a, b in pairwise(places)) > 15
    shares = [t.text for t in texts if (t.text or "").endswith("%")]
    assert shares == ["10%", "15%", "20%", "25%", "30%", "35%"]


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
