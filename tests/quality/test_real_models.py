"""Real networks: the figures that the README and the papers' pages speak of."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from nnfuzz import data
from nnfuzz.concluding import PAGE, conclude
from nnfuzz.hunting import Hunt, hunt
from nnfuzz.hunting.replay import REPRODUCED, replay
from nnfuzz.opening import Settings
from nnfuzz.store import Run

pytestmark = pytest.mark.slow
PUBLISHED_KMNC = {"lenet1": 0.922, "lenet4": 0.759, "lenet5": 0.784}  # Table 4, after 24 hours
CRITERIA = ("nc", "kmnc", "nbc", "snac", "tknc", "bknc")


class Silent:
    def say(self, name: str, text: str) -> None: ...
    def tick(self, snapshot: Any) -> None: ...


def go(model: str, images: str = "mnist", **options: Any) -> dict[str, Any]:
    return hunt(Hunt(model, images, **options), Silent())


@pytest.mark.parametrize("model", PUBLISHED_KMNC)
def test_kmnc_passes_the_papers_24_hours(model: str) -> None:
    result = go(model, tries=400_000)
    assert result["coverage"]["kmnc"]["after"] >= PUBLISHED_KMNC[model]
    assert result["distinct_findings"] > 500
    assert result["first_finding_seconds"] < 10


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_criterion_finds_errors_in_lenet5(criterion: str) -> None:
    result = go("lenet5", criteria=(criterion,), tries=30_000)
    coverage = result["coverage"][criterion]
    assert coverage["after"] > coverage["before"]
    assert result["distinct_findings"] > 100


def test_resnet20() -> None:
    result = go("resnet20", "cifar10", tries=4000, seeds=300)
    assert result["coverage"]["kmnc"]["after"] > result["coverage"]["kmnc"]["before"]
    assert result["distinct_findings"] > 50


def test_mobilenet_on_photographs(tmp_path: Path) -> None:
    """What is found is kept as it was executed: from its picture alone it fails again, and a page shows it."""
    run, images = tmp_path / "r", os.environ["NNFUZZ_TEST_IMAGES"]
    result = go("torchvision:mobilenet_v2", images, tries=150, seeds=40, criteria=("kmnc", "nbc"), out=str(run))
    kept = Run(run)
    assert len(kept.findings) == result["distinct_findings"] > 5
    assert kept.pixels(kept.findings[0]).shape == (3, 224, 224)
    assert {one.status for one in replay(run)} == {REPRODUCED}
    groups = conclude(run)[0].groups
    assert sum(group.size for group in groups) == len(kept.findings)
    assert 'src="data:image/' in (run / PAGE).read_text(encoding="utf-8")


def test_a_run_is_the_same_again_on_a_real_network(tmp_path: Path) -> None:
    for name in ("a", "b"):
        go("lenet5", tries=20_000, out=str(tmp_path / name), settings=Settings(batch_size=512))
    a, b = ({p.name: p.read_bytes() for p in (tmp_path / n / "findings").iterdir()} for n in ("a", "b"))
    assert a == b
    assert len(a) > 100


def test_a_published_pair_of_versions() -> None:
    """DRFuzz's row 1 with a guard: a few seconds of search show hundreds of regressions."""
    old, new = (f"lenet5-valid@{data.folder()}/models/drfuzz-mnist-lenet5-supply-{v}.safetensors" for v in ("v1", "v2"))
    pair: dict[str, Any] = {"beside": (new,), "oracle": "regression", "criteria": (), "seeds": 10_000}
    elites = go(old, recipe="elites", fidelity="label", tries=60_000, **pair)
    assert elites["regression_faults"] > 500
    assert elites["faults_in_seeds"] < elites["seeds_set_aside"] == 1468
    drfuzz = go(old, recipe="drfuzz", fidelity="consistent", tries=200_000, **pair)
    assert drfuzz["regression_faults"] > 100
    assert drfuzz["regression_inputs"] >= drfuzz["regression_inputs_distinct"] >= drfuzz["regression_faults"]
