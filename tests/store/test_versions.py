"""A run on two versions of a model, stopped and gone on with: it ends where it would have ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from nnfuzz.hunting import Hunt, hunt, record, resume, search
from nnfuzz.hunting.record import Recorder
from nnfuzz.opening import Settings
from nnfuzz.records import Finding, Step
from tests.store import versions
from tests.store.hunts import Quiet, everything, monotone, same

TRIES, EARLY = 64 * 9, 64 * 5


def ask(out: str, tries: int, recipe: str) -> Hunt:
    return Hunt(
        "two.py:Old", "thirds.npz", recipe, ("nc",), "regression", tries=tries, seed=3, out=out, beside=("two.py:New",),
        parameters={"rows": 64}, settings=Settings(batch_size=32), fidelity="consistent", threshold=2,
    )  # fmt: skip


def assert_equal(run: Path, whole: Path) -> None:
    got, wanted = everything(run), everything(whole)
    for name in wanted:
        assert same(got[name], wanted[name]), name
    assert monotone(run)


class Breaks(Recorder):
    """In the middle of a step, some steps after the last checkpoint."""

    def read(self, step: Step) -> list[Finding]:
        if self.tally.steps == 7:
            raise KeyboardInterrupt
        found = super().read(step)
        if self.tally.steps == 4:
            self.save()
        return found


def broken_off(one: Hunt, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(record, "CHECKPOINT", 1000.0)
        patch.setattr(search, "Recorder", Breaks)
        with pytest.raises(KeyboardInterrupt):
            hunt(one, Quiet())


@pytest.mark.parametrize("recipe", ["drfuzz", "elites"])
def test_stopped_early_and_broken_off(recipe: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    versions.lay_out(place)
    result = hunt(ask("whole", TRIES, recipe), Quiet())
    assert result["tries"] >= TRIES
    early = hunt(ask("early", EARLY, recipe), Quiet())
    assert 0 < early["regression_faults"] < result["regression_faults"]
    resume(Path("early"), Quiet(), tries=TRIES)
    assert_equal(place / "early", place / "whole")

    broken_off(ask("broken", TRIES, recipe), monkeypatch)
    watch = Quiet()
    resume(Path("broken"), watch)
    assert any(name == "goes on" and f"{4 * 64:,} mutants" in text for name, text in watch.said), (
        "behind where it broke"
    )
    assert_equal(place / "broken", place / "whole")
