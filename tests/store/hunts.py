"""A hunt on a small network that does all that networks do wrong, and what is left of it to compare."""

from __future__ import annotations

import csv
import json
import os
import sqlite3
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nnfuzz.hunting import Hunt, hunt, record, resume
from nnfuzz.hunting.record import Recorder
from nnfuzz.opening import Settings
from nnfuzz.records import Finding, Step
from nnfuzz.store.packing import unpack

TRIES = 600

CODE = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.fc = nn.Conv2d(1, 2, 3), nn.Linear(2, 2)
        for p in self.parameters():
            nn.init.constant_(p, 0.1)

    def forward(self, x):
        left, right = x[..., :4].mean((1, 2, 3)), x[..., 4:].mean((1, 2, 3))
        scores = torch.stack([left, right], 1) * 9 + 0 * self.fc(self.conv(x).relu().mean((2, 3)))
        light = x.mean((1, 2, 3))
        if light.max() > 0.44:
            raise ValueError("too bright")
        return scores.where(light[:, None] < 0.42, float("nan"))

class Mended(Net):
    def forward(self, x):
        return super().forward(x.clamp_max(0.41))

class Other(Net):
    def forward(self, x):
        return -super().forward(x)

class Random(Net):
    def forward(self, x):
        left, right = x[..., :4].mean((1, 2, 3)), x[..., 4:].mean((1, 2, 3))
        noise = torch.randn(len(x), 2, generator=self.rng) * 0.3
        return torch.stack([left, right], 1) * 9 + noise + 0 * self.fc(self.conv(x).relu().mean((2, 3)))

    rng = torch.Generator().manual_seed(0)

class Shifted(Net):
    def forward(self, x):
        return super().forward((x * 0.25 + 0.4).clamp(0, 0.41))

class Fragile(Mended):
    def forward(self, x):
        return super().forward(x).where(x.mean((1, 2, 3))[:, None] < 0.42, float("nan"))

class Crowded(Mended):
    def forward(self, x):
        return super().forward(x.clamp_max(0.41)) * torch.where(torch.arange(len(x)) == 20, -1.0, 1.0)[:, None]
"""


def lay_out(place: Path) -> None:
    """The network, and images whose brighter half is the label."""
    (place / "net.py").write_text(CODE)
    rng = np.random.default_rng(0)
    label = np.arange(40) % 2
    x = rng.integers(60, 100, (40, 8, 8))
    x[label == 0, :, :4] += 25
    x[label == 1, :, 4:] += 25
    np.savez(place / "images.npz", x=x.astype(np.uint8), y=label)


def ask(out: str, tries: int, model: str = "net.py:Net", **options: Any) -> Hunt:
    return Hunt(
        model, "images.npz", criteria=("nc", "kmnc"), tries=tries, seed=3, out=out,
        parameters={"rows": 64, "power": 16}, settings=Settings(batch_size=32), **options,
    )  # fmt: skip


class Quiet:
    """A Watch that keeps what it is told."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def say(self, name: str, text: str) -> None:
        self.said.append((name, text))

    def tick(self, snapshot: dict[str, Any]) -> None: ...


class Slow(Recorder):
    """Takes its time, so that there are many moments to be killed at."""

    def read(self, step: Step) -> list[Finding]:
        time.sleep(0.01)
        found = super().read(step)
        time.sleep(0.01)
        return found


def elsewhere(place: str, out: str, tries: int, begin: bool, slow: bool = True) -> None:
    """A hunt in a process of its own, begun or gone on with."""
    from nnfuzz.hunting import search

    os.environ["NNFUZZ_DATA"] = f"{place}/home"
    os.chdir(place)
    torch.set_num_threads(1)
    record.COMMIT, record.CHECKPOINT = 0.02, 0.05
    if slow:
        search.Recorder = Slow  # type: ignore[misc]
    if begin:
        hunt(ask(out, tries), Quiet())
    else:
        resume(Path(out), Quiet())


def command(place: str, arguments: Sequence[str]) -> None:
    """The command line in a process of its own, its standard output in the file `out`."""
    from nnfuzz.cli import main

    os.environ["NNFUZZ_DATA"] = f"{place}/home"
    os.chdir(place)
    sys.argv = ["nnfuzz", *arguments]
    with open("out", "w") as sys.stdout:
        main()


def same(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(same(one, other) for one, other in zip(a, b, strict=True))
    return bool(a == b)


def everything(run: Path) -> dict[str, Any]:
    """All of a run folder that is the same in every run with the same seed."""
    with closing(sqlite3.connect(run / "run.db")) as base:
        base.row_factory = sqlite3.Row
        rows = {name: [dict(row) for row in base.execute(f"SELECT * FROM {name}")] for name in
                ("steps", "corpus", "findings", "seeds", "checkpoint")}  # fmt: skip
    (checkpoint,) = rows.pop("checkpoint")
    state = unpack(checkpoint["state"])
    for row in (*rows["steps"], *rows["findings"], state["tally"], *rows["corpus"]):
        row.pop("seconds", None)
    state["tally"].pop("first_finding_seconds")
    result = json.loads((run / "summary.json").read_text())
    clocks = ("seconds", "tries_per_second", "setup_seconds", "first_finding_seconds", "run")
    result = {name: value for name, value in result.items() if name not in clocks}
    configuration = json.loads((run / "run.json").read_text())
    for name in ("asked", "signed"):
        configuration.pop(name)
    return {
        **rows, "state": state, "at": checkpoint["step"], "result": result, "configuration": configuration,
        "pictures": {file.name: file.read_bytes() for file in (run / "findings").iterdir()},
        "names": sorted(str(file.relative_to(run)) for file in run.rglob("*")),
    }  # fmt: skip


def monotone(run: Path) -> bool:
    """Do the counters and the clock of stats.csv only rise?"""
    with (run / "stats.csv").open(newline="") as file:
        head, *rows = csv.reader(file)
    rising = ("seconds", "tries", "executed", "findings", "distinct_findings", "seeds_hit", "corpus", "nc", "KMNC")
    columns = [i for i, name in enumerate(head) if name in rising]
    values = [[float(row[i]) for i in columns] for row in rows]
    return all(all(x <= y for x, y in zip(a, b, strict=True)) for a, b in pairwise(values))
