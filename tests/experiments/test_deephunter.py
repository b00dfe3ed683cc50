"""The tables end to end on a small network, and what their numbers have to obey."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nnfuzz import data, models
from nnfuzz.campaign import seeded
from nnfuzz.errors import NnfuzzError
from nnfuzz.experiments import table4, table6, table7
from nnfuzz.experiments.answers import answers
from nnfuzz.experiments.deephunter import Ask, paper, write
from nnfuzz.experiments.published import CRITERIA
from nnfuzz.experiments.subjects import right_seeds, stages_of
from nnfuzz.records import Model
from nnfuzz.target import Target
from tests.experiments.conftest import Silent

QUICK = Ask(tables=("4",), models=("digits",), seeds=60, tries=1500, tests=400)


def ran(ask: Ask, watch: Silent) -> dict[str, Any]:
    return paper(ask, watch)[0]


@pytest.mark.usefixtures("stocked")
def test_tables_4_6_and_7_share_their_runs(watch: Silent, tmp_path: Path) -> None:
    result, tables = paper(replace(QUICK, tables=("4", "6", "7")), watch)
    runs = result["runs"]
    assert [run["criterion"] for run in runs] == list(CRITERIA)
    assert [table.number for table in tables] == ["4", "6", "7"]
    for run in runs:
        assert 0 <= run["cells_before"] <= run["cells_after"] <= 1
        assert run["groups_before"] <= run["groups_after"]
        assert run["cells_after"] <= run["groups_after"]
        assert run["seeds"] == 60
        assert run["tries"] >= 1500
        assert run["distinct_findings"] <= run["findings"] <= run["executed"] <= run["tries"]
        assert run["right_tests"] == run["executed"] - run["findings"]
        assert run["right_tests_held"] <= min(400, run["right_tests"])
        assert {ratio: len(draws) for ratio, draws in run["differing"].items()} == {1: 5, 50: 5, 100: 1}
        assert all(0 <= n <= run["right_tests_held"] for draws in run["differing"].values() for n in draws)
    assert any(run["cells_after"] > run["cells_before"] for run in runs)
    files = [Path(file) for file in write(result, tables, str(tmp_path / "new" / "folder"))]
    assert json.loads(files[0].read_text())["runs"][0]["model"] == "digits"
    assert files[1].read_text().count("## Table") == 3


@pytest.mark.usefixtures("stocked")
def test_the_same_seed_gives_the_same_figures(watch: Silent) -> None:
    ask = replace(QUICK, tables=("4", "7"), criteria=("kmnc", "tknc"))
    clock = ("seconds", "tries_per_second")
    first, second = ([{k: v for k, v in r.items() if k not in clock} for r in ran(ask, watch)["runs"]] for _ in "ab")
    assert first == second


def test_table_5_trains_three_instances_once_and_uses_them_again(home: Path, watch: Silent) -> None:
    ask = replace(QUICK, tables=("4", "5"), criteria=("kmnc",), stages=(1, 2, 4))
    run = ran(ask, watch)["runs"][0]
    a, b = run["accuracy_on_tests"]
    assert 0 <= a <= 1
    assert 0 <= b <= 1
    assert run["ranked"] == (a < b)
    assert len(run["accuracy_on_data"]) == 3
    files = sorted(path.name for path in (home / "models").iterdir())
    assert files == [f"digits-digits-seed0-epoch{e}of4.safetensors" for e in (1, 2, 4)]
    assert "training" in dict(watch.said)
    again = Silent()
    assert ran(ask, again)["runs"][0]["accuracy_on_tests"] == (a, b)
    assert "training" not in dict(again.said)


def test_a_network_without_weights_is_trained(home: Path, watch: Silent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nnfuzz.experiments.subjects.EPOCHS", 1)
    assert ran(replace(QUICK, criteria=("nc",)), watch)["ended"] == "done"
    assert (home / "models" / "digits-digits.safetensors").is_file()
    assert "training" in dict(watch.said)


@pytest.mark.usefixtures("stocked")
def test_readings_of_the_seeds(watch: Silent) -> None:
    result, (table,) = paper(replace(QUICK, tables=("seeds",)), watch)
    assert result["runs"] == []
    assert all(0 <= row["cells"] <= row["groups"] <= 1 for row in result["readings"])
    ones = [r for r in result["readings"] if r["reading"] == "k = 1"]
    assert all(row["cells"] == row["groups"] for row in ones)
    assert {row[0] for row in table.rows()} == {"", "NC", "KMNC", "NBC", "SNAC", "TKNC", "BKNC"}


@pytest.mark.usefixtures("stocked")
def test_seeds_are_right_on_every_instance() -> None:
    images = data.load("digits")
    model = models.load("digits")
    worse = table7.truncated(model, 0.0, seeded(0))
    with torch.no_grad():
        for weight in worse.net.parameters():
            weight.add_(0.05 * torch.randn(weight.shape, generator=seeded(3)))
    with Target(model, images.x) as one, Target(worse, images.x) as other:
        seeds = right_seeds((one, other), images, 40, 0)
        assert len(seeds) == 40
        assert torch.equal(images.x[seeds.seed], seeds.x)
        assert (answers(one, seeds.x) == seeds.label).all()
        assert (answers(other, seeds.x) == seeds.label).all()
        assert len(set(seeds.seed.tolist())) == 40
        fewer = right_seeds((one, other), images, 10_000, 0)
        right = (answers(one, images.x) == images.label) & (answers(other, images.x) == images.label)
        assert len(fewer) == int(right.sum())


@pytest.mark.usefixtures("stocked")
def test_truncation() -> None:
    model = models.load("digits")
    weights = model.net.state_dict()
    none, every = (table7.truncated(model, ratio, seeded(0)).net.state_dict() for ratio in (0.0, 1.0))
    half = table7.truncated(model, 0.5, seeded(0)).net.state_dict()
    for name, weight in weights.items():
        assert torch.equal(none[name], weight)
        assert torch.equal(every[name], weight.half().float())
        assert ((half[name] == weight) | (half[name] == weight.half().float())).all()
    cut, total = (sum(int((s[n] != w).sum()) for n, w in weights.items()) for s in (half, every))
    assert 0.4 < cut / total < 0.6
    assert all(torch.equal(model.net.state_dict()[name], weight) for name, weight in weights.items())


@pytest.mark.usefixtures("stocked")
def test_differing_answers_are_those_of_a_direct_recount(watch: Silent, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Any, Model]] = []
    measure = table7.measure
    coarse = table7.truncated

    def watched(run: Any, model: Model, device: str, seed: int) -> dict[str, Any]:
        seen.append((run, model))
        return measure(run, model, device, seed)

    def rough(model: Model, ratio: float, rng: torch.Generator) -> Model:
        """Half precision hardly ever changes an answer of so small a network."""
        cut = coarse(model, ratio, rng)
        with torch.no_grad():
            for weight in cut.net.parameters():
                weight.mul_(4).round_().div_(4)
        return cut

    monkeypatch.setattr(table7, "measure", watched)
    monkeypatch.setattr(table7, "truncated", rough)
    run = ran(replace(QUICK, tables=("7",), criteria=("kmnc",)), watch)["runs"][0]
    ((made, model),) = seen
    cut = rough(model, 1.0, seeded(0))
    with torch.no_grad():
        direct = model.net(made.x.float() / 255).argmax(1) != cut.net(made.x.float() / 255).argmax(1)
    assert run["differing"][100] == [int(direct.sum())]
    assert int(direct.sum()) > 0


def test_table_4_beside_the_paper() -> None:
    run = {
        "model": "lenet1", "published": "lenet1", "criterion": "nc", "neurons": 50, "cells_before": 0.2,
        "cells_after": 0.4, "cells_passed": 1.5, "groups_before": 0.3, "groups_after": 0.5, "groups_passed": 0.0,
    }  # fmt: skip
    assert table4.table([run]).rows() == [
        ["lenet1", "ours, neurons", "30.00 → 50.00"],
        ["", "ours, cells", "20.00 → 40.00"],
        ["", "paper", "22.9 → 31.3"],
        ["", "passed, neurons", "seeds"],
        ["", "passed, cells", "1.5 s"],
    ]
    assert any("50 neurons here, 52 in the paper" in note for note in table4.table([run]).notes)
    assert table4.goal("lenet1", "nc") == pytest.approx(0.313)
    assert table4.goal(None, "nc") is None
    two = table4.table([run, {**run, "model": "lenet4", "published": "lenet4", "cells_before": 0.4}])
    assert two.rows()[-3:] == [
        ["mean", "ours, neurons", "30.00 → 50.00"],
        ["", "ours, cells", "30.00 → 40.00"],
        ["", "paper", "39.60 → 46.20"],
    ]


@pytest.mark.usefixtures("stocked")
def test_when_a_published_figure_is_passed(watch: Silent, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = replace(QUICK, criteria=("kmnc",))
    first = ran(ask, watch)["runs"][0]
    between = (first["cells_before"] + first["cells_after"]) / 2
    for goal, expected in ((between, "later"), (2.0, "never"), (0.0, "seeds")):
        monkeypatch.setattr(table4, "goal", lambda published, criterion, goal=goal: goal)
        passed = [ran(ask, watch)["runs"][0][f"{count}_passed"] for count in ("cells", "groups")]
        for seconds in passed:
            assert ("never" if seconds is None else "later" if seconds else "seeds") == expected


def test_table_6_beside_the_paper() -> None:
    run = {"model": "m", "published": "lenet4", "criterion": "kmnc", "seconds": 2.0, "distinct_findings": 30}
    rows = table6.table([run, {**run, "criterion": "nbc", "distinct_findings": 5}]).rows()
    assert rows[0] == ["m", "ours", "30", "5"]
    assert rows[1] == ["", "a second", "15.0", "2.5"]
    assert rows[2] == ["", "paper", "600", "2,900"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"tables": ("9",)}, "expected --table among"),
        ({"tables": ()}, "expected --table among"),
        ({"criteria": ("nope",)}, "expected --criterion among"),
        ({"models": ()}, "expected --models"),
        ({"models": ("lenet9",)}, "expected --data with images for lenet9"),
        ({"models": ("lenet9",), "data": "digits"}, "expected a model"),
        ({"models": ("mobilenet",)}, "expected --data with images for mobilenet"),
        ({"tables": ("5",), "stages": (3, 1, 2)}, "three growing numbers"),
        ({"tables": ("5",), "models": ("lenet9",), "data": "digits"}, "expected a network among"),
    ],
)
@pytest.mark.usefixtures("stocked")
def test_complaints(change: dict[str, Any], sentence: str, watch: Silent) -> None:
    with pytest.raises(NnfuzzError, match=sentence):
        paper(replace(QUICK, **change), watch)


def test_epochs_of_the_instances() -> None:
    assert stages_of("lenet4", (), 1.0) == (10, 25, 50)
    assert stages_of("digits", (), 1.0) == (10, 30, 45)
    assert stages_of("lenet1", (), 0.1) == (1, 3, 5)
    assert stages_of("lenet1", (), 0.01) == (1, 2, 3)
    assert stages_of("lenet1", (2, 4, 9), 1.0) == (2, 4, 9)


@pytest.mark.slow
def test_table_4_of_lenet_1_grows_under_every_criterion(watch: Silent) -> None:
    if not (data.folder() / "models" / "mnist-lenet1.safetensors").is_file() or not (data.folder() / "mnist").is_dir():
        pytest.skip("no weights of lenet1 in the data folder")
    runs = ran(Ask(models=("lenet1",), minutes=0.2), watch)["runs"]
    assert [run["criterion"] for run in runs if run["cells_after"] <= run["cells_before"]] == []
    assert {run["seeds"] for run in runs} == {1000}
