"""A place with a model and images, and the command line as a user types it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from nnfuzz.cli import main

CODE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, classes=2):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(1, 2, 3), nn.Linear(2, classes)

    def forward(self, x):
        left, right = x[..., :4].mean((1, 2, 3)), x[..., 4:].mean((1, 2, 3))
        return torch.stack([left, right], 1) * 9 + 0 * self.fc(self.conv(x).mean((2, 3)))

class Nan(Net):
    def forward(self, x):
        return super().forward(x).where(x.mean((1, 2, 3), keepdim=True)[:, 0, 0] < 0.42, float("nan"))

class Always(Net):
    def forward(self, x):
        return super().forward(x) * float("nan")

class Raises(Net):
    def forward(self, x):
        if x.mean((1, 2, 3)).max() > 0.42:
            raise ValueError("a bright one")
        return super().forward(x)

class Maps(Net):
    def forward(self, x):
        return self.conv(x)

class Whole(Net):
    def forward(self, x):
        return super().forward(x).long()

class Draws(Net):
    def forward(self, x):
        return super().forward(x) + torch.rand(len(x), 2) / 1000

def broken():
    raise RuntimeError("no weights today\\nnor tomorrow")

def number():
    return 3
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, and images whose brighter half is the label."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NNFUZZ_DATA", str(tmp_path / "home"))
    (tmp_path / "net.py").write_text(CODE)
    rng = np.random.default_rng(0)
    label = np.arange(40) % 2
    x = rng.integers(60, 100, (40, 8, 8))
    x[label == 0, :, :4] += 25
    x[label == 1, :, 4:] += 25
    np.savez(tmp_path / "images.npz", x=x.astype(np.uint8), y=label)
    return tmp_path


@dataclass(frozen=True)
class Done:
    stdout: str
    stderr: str


Run = Callable[..., Done]


@pytest.fixture
def nnfuzz(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line, in this process: starting Python and torch takes longer than most of these runs."""

    def run(*arguments: object, code: int = 0) -> Done:
        monkeypatch.setattr(sys, "argv", ["nnfuzz", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        done = Done(*capsys.readouterr())
        assert (stop.value.code or 0) == code, done.stdout + done.stderr
        return done

    return run


@pytest.fixture
def refused(nnfuzz: Run) -> Callable[..., str]:
    """The one sentence on standard error."""

    def run(*arguments: object) -> str:
        said = nnfuzz(*arguments, code=2).stderr.strip().splitlines()
        assert len(said) == 1, said
        return said[0]

    return run
