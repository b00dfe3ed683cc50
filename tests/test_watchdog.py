"""A model that never comes back: the run is ended, its input kept, and the run goes on without it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nnfuzz.store import Run

CODE = """
import ctypes
import torch
from torch import nn

class Hangs(nn.Module):
    def forward(self, x):
        bright = x.mean((1, 2, 3)) > 0.44
        if bright.any():
            ctypes.PyDLL(None).sleep(1000)  # holds the interpreter's lock: no signal handler and no thread can run
        left, right = x[..., :4].mean((1, 2, 3)), x[..., 4:].mean((1, 2, 3))
        return torch.stack([left, right], 1) * 9
"""


@pytest.mark.slow
def test_a_hang_is_ended_and_its_input_found(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(CODE)
    rng = np.random.default_rng(0)
    label = np.arange(40) % 2
    x = rng.integers(60, 100, (40, 8, 8))
    x[label == 0, :, :4] += 25
    x[label == 1, :, 4:] += 25
    np.savez(tmp_path / "images.npz", x=x.astype(np.uint8), y=label)
    hunt = ["hunt", "net.py:Hangs", "--data", "images.npz", "--tries", "300", "--hang-seconds", "2", "--out", "run"]
    assert nnfuzz(tmp_path, *hunt).returncode == -signal.SIGKILL
    run = tmp_path / "run"
    hung = np.load(run / "hung" / "00.npz")["x"]
    assert len(hung) == 1, "the one input, not the batch that it was in"
    assert hung.mean() / 255 > 0.44
    for _ in range(40):  # inputs that hang are many here, and each ends the run once
        done = nnfuzz(tmp_path, "resume", "run", "--json")
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
        assert "nnfuzz resume" in done.stderr
    assert json.loads(done.stdout)["kinds"]["hung"] > 0
    kinds = {finding.kind: finding for finding in Run(run).findings}
    assert kinds["hung"].mutations, "it has its lineage"
    assert Run(run).pixels(kinds["hung"]).float().mean() / 255 > 0.44


def nnfuzz(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nnfuzz", *arguments], cwd=folder, capture_output=True, text=True, timeout=200,
        env={**os.environ, "NNFUZZ_DATA": str(folder / "home")},
    )  # fmt: skip
