"""DLFuzz and DeepXplore as a user runs them: found, gone on with, replayed, made smaller."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from nnfuzz.cli import main
from tests.conftest import arrays

CODE = """
import torch
from torch import nn

class Net(nn.Module):
    seed = 0

    def __init__(self):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(self.seed)
            self.conv, self.fc = nn.Conv2d(1, 4, 3), nn.Linear(4, 2)

    def forward(self, x):
        left, right = x[..., :4].mean((1, 2, 3)), x[..., 4:].mean((1, 2, 3))
        return torch.stack([left, right], 1) * 9 + 0.3 * self.fc(self.conv(x).relu().mean((2, 3)))

class Other(Net):
    seed = 3

class Frozen(Net):
    def forward(self, x):
        with torch.no_grad():
            return super().forward(x)
"""
Run = Callable[..., str]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NNFUZZ_DATA", str(tmp_path / "home"))
    (tmp_path / "net.py").write_text(CODE)
    rng, label = np.random.default_rng(0), np.arange(30) % 2
    x = rng.integers(60, 100, (30, 8, 8))
    x[label == 0, :, :4] += 20
    x[label == 1, :, 4:] += 20
    np.savez(tmp_path / "images.npz", x=x.astype(np.uint8), y=label)
    return tmp_path


@pytest.fixture
def nnfuzz(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def run(*arguments: object, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["nnfuzz", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        said = capsys.readouterr()
        assert (stop.value.code or 0) == code, said.out + said.err
        return said.err if code == 2 else said.out

    return run


def hunted(nnfuzz: Run, recipe: str, out: str, tries: int, *more: object) -> dict[str, object]:
    said = nnfuzz("hunt", "net.py:Net", "--data", "images.npz", "--recipe", recipe, "--criterion", "nc-raw",
                  "--tries", tries, "--out", out, "--json", *more)  # fmt: skip
    result: dict[str, object] = json.loads(said)
    return result


def distances(nnfuzz: Run, run: str) -> list[float]:
    """Of every finding from its seed, read from the picture that the run folder holds."""
    seeds = arrays("images.npz")["x"].astype(float)
    found = json.loads(nnfuzz("findings", run, "--json"))["findings"]
    pairs = [(np.asarray(Image.open(Path(run, one["image"])), float), seeds[one["seed"]]) for one in found]
    return [float(np.linalg.norm(x - seed) / np.linalg.norm(seed)) for x, seed in pairs]


@pytest.mark.usefixtures("place")
def test_further_from_its_seed_without_a_bound(nnfuzz: Run) -> None:
    hunted(nnfuzz, "dlfuzz", "run", 600)
    assert max(distances(nnfuzz, "run")) > 0.12


@pytest.mark.usefixtures("place")
def test_dlfuzz_from_hunt_to_minimize(nnfuzz: Run) -> None:
    result = hunted(nnfuzz, "dlfuzz", "run", 600, "--max-l2", "0.12", "--set", "strategies=often, near")
    assert result["kinds"] == {"changed": result["distinct_findings"]}
    assert result["distinct_findings"]
    assert set(json.loads(Path("run/run.json").read_text())) >= {"campaign", "asked"}
    assert 0 < max(distances(nnfuzz, "run")) <= 0.12, "the bound is of what is reported"
    assert Path("run/report.html").is_file()
    replayed = nnfuzz("replay", "run", "--json", code=1)
    assert "FIXED" not in replayed
    nnfuzz("minimize", "run", 0)
    assert list(Path("run/minimized").iterdir())


@pytest.mark.parametrize(("recipe", "more"), [
    ("dlfuzz", ()), ("deepxplore", ("--with", "net.py:Other", "--set", "process=occlusion", "--set", "step=20")),
])  # fmt: skip
@pytest.mark.usefixtures("place")
def test_it_goes_on_and_ends_where_it_would_have(recipe: str, more: tuple[str, ...], nnfuzz: Run) -> None:
    whole = hunted(nnfuzz, recipe, "whole", 1920, *more, "--set", "rows=240")
    part = hunted(nnfuzz, recipe, "part", 720, *more, "--set", "rows=240")
    resumed = json.loads(nnfuzz("resume", "part", "--tries", 1920, "--json"))
    assert part["tries"] < whole["tries"]
    for name in ("tries", "executed", "findings", "distinct_findings", "coverage", "corpus", "kinds"):
        assert resumed[name] == whole[name], name
    found = [sorted(path.read_bytes() for path in Path(run, "findings").iterdir()) for run in ("whole", "part")]
    assert found[0] == found[1]


@pytest.mark.usefixtures("place")
def test_models_that_disagree_are_replayed_together(nnfuzz: Run) -> None:
    more = ("--with", "net.py:Other", "--set", "process=occlusion", "--set", "step=20")
    result = hunted(nnfuzz, "deepxplore", "run", 1200, *more)
    assert result["kinds"] == {"disagreeing": result["distinct_findings"]}
    assert result["distinct_findings"]
    replayed = nnfuzz("replay", "run", "--json", code=1)
    assert "REPRODUCED" in replayed
    assert "FIXED" not in replayed


@pytest.mark.usefixtures("place")
def test_what_cannot_be_done_is_said_in_one_sentence(nnfuzz: Run) -> None:
    ask = ("--data", "images.npz", "--criterion", "nc-raw", "--tries", 100, "--out", "run")
    frozen = nnfuzz("hunt", "net.py:Frozen", *ask, "--recipe", "dlfuzz", code=2)
    assert frozen.strip().splitlines()[-1].startswith("nnfuzz: dlfuzz follows gradients and expected a model")
    alone = nnfuzz("hunt", "net.py:Net", *ask, "--recipe", "deepxplore", code=2)
    assert "expected several models to compare, and came one" in alone
    unknown = nnfuzz("hunt", "net.py:Net", *ask, "--recipe", "dlfuzz", "--set", "strategies=rarest", code=2)
    assert "expected strategies among often, rarely, heavy, near, uncovered, and came rarest" in unknown
    unknown = nnfuzz("hunt", "net.py:Net", *ask, "--recipe", "dlfuzz", "--set", "process=dark", code=2)
    assert "expected process among rms, sign, light, occlusion, blackout, and came dark" in unknown
    unbound = nnfuzz("hunt", "net.py:Net", *ask, "--recipe", "random", "--max-l2", "0.1", code=2)
    assert "expected a parameter of random" in unbound
