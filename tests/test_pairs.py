"""Findings of two versions: what is stored, counted and made smaller."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from nnfuzz.concluding import Triaged, models, numbered, plain
from nnfuzz.hunting.replay import judge
from nnfuzz.hunting.smaller import _still
from nnfuzz.minimize import minimize
from nnfuzz.mutators import brightness
from nnfuzz.opening import Subject
from nnfuzz.records import Finding, Kind, Seen
from nnfuzz.store import Run, RunFolder
from nnfuzz.target import Target
from tests.report.pages import finding


def pair(id: int, **changed: Any) -> Finding:
    usual = {"kind": "regression", "label": 1, "seed_answers": (1, 1), "answers": (1, 0), "confidences": (0.9, 0.8)}
    return finding(id, **{**usual, "image": f"findings/{id:06d}-regression.png", **changed})


def versions(x: Tensor) -> Seen:
    """The old one reads 1 up to a mean of 200, the new one up to 150 only."""
    mean = x.double().mean((1, 2, 3))
    logits = torch.stack([torch.stack([mean - limit, limit - mean], 1) for limit in (200.5, 150.5)])
    return Seen(logits, torch.zeros(len(x), 0))


@pytest.mark.parametrize("doubtful", [None, True, False])
def test_a_doubt_is_stored_with_its_finding(tmp_path: Path, doubtful: bool | None) -> None:
    folder = RunFolder.create(tmp_path / "run")
    folder.describe({})
    found = [pair(0, doubtful=doubtful), pair(1)]
    x = torch.zeros(2, 1, 4, 4, dtype=torch.uint8)
    folder.add(1, found, x, torch.zeros(2), torch.arange(2), torch.zeros(2, 3))
    folder.doubt({1: True})
    folder.checkpoint(1, {})
    folder.close()
    stored = Run(tmp_path / "run").findings
    assert [one.doubtful for one in stored] == [doubtful, True]
    assert (stored[0].answers, stored[0].answer, stored[0].confidence) == ((1, 0), 0, 0.8)


def test_doubtful_ones_are_counted_where_somebody_was_asked() -> None:
    found = Triaged(cast(Run, None), (pair(0, doubtful=True), pair(1, doubtful=False), pair(2)), (), 0)
    assert numbered(found)["doubtful"] == 1
    assert "doubtful" not in numbered(replace(found, findings=(pair(2),)))
    assert [plain(one)["doubtful"] for one in found.findings] == [True, False, None]


def test_the_models_of_a_run() -> None:
    assert models({"model": "old", "beside": ["new"]}) == ("old", "new")
    assert models({"model": "lenet5"}) == ("lenet5",)


def test_a_regression_is_made_smaller_while_the_old_version_is_right() -> None:
    seed = torch.full((1, 8, 8), 100, dtype=torch.uint8)
    subject = cast(Subject, SimpleNamespace(target=versions))
    param = torch.tensor([90.0], dtype=torch.float64)
    made = minimize(seed + 90, seed, [(brightness(), param)], _still(pair(0), subject))
    assert made.reproduced
    assert made.x.double().mean() == pytest.approx(150.5, abs=1)
    both = minimize(seed + 110, seed, [], _still(pair(0), subject))
    assert not both.reproduced  # of that the old version makes nothing either


def test_what_broke_once_is_judged_as_the_rest_of_its_run() -> None:
    """Where the new version no longer raises, it is not fixed because the old one is right."""
    x, target = torch.full((2, 1, 4, 4), 180, dtype=torch.uint8), cast(Target, versions)
    x[1] = 100
    found = [pair(0, kind="raised"), pair(1, kind="raised")]
    assert judge(found, x, torch.tensor([1, 1]), target, "regression")[0].tolist() == [Kind.REGRESSION, Kind.NOTHING]
