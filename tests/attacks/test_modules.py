"""A folder from elsewhere may hold files that are named like Python's own modules."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nnfuzz.hunting.reopen import where
from nnfuzz.store import Run
from nnfuzz.watchdog import Watchdog

MODULES = ("select", "struct", "mmap", "runpy", "json", "nnfuzz", "numpy", "torch", "sitecustomize")


def planted(folder: Path) -> Path:
    """Every one of them says that it was run."""
    folder.mkdir(exist_ok=True)
    for name in MODULES:
        (folder / f"{name}.py").write_text(f"open({str(folder / 'PWNED')!r}, 'a').write('{name} ')\n")
    return folder / "PWNED"


def test_the_watchdog_takes_no_modules_from_where_it_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = planted(tmp_path / "evil")
    monkeypatch.chdir(tmp_path / "evil")
    with Watchdog(60.0, tmp_path) as guard:
        guard._other.stdin.close()  # type: ignore[union-attr]
        assert guard._other.wait(30) == 0
    assert not mark.exists()


@pytest.mark.slow  # a whole Python starts
def test_a_command_inside_a_folder_from_elsewhere(run: Path, tmp_path: Path) -> None:
    mark = planted(tmp_path / "evil")
    start = "import sys; sys.path.remove(''); from nnfuzz.cli import main; main()"  # as an installed command starts
    done = subprocess.run([sys.executable, "-c", start, "replay", str(run), "0"], cwd=mark.parent, capture_output=True)
    assert done.returncode == 1, done.stderr
    assert not mark.exists()


def test_a_run_from_elsewhere_does_not_choose_the_working_folder(run: Path, tmp_path: Path) -> None:
    asked = json.loads((run / "run.json").read_text())
    here = os.getcwd()
    with where(Run(run)):
        assert os.getcwd() == asked["folder"]
    (run / "run.json").write_text(json.dumps({**asked, "folder": str(tmp_path)}))
    with where(Run(run)):
        assert os.getcwd() == here
    with where(Run(run), trust=True):
        assert os.getcwd() == str(tmp_path)
