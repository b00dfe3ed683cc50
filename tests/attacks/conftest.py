"""A real run, copied for each attack, and the commands that must refuse what was made of it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from nnfuzz import cli, data, models
from nnfuzz.concluding import conclude
from nnfuzz.hunting import Hunt, hunt
from nnfuzz.pytest_plugin import Listening

LOGS = ("run.db-wal", "run.db-shm")  # SQLite's own, beside a base that is only read


@pytest.fixture(scope="package")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with weights and a finished run with some findings."""
    root = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NNFUZZ_DATA", str(root / "home"))
        trained = models.train("digits", data.load("digits", "train"), data.load("digits"), epochs=2, batch=64)
        models.save(trained.model, root / "net.safetensors")
        ask = Hunt(f"digits@{root / 'net.safetensors'}", "digits", criteria=("tknc",), tries=40, seeds=60,
                   hang_seconds=None, out=str(root / "run"))  # fmt: skip
        hunt(ask, Listening())
        assert len(conclude(root / "run")[0].findings) >= 3
        with closing(sqlite3.connect(root / "run" / "run.db")) as base:
            base.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        yield root


@pytest.fixture
def run(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of this user's that somebody else has got at."""
    monkeypatch.setenv("NNFUZZ_DATA", str(made / "home"))
    return Path(shutil.copytree(made / "run", tmp_path / "run"))


Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def nnfuzz(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line; exit code, standard output and standard error come back."""

    def call(*args: object) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["nnfuzz", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return call


@pytest.fixture
def refused(nnfuzz: Command) -> Callable[..., str]:
    """Exit code 2, one sentence, and the folder as it was; the sentence comes back."""

    def call(folder: Path, *args: object) -> str:
        before = contents(folder)
        code, _, said = nnfuzz(*args)
        assert code == 2, said
        (line,) = (line for line in said.splitlines() if line.startswith("nnfuzz: "))
        assert "Traceback" not in said
        assert len(line) < 1000
        assert contents(folder) == before
        return line

    return call


def contents(folder: Path) -> dict[str, bytes | str]:
    """Everything in it; of a link where it leads."""
    found: dict[str, bytes | str] = {}
    for path in sorted(folder.rglob("*")):
        if path.name not in LOGS:
            name = str(path.relative_to(folder))
            found[name] = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
    return found
