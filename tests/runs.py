"""Fixtures: a place to hunt in, a finished run, the command line."""

from __future__ import annotations

import multiprocessing
import shutil
import sys
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from nnfuzz.cli import main
from nnfuzz.hunting import hunt
from tests.store.hunts import TRIES, Quiet, ask, lay_out


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NNFUZZ_DATA", str(tmp_path / "home"))
    lay_out(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place with a finished run in it; copy what you change."""
    place = tmp_path_factory.mktemp("shared")
    lay_out(place)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        patch.setenv("NNFUZZ_DATA", str(place / "home"))
        hunt(ask("run", TRIES), Quiet())
    return place


@pytest.fixture
def run(shared: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A finished run of one's own, beside the network and the images that it was made of."""
    monkeypatch.chdir(shared)
    monkeypatch.setenv("NNFUZZ_DATA", str(shared / "home"))
    files = {name: (shared / name).read_bytes() for name in ("net.py", "images.npz")}
    yield Path(shutil.copytree(shared / "run", shared / "mine"))
    shutil.rmtree(shared / "mine")
    for name, content in files.items():
        (shared / name).write_bytes(content)


@pytest.fixture
def nnfuzz(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """The command line, in this process; what it says on standard output."""

    def call(*arguments: object, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["nnfuzz", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        done = capsys.readouterr()
        assert (stop.value.code or 0) == code, done.out + done.err
        return done.out

    return call


@pytest.fixture(scope="session")
def process() -> Callable[..., BaseProcess]:
    """Processes that need not import everything anew; they come from one that never ran a thread."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.store.hunts"])
    return context.Process  # type: ignore[return-value]
