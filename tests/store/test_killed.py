"""A run that is stopped, in whatever way and however often, ends where it would have ended."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from nnfuzz.store import Run
from tests.store.hunts import elsewhere, everything, monotone, same

Process = Callable[..., BaseProcess]
MANY = 64 * 250


def assert_equal(run: Path, whole: Path) -> None:
    got, wanted = everything(run), everything(whole)
    for name in wanted:
        assert same(got[name], wanted[name]), name
    assert monotone(run)


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
    while not len(list((place / "run").glob("findings/*.png"))) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert one.pid
    os.kill(one.pid, number)
    one.join()
    assert one.exitcode == (-number if number == signal.SIGKILL else 0)
    run = Run(place / "run")
    assert 0 < len(run.steps()) < 40 or number == signal.SIGKILL
    if number != signal.SIGKILL:
        assert run.result["ended"] == "interrupted"
    last = process(target=elsewhere, args=(str(place), "run", tries, False, False))
    last.start()
    last.join()
    assert last.exitcode == 0
    whole = process(target=elsewhere, args=(str(place), "whole", tries, True, False))
    whole.start()
    whole.join()
    assert_equal(place / "run", place / "whole")
