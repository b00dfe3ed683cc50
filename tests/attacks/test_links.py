"""A run folder with links in it: nothing outside of it is written, deleted or cut short."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from nnfuzz.store.distrust import only_plain
from tests.attacks.conftest import Command

COMMANDS = {
    "resume": ("--tries", "800"), "replay": (), "findings": (), "minimize": (), "report": (),
}  # fmt: skip
FILES = ("run.json", "run.db", "run.db-wal", "summary.json", "stats.csv", ".stats.csv.part", ".report.html.part",
         ".summary.json.part", ".in-flight", "report.html", "findings/.000000-misclassified.png.part",
         "minimized/.000000.png.part", "findings/999999-misclassified.png")  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("folder", ["findings", "minimized", "hung"])
def test_a_folder_that_lies_elsewhere(
    run: Path, tmp_path: Path, refused: Callable[..., str], command: str, folder: str
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "thesis.tex").write_text("ten years")
    shutil.rmtree(run / folder, ignore_errors=True)
    os.symlink(precious, run / folder)
    assert f"{folder} is a link" in refused(run, command, run, *COMMANDS[command])
    assert [path.name for path in precious.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_lies_elsewhere(run: Path, tmp_path: Path, refused: Callable[..., str], file: str) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes((run / file).read_bytes() if (run / file).exists() else b"ten years")
    before = precious.read_bytes()
    (run / file).parent.mkdir(exist_ok=True)
    (run / file).unlink(missing_ok=True)
    os.symlink(precious, run / file)
    for command, options in COMMANDS.items():
        assert f"{file} is a link" in refused(run, command, run, *options)
    assert precious.read_bytes() == before


@pytest.mark.parametrize("file", ["run.json", "stats.csv", "findings/000000-misclassified.png"])
def test_a_pipe_is_not_waited_for(run: Path, nnfuzz: Command, file: str) -> None:
    (run / file).unlink(missing_ok=True)
    os.mkfifo(run / file)
    code, _, said = nnfuzz("report", run)
    assert (code, said.count("\n")) == (2, 1)


def test_a_journal_that_names_files_to_delete(run: Path, refused: Callable[..., str]) -> None:
    (run / "run.db-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(1000))
    assert "run.db-journal" in refused(run, "resume", run)


def test_the_run_folder_itself_may_be_a_link(run: Path, tmp_path: Path, nnfuzz: Command) -> None:
    os.symlink(run, tmp_path / "link")
    assert nnfuzz("findings", tmp_path / "link")[0] == 0


def test_resume_keeps_what_nnfuzz_did_not_write(run: Path, nnfuzz: Command) -> None:
    (run / "findings" / "notes.txt").write_text("look at 3")
    (run / "findings" / "000999-misclassified.png").write_bytes(b"of a step that was never committed")
    assert nnfuzz("resume", run, "--tries", "120")[0] == 0
    assert (run / "findings" / "notes.txt").exists()
    assert not (run / "findings" / "000999-misclassified.png").exists()


def test_a_file_that_is_gone_by_now_is_no_link(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads a run that goes on sees files come and go."""
    walked = [(str(run / "findings"), [], [".000009-misclassified.png.part"])]
    monkeypatch.setattr("nnfuzz.store.distrust.os.walk", lambda *_, **__: iter(walked))
    only_plain(run)
