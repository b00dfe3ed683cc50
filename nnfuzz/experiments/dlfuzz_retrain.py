"""Section 4.2: training goes on with the inputs that were found, and without them to compare."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from nnfuzz import models
from nnfuzz.campaign import seeded
from nnfuzz.data import Images
from nnfuzz.errors import NnfuzzError
from nnfuzz.experiments.dlfuzz_published import GAIN, RETRAINED
from nnfuzz.experiments.dlfuzz_runs import search
from nnfuzz.experiments.dlfuzz_table1 import walk
from nnfuzz.experiments.subjects import Studied, right_seeds
from nnfuzz.experiments.table import Line, Result, Table
from nnfuzz.hunting import Watch
from nnfuzz.target import Target

EPOCHS, RATE = 5, 0.01
ROWS = 10_000  # training images that it goes on with
IMAGES = 60  # to search from
COLUMNS = ("test accuracy %", "gain, points", "right on fresh inputs %")


@dataclass(frozen=True, eq=False)
class Labelled:
    x: Tensor
    label: Tensor
    classes: tuple[str, ...]


def measure(
    studied: Studied, target: Target, bound: Mapping[str, Any], seed: int, watch: Watch, stopped: Callable[[], bool]
) -> list[dict[str, Any]]:
    """Inputs found from training images join the training set; those found from test images stay unseen."""
    if studied.train is None:
        raise NnfuzzError(f"expected training images for {studied.name}, and there are none; leave out --table retrain")
    options = {**walk(studied), **bound}
    added, fresh = (_found(images, options, target, seed, stopped) for images in (studied.train, studied.images))
    if stopped() or not len(added.label):
        return []
    rows = torch.randperm(len(studied.train), generator=seeded(seed))[:ROWS]
    plain = Labelled(studied.train.x[rows], studied.train.label[rows], studied.train.classes)
    more = Labelled(torch.cat([plain.x, added.x]), torch.cat([plain.label, added.label]), plain.classes)
    before = models.accuracy(studied.model, studied.images)
    found = []
    for name, images in (("without", plain), (f"with {len(added.label)}", more)):
        watch.say(name, f"{studied.name}, {EPOCHS} epochs of {len(images.label):,} images")
        model = replace(studied.model, net=copy.deepcopy(studied.model.net))
        trained = models.train(model, images, studied.images, epochs=EPOCHS, lr=RATE, seed=seed)
        found.append({
            "model": studied.name, "training": name, "before": before,
            "epochs": [epoch.test for epoch in trained.history],
            "fresh": models.accuracy(model, fresh), "fresh_inputs": len(fresh.label),
        })  # fmt: skip
    return found


def _found(
    images: Images, options: Mapping[str, Any], target: Target, seed: int, stopped: Callable[[], bool]
) -> Labelled:
    """The first inputs found from these images, under the labels of what they were made from."""
    seeds = right_seeds((target,), images, IMAGES, seed)
    done = search("dlfuzz", target, seeds, options, seed, stopped, enough=RETRAINED)
    return Labelled(done.x[:RETRAINED], seeds.label[done.seed[:RETRAINED]], images.classes)


def table(results: Sequence[Result]) -> Table:
    lines = []
    for model in dict.fromkeys(r["model"] for r in results):
        mine = [r for r in results if r["model"] == model]
        lines += [Line(model if i == 0 else "", r["training"], _cells(r)) for i, r in enumerate(mine)]
    notes = [
        f"{EPOCHS} more epochs on {ROWS:,} training images, without and with inputs found from training images; gain:"
        f" best epoch over the accuracy before. The paper gains up to {GAIN} points with {RETRAINED} inputs, and does"
        " not say how much of that more training alone gives.",
        "right on fresh inputs: found from test images on the old model, which reads none of them.",
    ]
    return Table("retrain", "Section 4.2: retraining with what was found", COLUMNS, lines, notes)


def _cells(r: Mapping[str, Any]) -> dict[str, str]:
    best = max(r["epochs"])
    return {
        "test accuracy %": f"{100 * r['before']:.2f} → {100 * best:.2f}",
        "gain, points": f"{100 * (best - r['before']):+.2f}",
        "right on fresh inputs %": f"{100 * r['fresh']:.1f} of {r['fresh_inputs']}",
    }
