"""What a failed run found is tried first, with the answers of the model as it is now."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from nnfuzz.gate import at_least, conditions
from nnfuzz.hunting import Hunt, hunt
from nnfuzz.picture import as_image
from nnfuzz.records import Finding, Kind, Mutation
from nnfuzz.regressions import MOST, one_a_seed, remember, retry
from nnfuzz.store import Run

MODEL = """
import torch
from torch import nn

class Half(nn.Module):
    def __init__(self):
        super().__init__()
        self.look = nn.Conv2d(1, 1, 1)

    def forward(self, x):
        x = x + 0 * self.look(x)
        return self.wrong(torch.stack([x[..., :4].mean((1, 2, 3)), x[..., 4:].mean((1, 2, 3))], 1), x)

    def wrong(self, logits, x):
        return logits

class Flipped(Half):
    def wrong(self, logits, x):
        return torch.where((x.amax((1, 2, 3)) > 0.9)[:, None], logits.flip(1), logits)

class Nan(Half):
    def wrong(self, logits, x):
        return torch.where((x.amax((1, 2, 3)) > 0.9)[:, None], float("nan"), logits)

class Raises(Half):
    def wrong(self, logits, x):
        if x.max() > 0.9:
            raise ValueError("too bright")
        return logits
"""
DATA = "images.npz"


def bright(side: int, level: int = 250) -> torch.Tensor:
    x = torch.zeros(1, 8, 8, dtype=torch.uint8)
    x[..., 4 * side : 4 * side + 4] = level
    return x


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(MODEL)
    np.savez(tmp_path / DATA, x=np.stack([bright(i % 2, 100 + i).numpy() for i in range(8)]), y=np.arange(8) % 2)
    return tmp_path


def write(run: Path, number: int, x: torch.Tensor, right: int, kind: Kind = Kind.MISCLASSIFIED) -> Finding:
    image = f"findings/{number:06d}.png"
    (run / "findings").mkdir(parents=True, exist_ok=True)
    as_image(x).save(run / image)
    moved = (Mutation("shift", (1.0,)),)
    return Finding(number, kind.label, image, number, right, (right,), (1 - right,), (0.9,), moved, 3, 3, 0.1)


@pytest.fixture
def stored(place: Path) -> Path:
    """Two findings: one a model's flip makes wrong, one that is never wrong."""
    run = place / "run"
    remember(place / "stored", run, [write(run, 0, bright(0), 0), write(run, 1, bright(1, 200), 1)])
    shutil.rmtree(run / "findings")
    return place / "stored"


def test_nothing_stored_costs_nothing(place: Path) -> None:
    assert retry(place / "stored", Hunt("no such model", "nor such data")).still == ()


def test_what_is_fixed_is_dropped_and_the_rest_stays(place: Path, stored: Path) -> None:
    tried = retry(stored, Hunt("net.py:Flipped", DATA))
    assert tried.fixed == 1
    (still,) = tried.still
    assert (still.finding.seed, still.finding.answers, still.run) == (0, (1,), str(place / "run"))
    assert [path.name for path in stored.glob("*.png")] == [still.finding.image]
    assert tried.counted() == {"errors": 1, "findings": 1, "seeds_hit": 1, "misclassified": 1}
    assert retry(stored, Hunt("net.py:Flipped", DATA)) == replace(tried, fixed=0)
    assert retry(stored, Hunt("net.py:Half", DATA)).fixed == 1
    assert not list(stored.glob("*.png"))


@pytest.mark.parametrize(("model", "kind"), [("Nan", Kind.NOT_FINITE), ("Raises", Kind.RAISED)])
def test_what_is_wrong_in_another_way_is_still_wrong(stored: Path, model: str, kind: Kind) -> None:
    (still,) = retry(stored, Hunt(f"net.py:{model}", DATA)).still
    assert still.finding.kind == kind.label
    assert ("too bright" in still.finding.error) == (model == "Raises")


def test_images_of_another_size_are_dropped(place: Path, stored: Path) -> None:
    np.savez(place / DATA, x=np.zeros((4, 12, 12), np.uint8), y=np.zeros(4, int))
    assert retry(stored, Hunt("net.py:Flipped", DATA)).fixed == 2


@pytest.mark.parametrize("content", ["", "{", "[1]", '[{"run": "r", "finding": {"id": 1}}]', "null"])
def test_a_damaged_store_is_an_empty_one(stored: Path, content: str) -> None:
    (stored / "stored.json").write_text(content)
    assert retry(stored, Hunt("net.py:Flipped", DATA)).still == ()


def test_equal_images_are_stored_once_no_more_than_needed_and_none_that_hangs(place: Path) -> None:
    run = place / "run"
    many = [write(run, i, bright(0, 255 - i // 2), 0) for i in range(2 * MOST + 20)]
    remember(place / "stored", run, [write(run, 999, bright(1), 1, Kind.HUNG), *many])
    tried = retry(place / "stored", Hunt("net.py:Nan", DATA))
    assert len(tried.still) + tried.fixed == MOST
    assert 999 not in [one.finding.id for one in tried.still]


def test_the_first_of_each_seed_comes_first(place: Path) -> None:
    a, b, c = (write(place / "run", i, bright(0), 0) for i in range(3))
    assert one_a_seed([a, replace(b, seed=0), c]) == [a, c, replace(b, seed=0)]


def test_a_run_folder_is_read(place: Path) -> None:
    from nnfuzz.pytest_plugin import Listening

    result = hunt(Hunt("net.py:Nan", DATA, criteria=("nc",), tries=400, out="run"), Listening())
    found = Run(Path("run")).findings
    assert len(found) == result["distinct_findings"] > 0
    assert {one.kind for one in found} == set(result["kinds"])
    assert all((Path("run") / one.image).is_file() and one.right == one.seed % 2 for one in found)


@pytest.mark.parametrize("model", ["Mended", "Broken"])
def test_two_versions_are_tried_again_as_two(place: Path, model: str) -> None:
    """What the new version gets wrong is not fixed because the old one is right."""
    (place / "net.py").write_text(MODEL.replace("class Nan", "class Mended(Half): one = 1\n\nclass Nan"))
    found = replace(write(place / "run", 0, bright(0), 0, Kind.REGRESSION), seed_answers=(0, 0), answers=(0, 1))
    remember(place / "stored", place / "run", [found])
    new = {"Mended": "net.py:Mended", "Broken": "net.py:Flipped"}[model]
    tried = retry(place / "stored", Hunt("net.py:Half", DATA, "drfuzz", beside=(new,)))
    assert [one.finding.answers for one in tried.still] == ([(0, 1)] if model == "Broken" else [])
    assert tried.fixed == (model == "Mended")
    assert bool(at_least(conditions(["regressions>0"]), tried.counted())) == (model == "Broken")


def test_models_that_disagree_are_tried_together(place: Path) -> None:
    found = replace(write(place / "run", 0, bright(0), 0, Kind.DISAGREEING), seed_answers=(0, 0), answers=(0, 1))
    remember(place / "stored", place / "run", [found])
    ask = Hunt("net.py:Half", DATA, "deepxplore", beside=("net.py:Flipped",))
    assert [one.finding.answers for one in retry(place / "stored", ask).still] == [(0, 1)]
    assert retry(place / "stored", replace(ask, beside=("net.py:Half",))).fixed == 1
