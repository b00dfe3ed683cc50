"""The hunt as a user sees it: its output, its folder, and one sentence for whatever is wrong."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torch import Tensor

from nnfuzz.store import Run as Stored
from nnfuzz.store import inputs
from tests.cli.conftest import Run
from tests.conftest import arrays


def test_one_object_on_standard_output(place: Path, nnfuzz: Run) -> None:
    done = nnfuzz("hunt", "net.py:Net", "--data", "images.npz", "--tries", 3000, "--out", "run", "--json")
    result = json.loads(done.stdout)
    assert result["tries"] == 3000
    assert result["findings"] >= result["distinct_findings"] > 0
    assert result["seeds_hit"] <= result["seeds"]
    assert 0 <= result["coverage"]["kmnc"]["before"] <= result["coverage"]["kmnc"]["after"] <= 1
    assert {"executed", "seconds", "tries_per_second", "corpus", "first_finding_seconds", "run"} <= result.keys()
    assert len(list(Path("run/findings").glob("*.png"))) == result["distinct_findings"]


@pytest.mark.slow  # a whole Python starts; tests/hunting/test_commands.py does it in one that is there
def test_ctrl_c_keeps_what_was_found(place: Path) -> None:
    command = [sys.executable, "-m", "nnfuzz", "hunt", "net.py:Net", "--data", "images.npz", "--seconds", "90"]
    with subprocess.Popen(
        [*command, "--threads", "1", "--out", "run", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as p:
        while not list(place.glob("run/findings/*.png")):
            assert p.poll() is None
            time.sleep(0.05)
        p.send_signal(signal.SIGINT)
        out, _ = p.communicate(timeout=80)
    assert p.returncode == 3
    result = json.loads(out)
    assert result["ended"] == "interrupted"
    assert len(list(Path("run/findings").glob("*.png"))) == result["distinct_findings"] > 0


def test_nan_is_a_finding_and_no_crash(place: Path, nnfuzz: Run) -> None:
    done = nnfuzz("hunt", "net.py:Nan", "--data", "images.npz", "--tries", 3000, "--out", "run", "--json")
    assert json.loads(done.stdout)["kinds"]["not-finite"] > 0


def test_images_without_labels_are_compared_with_the_models_own_answer(place: Path, nnfuzz: Run) -> None:
    np.savez("bare.npz", x=arrays("images.npz")["x"])
    done = nnfuzz("hunt", "net.py:Net", "--data", "bare.npz", "--tries", 3000, "--out", "run", "--json")
    assert json.loads(done.stdout)["kinds"].keys() == {"changed"}


def test_a_corrupt_image_is_skipped_counted_and_named(place: Path, nnfuzz: Run) -> None:
    images = arrays("images.npz")
    for i, (x, y) in enumerate(zip(images["x"], images["y"], strict=True)):
        (place / "photos" / str(y)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(x).save(place / "photos" / str(y) / f"{i}.png")
    (place / "photos" / "0" / "torn.png").write_bytes((place / "photos" / "0" / "0.png").read_bytes()[:60])
    done = nnfuzz("hunt", "net.py:Net", "--data", "photos", "--tries", 200, "--out", "run")
    assert "1 file: 0/torn.png" in done.stdout
    assert "0/torn.png" in json.loads(Path("run/run.json").read_text())["skipped"][0]


@pytest.mark.parametrize(
    ("model", "data", "sentence"),
    [
        ("gone.py:Net", "images.npz", "there is none"),
        ("net.py:broken", "images.npz", "no weights today"),
        ("net.py:number", "images.npz", "came int"),
        ("net.py:Maps", "images.npz", "one row of class scores per image"),
        ("net.py:Whole", "images.npz", "it returned torch.int64"),
        ("net.py:Always", "images.npz", "NaN or infinity on every image"),
        ("net.py:Raises", "bright.npz", "raised ValueError on its input: a bright one"),
        ("net.py:Net", "gone.npz", "none of them"),
        ("net.py:Net", "torn.npz", "expected an .npz file"),
        ("net.py:Net", "colour.npz", "images of 1 channel and the data has 3"),
        ("net.py:Net", "far.npz", "a label 7"),
        ("net.py:Net", "negative.npz", "label"),
        ("net.py:Net", "empty.npz", "expected"),
        ("net.py:Net", "swapped.npz", "none of 40 seeds is answered right"),
        ("net.py:Net", "sizes", "expected images of one size"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(
    place: Path, refused: Callable[..., str], model: str, data: str, sentence: str
) -> None:
    images = arrays("images.npz")
    x, y = images["x"], images["y"]
    np.savez("colour.npz", x=np.stack([x] * 3, 1), y=y)
    np.savez("bright.npz", x=x + 20, y=y)
    np.savez("far.npz", x=x, y=y * 7)
    np.savez("negative.npz", x=x, y=-y - 5)
    np.savez("empty.npz", x=x[:0], y=y[:0])
    np.savez("swapped.npz", x=x, y=1 - y)
    Path("torn.npz").write_bytes(Path("images.npz").read_bytes()[:500])
    for i, size in enumerate((8, 9)):
        (place / "sizes" / str(i)).mkdir(parents=True)
        Image.fromarray(np.full((size, size), 90, np.uint8)).save(place / "sizes" / str(i) / "a.png")
    assert sentence in refused("hunt", model, "--data", data, "--tries", 100, "--out", "run")
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--recipe", "nope"), "expected recipe to be one of"),
        (("--oracle", "nope"), "expected oracle to be one of"),
        (("--criterion", "nope"), "expected criteria among"),
        (("--criterion", "nc,kmnc,nc"), "expected each criterion once"),
        (("--set", "alpha"), "expected --set NAME=VALUE"),
        (("--set", "nope=1"), "expected a parameter of deephunter"),
        (("--resize", "8x"), "--resize"),
        (("--mean", "a"), "--mean"),
        (("--std", "0"), "--std"),
        (("--layers", "nope.*"), "no layer is named like nope"),
        (("--output", "nope"), "--output"),
        (("--device", "meta"), "expected a device that this machine has"),
        (("--out", "full"), "already holds something"),
        (("--out", "net.py"), "already holds something"),
    ],
)
def test_options_that_make_no_sense(
    place: Path, refused: Callable[..., str], options: tuple[str, ...], sentence: str
) -> None:
    (place / "full").mkdir()
    (place / "full" / "mine.txt").write_text("mine")
    assert sentence in refused("hunt", "net.py:Net", "--data", "images.npz", "--tries", 100, *options)
    assert (place / "full" / "mine.txt").read_text() == "mine"


def test_an_exception_is_a_finding_with_its_input(place: Path, nnfuzz: Run) -> None:
    done = nnfuzz("hunt", "net.py:Raises", "--data", "images.npz", "--tries", 3000, "--out", "run", "--json")
    assert json.loads(done.stdout)["kinds"]["raised"] > 0
    raised = [finding for finding in Stored(Path("run")).findings if finding.kind == "raised"]
    assert all("raised ValueError on its input: a bright one" in finding.error for finding in raised)
    assert all(finding.answers == (-1,) and finding.confirmed for finding in raised)
    assert (np.asarray(Image.open(Path("run") / raised[0].image)) / 255).mean() > 0.42


def test_what_was_found_is_kept_when_the_disk_is_full(
    place: Path, refused: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    save, saved = inputs.save, []

    def full(x: Tensor, path: Path) -> None:
        if len(saved) == 20:
            raise OSError(28, "No space left on device")
        saved.append(path)
        save(x, path)

    monkeypatch.setattr(inputs, "save", full)
    said = refused("hunt", "net.py:Net", "--data", "images.npz", "--tries", 30000, "--out", "run")
    assert "No space left on device" in said
    assert "what was found until then is in" in said
    assert json.loads(Path("run/summary.json").read_text())["ended"].startswith("error")
    assert len(list(Path("run/findings").glob("*.png"))) == 20
