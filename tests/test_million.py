"""A corpus larger than the memory it may take."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nnfuzz import data

CODE = """
import torch
from torch import nn

class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool, self.fc = nn.AvgPool2d(7), nn.Linear(16, 10)
        nn.init.eye_(self.fc.weight)

    def forward(self, x):
        return self.fc(self.pool(x).flatten(1))
"""
MILLION = 1_000_000


@pytest.mark.slow
def test_a_million_seeds_in_less_than_three_gib(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(CODE)
    x = data.load("mnist", "train").x[:, 0].numpy()
    file = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.uint8, (MILLION, 28, 28))
    rng = np.random.default_rng(0)
    for start in range(0, MILLION, len(x)):
        part = x[: MILLION - start]
        file[start : start + len(part)] = part | rng.integers(0, 8, part.shape, np.uint8)
    np.savez(tmp_path / "million.npz", x=file)
    del file
    (tmp_path / "x.npy").unlink()
    hunt = ["hunt", "net.py:Small", "--data", "million.npz", "--seeds", str(MILLION), "--tries", "20000", "--criterion",
            "nc", "--corpus-ram", "0.5", "--threads", "1", "--json", "--out", "run"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "nnfuzz", *hunt], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "NNFUZZ_DATA": str(tmp_path / "home")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["seeds"] == MILLION
    assert result["corpus"] >= MILLION - result["seeds_set_aside"]
    # Of the largest child that there ever was: what other tests started is far smaller.
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert peak / 2**20 < 3, "GiB"
