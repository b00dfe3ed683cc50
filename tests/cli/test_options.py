"""What holds for all commands: an option means the same in each, and an exit code says how it went."""

from __future__ import annotations

import json
import math
import os
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import get_type_hints

import pytest
import torch
from typer.models import OptionInfo

from nnfuzz.cli import app
from nnfuzz.cli.display import Display
from nnfuzz.cli.options import use_threads
from tests.cli.conftest import Run

COMMANDS = {call.__name__.replace("_", "-"): call for command in app.registered_commands if (call := command.callback)}
WORKING = ("hunt", "cover", "train", "demo", "paper")
# Alike, but said in the command's own words: a run's folder or a file, mutants of one run or of each run of a table.
OWN = {"--out", "--data", "--epochs", "--seeds", "--stages", "--tries", "--recipe", "--criterion", "--referee"}


def options(command: Callable[..., None]) -> dict[str, str]:
    """Each option's type, limits and help."""
    found = {}
    for parameter, kind in get_type_hints(command, include_extras=True).items():
        info = kind.__metadata__[0] if hasattr(kind, "__metadata__") else None
        if isinstance(info, OptionInfo):
            given = [name for name in (info.default, *(info.param_decls or ())) if isinstance(name, str)]
            name = given[0] if given else f"--{parameter.replace('_', '-')}"
            found[name] = f"{kind.__origin__} from {info.min} to {info.max}: {info.help}"
    return found


def test_an_option_means_the_same_in_every_command() -> None:
    meanings: dict[str, set[str]] = defaultdict(set)
    for command in COMMANDS.values():
        for name, said in options(command).items():
            meanings[name].add(said)
    assert {name for name, said in meanings.items() if len(said) > 1} <= OWN
    assert {"--mean", "--resize", "--seed", "--criterion", "--every-layer"} <= meanings.keys()


@pytest.mark.parametrize("command", WORKING)
def test_every_command_has_threads_device_and_json(command: str) -> None:
    assert {"--threads", "--device", "--json"} <= options(COMMANDS[command]).keys()


@pytest.mark.parametrize("command", COMMANDS)
def test_help_says_what_a_command_does(command: str, nnfuzz: Run) -> None:
    said = nnfuzz(command, "--help").stdout
    assert (COMMANDS[command].__doc__ or "").split(".")[0][:40] in re.sub(r"\s+", " ", said)


@pytest.mark.parametrize(
    "arguments",
    [("nope",), ("hunt", "--nope"), ("hunt",), ("cover", "m.py:f"), ("hunt", "m", "--data", "d", "--seed", "x")],
)
def test_what_cannot_be_parsed_is_exit_code_2(nnfuzz: Run, arguments: tuple[str, ...]) -> None:
    assert "Usage" in nnfuzz(*arguments, code=2).stderr


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(("condition", "code"), [("errors>0", 1), ("errors>1000000", 0)])
def test_a_gate_decides_the_exit_code(nnfuzz: Run, condition: str, code: int) -> None:
    done = nnfuzz(
        "hunt", "net.py:Net", "--data", "images.npz", "--criterion", "nc", "--tries", 500, "--out", "run", "--json",
        "--fail-on", condition, "--markdown", "run.md", "--junit", "run.xml", code=code,
    )  # fmt: skip
    assert bool(json.loads(done.stdout)["gate"]) == bool(code)
    assert Path("run.md").stat().st_size
    assert Path("run.xml").read_text().startswith("<?xml")


def test_what_is_no_number_is_null_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    with Display(as_json=True) as display:
        display.finish({"a": [math.nan, (math.inf, 1.5)], "b": {"c": -math.inf}, "d": None})
    assert json.loads(capsys.readouterr().out) == {"a": [None, [None, 1.5]], "b": {"c": None}, "d": None}


def test_titles_are_text_and_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Display(as_json=False) as display:
        display.title("[bold]" + "x" * 200)
    assert capsys.readouterr().out == "[bold]" + "x" * 200 + "\n"


@pytest.mark.parametrize("has_affinity", [True, False])
def test_threads_are_those_asked_for(monkeypatch: pytest.MonkeyPatch, has_affinity: bool) -> None:
    before = torch.get_num_threads()
    if not has_affinity:  # as on macOS
        monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    try:
        assert use_threads(1) == torch.get_num_threads() == 1
        assert use_threads(None) >= 1
    finally:
        torch.set_num_threads(before)


def test_a_search_after_another_is_shown_too(capsys: pytest.CaptureFixture[str]) -> None:
    counts = dict.fromkeys(("tries", "executed", "findings", "distinct_findings", "seeds_hit", "corpus"), 0)
    with Display(as_json=False) as display:
        for seconds in (1.0, 3.0, 16.0, 0.5, 1.0):
            display.tick({**counts, "tries_per_second": 0.0, "seconds": seconds})
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines()] == ["1", "16", "0"]


def test_it_says_which_version_it_is(nnfuzz: Run) -> None:
    from nnfuzz import __version__

    assert nnfuzz("--version").stdout == f"nnfuzz {__version__}\n"


def test_names_stay_names(capsys: pytest.CaptureFixture[str]) -> None:
    with Display(False) as display:
        display.say("probed", "shoes.py:new:1, [bold]x[/]")
    assert "shoes.py:new:1, [bold]x[/]" in capsys.readouterr().out
