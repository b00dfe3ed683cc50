"""Stored findings executed again: by the same model, by a mended one, by a worse one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from nnfuzz import data
from nnfuzz.errors import NnfuzzError
from nnfuzz.hunting import Hunt, hunt
from nnfuzz.hunting.replay import CHANGED, FIXED, REPRODUCED, replay
from nnfuzz.opening import Settings
from nnfuzz.store import Run
from tests.store.hunts import Quiet, ask


def test_every_finding_comes_again(run: Path) -> None:
    findings = Run(run).findings
    assert {finding.kind for finding in findings} == {"misclassified", "not-finite", "raised"}
    done = list(replay(run))
    assert [one.finding.id for one in done] == [finding.id for finding in findings]
    assert {one.status for one in done} == {REPRODUCED}


def test_a_mended_model_and_another_one(run: Path) -> None:
    before = {finding.id: finding for finding in Run(run).findings}
    mended = {one.finding.id: one for one in replay(run, model="net.py:Mended")}
    broken = [one for one in mended.values() if before[one.finding.id].kind != "misclassified"]
    assert all(one.kind not in ("not-finite", "raised") for one in mended.values())
    assert {one.status for one in broken} <= {FIXED, CHANGED}
    assert any(one.status == FIXED for one in broken)
    other = list(replay(run, model="net.py:Other"))
    wrong = [one for one in other if one.finding.kind == "misclassified"]
    assert {one.status for one in wrong} == {FIXED}, "of two classes, the other answer is the right one"
    assert any(one.status == CHANGED for one in replay(run, model="net.py:Fragile"))


def test_ids_that_there_are_and_one_that_there_is_not(run: Path) -> None:
    assert [one.finding.id for one in replay(run, [4, 2, 4])] == [4, 2]
    with pytest.raises(NnfuzzError, match=r"expected ids of findings in .* \(0 to \d+\), and came 100000"):
        list(replay(run, [2, 100_000]))


def test_the_model_is_fed_as_it_was(place: Path) -> None:
    fed = Settings(mean=(0.4,), std=(0.25,), batch_size=32)
    hunt(Hunt("net.py:Shifted", "images.npz", tries=300, out="run", settings=fed), Quiet())
    assert Run(place / "run").findings
    assert {one.status for one in replay(place / "run")} == {REPRODUCED}
    assert {one.status for one in replay(place / "run", settings=Settings(batch_size=5))} == {REPRODUCED}
    assert FIXED in {one.status for one in replay(place / "run", settings=Settings(mean=(5.0,)))}


def test_what_is_not_repeated_is_kept_and_said(place: Path) -> None:
    hunt(ask("run", 600, "net.py:Random"), Quiet())
    findings = Run(place / "run").findings
    counts = {finding.repeated for finding in findings if finding.asked == 2}
    assert counts == {0, 1, 2}
    assert all(finding.confirmed == (finding.repeated == 2) for finding in findings)
    assert Run(place / "run").steps()[-1]["flaky"] == sum(not finding.confirmed for finding in findings)


def test_confirmed_means_alone_and_in_another_batch(place: Path) -> None:
    """A model that is only wrong where others stand in front of it."""
    hunt(ask("run", 300, "net.py:Crowded"), Quiet())
    confirmed = {finding.id for finding in Run(place / "run").findings if finding.confirmed}
    alone = list(replay(place / "run", settings=Settings(batch_size=1)))
    assert 0 < len(confirmed) < len(alone)
    assert confirmed <= {one.finding.id for one in alone if one.status == REPRODUCED}


def test_the_clock_stops_for_confirmation(run: Path) -> None:
    findings, steps = Run(run).findings, Run(run).steps()
    assert [f.seconds for f in findings] == sorted(f.seconds for f in findings)
    first = json.loads((run / "summary.json").read_text())["first_finding_seconds"]
    assert first == pytest.approx(findings[0].seconds, abs=0.05)
    assert len(steps) > 1


def test_exit_codes(run: Path, nnfuzz: Callable[..., str]) -> None:
    said = nnfuzz("replay", run, code=1)
    assert "REPRODUCED" in said
    assert "REPRODUCED" not in nnfuzz("replay", run, 100_000, code=2)
    wrong = [finding.id for finding in Run(run).findings if finding.kind == "misclassified"]
    assert "FIXED" in nnfuzz("replay", run, *wrong[:3], "--model", "net.py:Other", code=0)
    result = json.loads(nnfuzz("replay", run, "--json", code=1), parse_constant=pytest.fail)
    assert result["reproduced"] == result["replayed"] == len(Run(run).findings)
    assert {"id", "image", "status", "kind", "answers", "confidences", "was"} == result["findings"][0].keys()


@pytest.mark.slow
def test_a_thousand_findings_of_lenet5(tmp_path: Path) -> None:
    weights = data.folder() / "models" / "mnist-lenet5.safetensors"
    torch.set_num_threads(2)
    try:
        hunt(Hunt(f"lenet5@{weights}", "mnist", "random", tries=24_000, out=str(tmp_path / "run")), Quiet())
        ids = [finding.id for finding in Run(tmp_path / "run").findings if finding.confirmed][:1000]
        assert len(ids) == 1000
        for threads, batch_size in ((2, None), (1, 7), (2, 256)):
            torch.set_num_threads(threads)
            done = list(replay(tmp_path / "run", ids, settings=Settings(batch_size=batch_size)))
            assert [one.status for one in done] == [REPRODUCED] * 1000, (threads, batch_size)
    finally:
        torch.set_num_threads(2)
