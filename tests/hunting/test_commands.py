"""What a user does with a run: list, minimise, report, go on under a gate, stop it."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from nnfuzz.hunting.smaller import smaller
from nnfuzz.store import Run, inputs
from tests.store.hunts import TRIES, command

FIELDS = ["id", "kind", "image", "seed", "label", "answers", "confidences", "mutations", "confirmed", "group"]
Command = Callable[..., str]


def test_findings_in_groups(run: Path, nnfuzz: Command) -> None:
    result = json.loads(nnfuzz("findings", run, "--json"), parse_constant=pytest.fail)
    groups = result["groups_found"]
    lines = nnfuzz("findings", run).splitlines()
    assert f"{len(Run(run).findings):,} findings in {len(groups):,} group" in lines[0]
    assert sum(line.strip().startswith("group ") for line in lines) == len(groups) < len(Run(run).findings)
    everything = nnfuzz("findings", run, "--all")
    assert all(finding.image in everything for finding in Run(run).findings)


def test_findings_as_json_and_csv_say_the_same(run: Path, nnfuzz: Command) -> None:
    rows = json.loads(nnfuzz("findings", run, "--json"), parse_constant=pytest.fail)["findings"]
    table = list(csv.DictReader(io.StringIO(nnfuzz("findings", run, "--csv"))))
    assert len(rows) == len(table) == len(Run(run).findings)
    for row, line, finding in zip(rows, table, Run(run).findings, strict=True):
        assert list(row) == list(line) == FIELDS
        for name in ("answers", "confidences", "mutations"):
            assert json.loads(line[name], parse_constant=pytest.fail) == row[name]
        assert all(str(row[n]) == line[n] for n in ("id", "kind", "image", "seed", "label", "confirmed", "group"))
        assert (run / row["image"]).is_file()
        assert row["answers"] == list(finding.answers)
        assert row["mutations"] == [str(mutation) for mutation in finding.mutations]
        assert row["confirmed"] == f"{finding.repeated} of {finding.asked}"
        assert row["group"] >= 0


def test_minimised_is_never_worse_and_always_the_same(run: Path, nnfuzz: Command) -> None:
    wrong = [finding for finding in Run(run).findings if finding.kind == "misclassified"][:4]
    first = smaller(run, [finding.id for finding in wrong])
    files = [(run / one.image).read_bytes() for one in first]
    said = json.loads(nnfuzz("minimize", run, *[finding.id for finding in wrong], "--json"))["findings"]
    assert [(run / one["image"]).read_bytes() for one in said] == files
    for one, finding, row in zip(first, wrong, said, strict=True):
        made, seed = one.made, Run(run).original(finding.seed)
        assert made.reproduced
        assert made.after.l2 <= made.before.l2
        apart = (made.x.double() - seed.double()).abs()
        assert (made.after.l0, made.after.linf) == (int((apart > 0).sum()), int(apart.max()))
        assert made.after.l2 == pytest.approx(float(apart.square().sum().sqrt()))
        assert row["before"].keys() == {"l0", "l2", "linf", "ssim"}
        assert torch.equal(torch.from_numpy(np.array(Image.open(run / one.image)))[None], made.x)
    assert sum(one.made.after.l2 for one in first) < sum(one.made.before.l2 for one in first)


def test_minimising_everything_takes_one_of_each_group(run: Path, nnfuzz: Command) -> None:
    groups = json.loads(nnfuzz("findings", run, "--json"))["groups_found"]
    done = json.loads(nnfuzz("minimize", run, "--asks", 50, "--json"))["findings"]
    assert [one["id"] for one in done] == [group["representative"] for group in groups]
    assert nnfuzz("minimize", run, 100_000, code=2).count("minimised") == 0


def test_a_report_is_written_again(run: Path, nnfuzz: Command) -> None:
    (run / "report.html").unlink(missing_ok=True)
    nnfuzz("report", run)
    page = (run / "report.html").read_text(encoding="utf-8")
    assert page.startswith("<!")
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert not list(run.glob(".*"))


def test_a_gate_on_resume(run: Path, nnfuzz: Command) -> None:
    more = ("resume", run, "--tries", TRIES + 64)
    assert "FAILED: errors>0" in nnfuzz(*more, "--fail-on", "errors>0", code=1)
    assert "passed: errors>1000000" in nnfuzz(*more, "--fail-on", "errors>1000000", "--markdown", run / "sum.md")
    assert (run / "sum.md").is_file()
    nnfuzz(*more, "--fail-on", "nonsense", code=2)


HUNT = ("hunt", "net.py:Net", "--data", "images.npz", "--out", "run", "--json", "--threads", 1)


def test_until_the_first_finding(place: Path, nnfuzz: Command) -> None:
    result = json.loads(nnfuzz(*HUNT, "--seconds", 60, "--until-first", "--set", "rows=16"))
    assert result["ended"] == "first finding"
    steps = Run(place / "run").steps()
    assert [step["findings"] > 0 for step in steps] == [False] * (len(steps) - 1) + [True]
    again = json.loads(nnfuzz("resume", "run", "--json"))
    assert again["tries"] == result["tries"], "there is nothing to go on with"


def test_until_nothing_new_comes(place: Path, nnfuzz: Command) -> None:
    np.savez("one.npz", x=np.full((1, 8, 8), 80, np.uint8))
    (place / "flat.py").write_text(
        "from torch import nn\ndef make():\n"
        "    return nn.Sequential(nn.Conv2d(1, 2, 8), nn.Flatten(), nn.Threshold(1e9, 0.0))\n"
    )
    hunt = ("hunt", "flat.py:make", "--data", "one.npz", "--out", "run", "--json", "--seconds", 50, "--criterion", "nc")
    started = time.monotonic()
    result = json.loads(nnfuzz(*hunt, "--plateau", 0.2, "--set", "rows=16"))
    assert (result["ended"], result["findings"]) == ("plateau", 0)
    assert time.monotonic() - started < 40


def test_ctrl_c_keeps_what_was_found_and_judges_nothing(place: Path, process: Callable[..., BaseProcess]) -> None:
    argv = (*map(str, HUNT), "--seconds", "100", "--fail-on", "errors>0")
    one = process(target=command, args=(str(place), argv))
    one.start()
    while not list(place.glob("run/findings/*.png")):
        assert one.is_alive()
        one.join(0.02)
    assert one.pid
    os.kill(one.pid, signal.SIGINT)
    one.join()
    assert one.exitcode == 3
    result = json.loads((place / "out").read_text())
    assert (result["ended"], result["gate"]) == ("interrupted", [])
    assert (place / "run" / "report.html").is_file()
    kept = [file for file in (place / "run" / "findings").iterdir() if file.name[0].isdigit()]
    assert len(kept) == result["distinct_findings"] > 0


def test_a_lineage_makes_the_picture_again(run: Path) -> None:
    """From the seed and the operators that are written down, exactly."""
    from nnfuzz.mutators import OPERATORS

    for finding in Run(run).findings:
        x = Run(run).original(finding.seed)[None]
        for mutation in finding.mutations:
            operator = OPERATORS[mutation.operator]
            x = operator.apply(x, torch.tensor([mutation.param], dtype=torch.float64)[:, : operator.width])
        assert torch.equal(x[0], inputs.load(run, finding.image)), finding
