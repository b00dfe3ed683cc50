"""A run that is stopped, in whatever way and however often, ends where it would have ended."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from nnfuzz.concluding import conclude
from nnfuzz.hunting import hunt, record, resume, search
from nnfuzz.hunting.record import Recorder
from nnfuzz.records import Finding, Step
from nnfuzz.store import Run
from tests.store.hunts import TRIES, Quiet, ask, elsewhere, everything, monotone, same

Process = Callable[..., BaseProcess]
MANY = 64 * 250


def assert_equal(run: Path, whole: Path) -> None:
    got, wanted = everything(run), everything(whole)
    for name in wanted:
        assert same(got[name], wanted[name]), name
    assert monotone(run)


class Breaks(Recorder):
    """Off in the middle of a step."""

    def read(self, step: Step) -> list[Finding]:
        if self.tally.steps == 7:
            raise KeyboardInterrupt
        return super().read(step)


def test_what_came_after_a_checkpoint_is_there_and_found_again(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(record, "COMMIT", 0.0)
        patch.setattr(record, "SHARE", 1e12)  # after the first checkpoint, which is before any step, none for ages
        patch.setattr(search, "Recorder", Breaks)
        with pytest.raises(KeyboardInterrupt):
            hunt(ask("run", TRIES), Quiet())
    with closing(sqlite3.connect("run/run.db")) as base:
        assert base.execute("SELECT step FROM checkpoint").fetchall() == [(0,)]
    assert [step["step"] for step in Run(place / "run").steps()] == list(range(1, 8))
    assert Run(place / "run").findings
    resume(Path("run"), Quiet())
    hunt(ask("whole", TRIES), Quiet())
    assert_equal(place / "run", place / "whole")


@pytest.mark.slow
def test_killed_at_25_random_moments(place: Path, process: Process) -> None:
    process(target=elsewhere, args=(str(place), "whole", MANY, True, False)).start()
    chance, kills, reached = random.Random(0), 0, set()
    while kills < 25:
        begun = (place / "run" / "run.json").exists()
        one = process(target=elsewhere, args=(str(place), "run", MANY, not begun))
        one.start()
        one.join(chance.uniform(0.3, 1.2))
        if one.is_alive():
            one.kill()
            kills += 1
        one.join()
        torn(place / "run")
        if (place / "run" / "run.json").exists():
            reached.add(len(Run(place / "run").steps()))
    assert len(reached) > 5, "it was killed at different steps"
    last = process(target=elsewhere, args=(str(place), "run", MANY, False, False))
    last.start()
    last.join()
    assert last.exitcode == 0
    assert_equal(place / "run", place / "whole")
    assert {finding.kind for finding in Run(place / "run").findings} == {"misclassified", "not-finite", "raised"}


def said_of(path: Path) -> None:
    """What stands in the folder of a run that may have been killed is one story, and reading it changes nothing."""
    before = sorted(path.iterdir()), (path / "summary.json").read_bytes()
    found, result = conclude(path)
    counters = found.run.steps()[-1]
    for name in ("tries", "executed", "findings", "distinct_findings", "seeds_hit", "corpus"):
        assert result[name] == counters[name], name
    assert result["distinct_findings"] == len(found.findings) > 0
    page = (path / "report.html").read_text(encoding="utf-8")
    if result["ended"] == "not yet":
        assert "Not ended" in page
        (path / "report.html").unlink()
        assert (sorted(path.iterdir()), (path / "summary.json").read_bytes()) == before
    (path / "report.html").unlink(missing_ok=True)


def torn(run: Path) -> None:
    """Whatever has a finding's name is a whole picture."""
    from PIL import Image

    for file in (run / "findings").glob("[0-9]*"):
        with Image.open(file) as image:
            assert image.size == (8, 8)
            image.load()


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
        signal.SIGKILL,
    ],
)
def test_stopped_once(place: Path, process: Process, number: signal.Signals) -> None:
    tries = 64 * 40
    one = process(target=elsewhere, args=(str(place), "run", tries, True))
    one.start()
    deadline = time.monotonic() + 60
    while not ((place / "run" / "run.db").exists() and Run(place / "run").findings) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert one.pid
    os.kill(one.pid, number)
    one.join()
    assert one.exitcode == (-number if number == signal.SIGKILL else 0)
    run = Run(place / "run")
    assert 0 < len(run.steps()) < 40 or number == signal.SIGKILL
    assert run.result["ended"] == ("not yet" if number == signal.SIGKILL else "interrupted")
    said_of(place / "run")
    last = process(target=elsewhere, args=(str(place), "run", tries, False, False))
    last.start()
    last.join()
    assert last.exitcode == 0
    whole = process(target=elsewhere, args=(str(place), "whole", tries, True, False))
    whole.start()
    whole.join()
    assert_equal(place / "run", place / "whole")
