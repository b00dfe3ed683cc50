"""nnfuzz demo, made short: what the README promises of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run

DEMO = sys.modules["nnfuzz.cli.demo"]  # the package's own `demo` is the command


@pytest.fixture(autouse=True)
def short(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DEMO, "EPOCHS", 2)


def test_a_run_folder_with_findings(nnfuzz: Run) -> None:
    done = nnfuzz("demo", "--seconds", 0.2, "--out", "d", "--threads", 1, "--json")
    result = json.loads(done.stdout)
    assert result["run"] == "d"
    assert result["distinct_findings"] == len(list(Path("d/findings").iterdir())) > 0
    assert {"run.json", "run.db", "stats.csv", "summary.json", "report.html"} <= {p.name for p in Path("d").iterdir()}
    for said in ("of the test images right", "hunting it for 0.2 s", "first finding", "coverage kmnc"):
        assert said in done.stderr


@pytest.mark.parametrize("taken", ["d/mine.txt", "d.safetensors"])
def test_nothing_is_trained_for_a_place_that_is_taken(nnfuzz: Run, taken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DEMO, "trained", None)
    Path(taken).parent.mkdir(exist_ok=True)
    Path(taken).write_text("mine")
    assert "already holds something" in nnfuzz("demo", "--out", "d", code=2).stderr
    assert Path(taken).read_text() == "mine"
