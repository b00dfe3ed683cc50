"""What cannot be gone on with is refused in one sentence, and left byte for byte as it was."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pytest

from nnfuzz.concluding import conclude
from nnfuzz.errors import NnfuzzError
from nnfuzz.hunting import hunt, resume
from nnfuzz.hunting.reopen import described
from nnfuzz.hunting.search import by_the_second
from nnfuzz.store import Run, RunFolder
from nnfuzz.store.schema import PAGE
from tests.conftest import arrays
from tests.store.hunts import TRIES, Quiet, ask, elsewhere, monotone


def contents(run: Path) -> dict[str, bytes]:
    """All but SQLite's own shared memory, which is no content."""
    return {str(f.relative_to(run)): f.read_bytes() for f in run.rglob("*") if f.is_file() and f.suffix != ".db-shm"}


def cut(run: Path) -> None:
    path = run / "run.db"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def scribble(run: Path) -> None:
    path = run / "run.db"
    content = bytearray(path.read_bytes())
    content[PAGE : 2 * PAGE] = bytes(range(256)) * (PAGE // 256)
    path.write_bytes(content)


def nonsense(run: Path) -> None:
    (run / "run.db").write_bytes(b"not a database at all" * 500)


def newer(run: Path) -> None:
    with closing(sqlite3.connect(run / "run.db")) as base:
        base.execute("PRAGMA user_version = 99")


def trigger(run: Path) -> None:
    with closing(sqlite3.connect(run / "run.db")) as base:
        base.execute("CREATE TRIGGER t AFTER INSERT ON steps BEGIN DELETE FROM findings; END")


def other_model(run: Path) -> None:
    path = run.parent / "net.py"
    path.write_text(path.read_text().replace("0.1)", "0.2)"))


def other_data(run: Path) -> None:
    images = arrays(run.parent / "images.npz")
    np.savez(run.parent / "images.npz", x=images["x"] + 1, y=images["y"])


def no_configuration(run: Path) -> None:
    (run / "run.json").write_text('{"format": 1, "asked"')


def short_corpus(run: Path) -> None:
    with closing(sqlite3.connect(run / "run.db", isolation_level=None)) as base:
        base.execute("DELETE FROM corpus WHERE step = (SELECT MAX(step) FROM corpus)")


def broken_state(run: Path) -> None:
    with closing(sqlite3.connect(run / "run.db", isolation_level=None)) as base:
        base.execute("UPDATE checkpoint SET state = x'0011'")


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (cut, "it is left as it is"), (scribble, "it is left as it is"), (nonsense, "it is left as it is"),
        (newer, "is a run in format 99 and this nnfuzz reads up to 1; take a newer nnfuzz"),
        (trigger, "it is left as it is"), (other_model, "expected model_digest"), (other_data, "expected data_digest"),
        (no_configuration, "run.json"), (short_corpus, "the run is damaged"), (broken_state, "the run is damaged"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("killed", [False, True], ids=["ended", "killed"])
def test_refused_and_left(run: Path, killed: bool, spoil: Callable[[Path], None], sentence: str) -> None:
    if killed:  # as SIGKILL leaves it: a picture that no row names, half of another, a line of statistics too many
        picture = next((run / "findings").iterdir())
        shutil.copy(picture, run / "findings" / "999999-misclassified.png")
        (run / "findings" / ".999999-raised.png.part").write_bytes(b"half")
        with (run / "stats.csv").open("a") as file:
            file.write("99999.5,1")
    spoil(run)
    before = contents(run)
    with pytest.raises(NnfuzzError, match=sentence) as refused:
        resume(run, Quiet(), tries=2 * TRIES)
    assert len(str(refused.value).splitlines()) == 1
    assert contents(run) == before


def test_what_a_kill_left_is_cleared_away(run: Path) -> None:
    names = sorted(str(file.relative_to(run)) for file in run.rglob("*"))
    history = Run(run).history()
    (run / "findings" / "999999-misclassified.png").write_bytes(b"torn")
    (run / "findings" / ".999999-raised.png.part").write_bytes(b"half")
    (run / ".summary.json.part").write_bytes(b"half")
    with (run / "stats.csv").open("a") as file:
        file.write("99999.5,1")
    resume(run, Quiet())
    assert sorted(str(file.relative_to(run)) for file in run.rglob("*")) == names
    assert Run(run).history()[-1]["tries"] == history[-1]["tries"]
    assert monotone(run)


def test_a_log_that_is_not_yet_in_the_file_stays_there(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, sys; from nnfuzz.store import RunFolder; f = RunFolder.create(pathlib.Path(sys.argv[1]));"
        " f.describe({}); f.checkpoint(7, {'a': 1}); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "run"], check=False)
    before = contents(tmp_path / "run")
    assert before["run.db-wal"]
    folder = RunFolder.reopen(tmp_path / "run")
    assert folder.state() == (7, {"a": 1})
    folder.close()
    assert contents(tmp_path / "run") == before


def test_only_one_at_a_time(place: Path, process: Callable[..., BaseProcess]) -> None:
    one = process(target=elsewhere, args=(str(place), "run", 64 * 1000, True))
    one.start()
    while not (place / "run" / "stats.csv").exists():
        assert one.is_alive()
        one.join(0.02)
    with pytest.raises(NnfuzzError, match="is being written by another nnfuzz"):
        resume(place / "run", Quiet())
    with pytest.raises(NnfuzzError, match=r"nnfuzz resume .*run goes on with it"):
        hunt(ask("run", 100), Quiet())
    assert Run(place / "run").findings is not None, "reading is free"
    assert one.is_alive()
    one.kill()
    one.join()


def test_a_folder_with_work_in_it_is_never_overwritten(run: Path) -> None:
    before = contents(run)
    with pytest.raises(NnfuzzError, match="already holds a run and is left as it is; nnfuzz resume"):
        hunt(ask(str(run), 300), Quiet())
    assert contents(run) == before


def test_a_run_that_ended_goes_on_only_if_asked_for_more(run: Path) -> None:
    before = Run(run).findings
    assert resume(run, Quiet())["ended"] == "tries"
    assert Run(run).findings == before
    more = resume(run, Quiet(), tries=2 * TRIES)
    hunt(ask("twice", 2 * TRIES), Quiet())
    assert more["tries"] >= 2 * TRIES
    assert [f.image for f in Run(run).findings] == [f.image for f in Run(run.parent / "twice").findings]
    shutil.rmtree(run.parent / "twice")


def test_a_run_that_never_began_says_so_and_is_gone_on_with(place: Path) -> None:
    one = ask("run", 64)
    RunFolder.create(place / "run", described(one)).close()
    before = contents(place / "run")
    with pytest.raises(
        NnfuzzError, match="expected a run that has begun to search in run and came none; nnfuzz resume"
    ):
        conclude(Path("run"))
    assert contents(place / "run") == before
    assert resume(place / "run", Quiet())["tries"] == 64


def test_a_folder_that_was_being_made_holds_no_half_of_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(source: Path, target: Path) -> None:
        if Path(target).name == "run.db":
            raise KeyboardInterrupt
        source.rename(target)

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", killed)
        with pytest.raises(KeyboardInterrupt):
            RunFolder.create(tmp_path / "run")
    assert sorted(file.name for file in (tmp_path / "run").iterdir()) == [".run.db.part", "findings", "run.json"]
    with pytest.raises(NnfuzzError, match=r"already holds something .* or remove it"):
        RunFolder.create(tmp_path / "run")


def test_a_line_for_every_second_of_a_long_turn() -> None:
    before = {"seconds": 1.9, "tries": 60, "tries_per_second": 31.6, "nc": 0.5}
    now = {"seconds": 4.2, "tries": 90, "tries_per_second": 21.4, "nc": 0.6}
    assert by_the_second(before, now) == [
        {**before, "seconds": 2, "tries_per_second": 30.0}, {**before, "seconds": 3, "tries_per_second": 20.0}, now,
    ]  # fmt: skip
    assert by_the_second(now, {**now, "seconds": 4.9}) == []
    assert by_the_second(now, {**now, "seconds": 5.0}) == [{**now, "seconds": 5.0}]
