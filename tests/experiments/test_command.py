"""nnfuzz paper: tables for people, one object for programs, one sentence for mistakes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nnfuzz.cli import app
from nnfuzz.errors import NnfuzzError

QUICK = ["paper", "deephunter", "--models", "digits", "--tries", "600", "--seeds", "30", "--threads", "2"]


def run(*arguments: str) -> tuple[str, str]:
    done = CliRunner().invoke(app, [*QUICK, *arguments])
    if done.exception:
        raise done.exception
    return done.stdout, done.stderr


@pytest.mark.usefixtures("stocked")
def test_tables_for_people(tmp_path: Path) -> None:
    out, _ = run("--table", "4,6", "--criterion", "nc,kmnc", "--out", str(tmp_path / "made"))
    assert "Table 4: coverage" in out
    assert "Table 6: unique" in out
    assert re.search(r"digits +│ ours", out)
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["result.json", "tables.md"]


@pytest.mark.usefixtures("stocked")
def test_one_object_for_programs() -> None:
    out, err = run("--criterion", "tknc", "--json")
    result = json.loads(out)
    assert result["tables"]["4"]["lines"][0]["model"] == "digits"
    assert "Table 4: coverage" in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--table", "8"), "expected --table among 4, 5, 6, 7, seeds, and came '8'"),
        (("--stages", "a,b"), "expected --stages as three growing numbers"),
        (("--models", ","), "expected --models as names"),
    ],
)
@pytest.mark.usefixtures("home")
def test_mistakes(arguments: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(NnfuzzError, match=re.escape(sentence)):
        run(*arguments)


def test_unknown_paper() -> None:
    done = CliRunner().invoke(app, ["paper", "deepthought"])
    assert isinstance(done.exception, NnfuzzError)
    assert re.fullmatch("expected a paper among deephunter.*, and came 'deepthought'", str(done.exception))
