"""Nothing that is read is ever unpickled: a payload under every ending and in every place leaves no mark."""

from __future__ import annotations

import io
import os
import pickle
import re
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nnfuzz import models
from nnfuzz.errors import NnfuzzError
from tests.attacks.conftest import Command


class Payload:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = str(mark)

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.mark,)


def raw(path: Path, payload: Payload) -> None:
    path.write_bytes(pickle.dumps(payload))


def saved(path: Path, payload: Payload) -> None:
    torch.save({"conv1.weight": payload}, path)


def array(payload: Payload) -> bytes:
    held = io.BytesIO()
    np.save(held, np.array([payload], dtype=object), allow_pickle=True)
    return held.getvalue()


def archive(path: Path, payload: Payload, names: tuple[str, ...] = ("x.npy", "y.npy")) -> None:
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(name, array(payload))


@pytest.fixture
def payload(tmp_path: Path) -> Payload:
    return Payload(tmp_path / "PWNED")


def test_the_payload_works(tmp_path: Path, payload: Payload) -> None:
    raw(tmp_path / "a", payload)
    pickle.loads((tmp_path / "a").read_bytes())
    assert (tmp_path / "PWNED").exists()


@pytest.mark.parametrize("form", [raw, saved, archive])
@pytest.mark.parametrize("ending", [".pt", ".pth", ".safetensors", ".pkl", ".npz", ".bin", ""])
def test_weights(
    tmp_path: Path, refused: Callable[..., str], payload: Payload, form: Callable[..., None], ending: str
) -> None:
    form(tmp_path / f"a{ending}", payload)
    refused(tmp_path, "hunt", f"digits@{tmp_path / f'a{ending}'}", "--data", "digits", "--out", tmp_path / "out")
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.parametrize("form", [raw, saved])
@pytest.mark.parametrize("ending", [".pt", ".pth", ".pt2", ".ts", ".safetensors", ".npz", ".py"])
def test_whole_models(
    tmp_path: Path, refused: Callable[..., str], payload: Payload, form: Callable[..., None], ending: str
) -> None:
    file = tmp_path / f"a{ending}"
    form(file, payload)
    said = refused(tmp_path, "hunt", file, "--data", "digits", "--out", tmp_path / "out")
    assert ("say --trust-model" in said) == (ending in (".pt", ".pth", ".pt2", ".ts"))
    refused(tmp_path, "cover", file, "--data", "digits")
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.parametrize("form", [raw, archive])
def test_images(
    made: Path, tmp_path: Path, refused: Callable[..., str], payload: Payload, form: Callable[..., None]
) -> None:
    form(tmp_path / "a.npz", payload)
    refused(tmp_path, "cover", f"digits@{made / 'net.safetensors'}", "--data", tmp_path / "a.npz")
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.parametrize("name", ["00.npz", "batch.npz"])
def test_inputs_that_hung(run: Path, tmp_path: Path, payload: Payload, name: str) -> None:
    from nnfuzz.hunting.reopen import hung_batch, hung_inputs

    (run / "hung").mkdir()
    archive(run / "hung" / name, payload, ("x", "x.npy"))
    with pytest.raises(NnfuzzError):
        hung_batch(run / "hung" / name)
    if name != "batch.npz":
        with pytest.raises(NnfuzzError):
            hung_inputs(run)
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.parametrize(
    ("query", "commands"),
    [
        ("UPDATE checkpoint SET state = ?", ("resume",)),
        ("UPDATE corpus SET columns = ?", ("resume",)),
        ("UPDATE seeds SET x = ?", ("replay", "findings")),
        ("UPDATE findings SET answers = ?", ("findings",)),
        ("UPDATE findings SET mutations = ?", ("minimize",)),
        ("UPDATE findings SET image = ?", ("report",)),
    ],
)
@pytest.mark.parametrize("form", [pickle.dumps, array])
def test_blobs(
    run: Path, tmp_path: Path, refused: Callable[..., str], payload: Payload, query: str,
    commands: tuple[str, ...], form: Callable[[Payload], bytes],
) -> None:  # fmt: skip
    with closing(sqlite3.connect(run / "run.db")) as base, base:
        base.execute(query, (form(payload),))
    for command in commands:
        refused(run, command, run, *["--tries", "800"] * (command == "resume"))
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.parametrize("file", ["run.json", "summary.json", "stats.csv", "findings/000000-misclassified.png"])
def test_other_files_of_a_run(
    run: Path, tmp_path: Path, refused: Callable[..., str], payload: Payload, file: str
) -> None:
    raw(run / file, payload)
    refused(run, "report", run)
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.parametrize("spare", [0, 1])
def test_features_are_numbers_whatever_they_are(
    run: Path, tmp_path: Path, payload: Payload, nnfuzz: Command, spare: int
) -> None:
    blob = array(payload)
    blob += bytes(-len(blob) % 4 + spare)  # whole numbers of four bytes, or not
    with closing(sqlite3.connect(run / "run.db")) as base, base:
        base.execute("UPDATE findings SET features = ?", (blob,))
    assert nnfuzz("findings", run)[0] == (2 if spare else 0)
    assert not (tmp_path / "PWNED").exists()


def test_what_can_unpickle_is_called_in_one_place_only() -> None:
    root = Path(models.__file__).parent.parent
    risky = re.compile(r"(?:torch\.load|pickle\.loads?|joblib\.load|torch\.jit\.load|torch\.export\.load|yaml\.load"
                       r"|allow_pickle=True|(?<![\w.])(?:eval|exec)\().*")  # fmt: skip
    calls = [
        (path.relative_to(root).as_posix(), text)
        for path in root.rglob("*.py")
        for text in risky.findall(path.read_text())
        if "weights_only=True" not in text
    ]
    assert {path for path, _ in calls} == {"models/whole.py"}
