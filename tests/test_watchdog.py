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
from tests.conftest import arrays

CODE = """
import ctypes
import torch
from torch import nn

class Hangs(nn.Module):
    def forward(self, x):
        bright = x.mean((1, 2, 3)) > 0.448
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
    hunt = ["hunt", "net.py:Hangs", "--data", "images.npz", "--tries", "600", "--hang-seconds", "1", "--out", "run"]
    ended = nnfuzz(tmp_path, *hunt)
    assert ended.returncode == -signal.SIGKILL
    assert "nnfuzz resume" in ended.stderr
    run = tmp_path / "run"
    assert [file.name for file in (run / "hung").iterdir()] == ["00.npz"]
    hung = arrays(run / "hung" / "00.npz")["x"]
    assert len(hung) == 1, "the one input, not the batch that it was in"
    assert hung.mean() / 255 > 0.448
    done = nnfuzz(tmp_path, "resume", "run", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kinds"]["hung"] == 1
    (finding,) = (finding for finding in Run(run).findings if finding.kind == "hung")
    assert finding.mutations, "it has its lineage"
    assert (Run(run).pixels(finding).numpy() == hung[0]).all()
    assert finding.answers == (-1,)

    again = nnfuzz(tmp_path, "replay", "run", str(finding.id), "0", "--json")
    assert again.returncode == 1
    assert [one["status"] for one in json.loads(again.stdout)["findings"]] == ["REPRODUCED"] * 2
    net = tmp_path / "net.py"
    net.write_text(net.read_text().replace("if bright.any()", "if False"))
    mended = nnfuzz(tmp_path, "replay", "run", str(finding.id), "--json")
    assert json.loads(mended.stdout)["reproduced"] == 0
    assert [file.name for file in (run / "hung").iterdir()] == ["00.npz"], "a replay leaves the run as it is"


def nnfuzz(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nnfuzz", *arguments], cwd=folder, capture_output=True, text=True, timeout=200,
        env={**os.environ, "NNFUZZ_DATA": str(folder / "home")},
    )  # fmt: skip
