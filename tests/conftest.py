"""Small nets and images that every test can use."""

from __future__ import annotations

import gc
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
import typer.main
from torch import Tensor, nn

from nnfuzz.records import Batch, Model
from nnfuzz.target import Target

pytest_plugins = ["pytester"]
# The command line is the same whenever it is called; typer would put it together anew hundreds of times.
typer.main.get_command = cache(typer.main.get_command)


def pytest_collection_finish() -> None:
    """What is imported by now stays: the collector need not look through all of torch again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """On networks as small as these, threads wait for each other longer than they work; on a busy machine, ten times
    as long."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0}, raising=False)
    torch.set_num_threads(1)


def arrays(path: str | Path) -> dict[str, np.ndarray]:
    """What an .npz file holds, with the file closed again."""
    with np.load(path) as file:
        return dict(file)


class Tiny(nn.Module):
    """Two convolutions and a linear layer on 1x8x8 images, 3 classes."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, padding=1)
        self.relu1 = nn.ReLU(inplace=True)
        self.pool = nn.MaxPool2d(2)
        self.conv2 = nn.Conv2d(4, 6, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(6)
        self.relu2 = nn.ReLU()
        self.flat = nn.Flatten()
        self.fc = nn.Linear(96, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(self.relu1(self.conv1(x)))
        return self.fc(self.flat(self.relu2(self.bn2(self.conv2(x)))))


@pytest.fixture
def tiny(images: Tensor) -> Model:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = Tiny()
    with torch.no_grad():  # an untrained network answers one class whatever it sees; centred, this one does not
        net.fc.weight.mul_(30)
        net.fc.bias.sub_(net.eval()(images / 255).mean(0))
    return Model(net.train(), "tiny")


@pytest.fixture
def images() -> Tensor:
    """64 images of smooth blobs, not noise: neighbouring pixels agree, as in real ones."""
    rng = torch.Generator().manual_seed(1)
    coarse = torch.rand(64, 1, 3, 3, generator=rng)
    return (nn.functional.interpolate(coarse, size=(8, 8), mode="bilinear") * 255).to(torch.uint8)


@pytest.fixture
def seeds(images: Tensor) -> Batch:
    return Batch.of_seeds(images, torch.arange(64) % 3)


@pytest.fixture
def target(tiny: Model, images: Tensor) -> Target:
    return Target(tiny, images, features=("scaled",))


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)
