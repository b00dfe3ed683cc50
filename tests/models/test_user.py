"""The user's own functions, from files and packages."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from nnfuzz import models
from nnfuzz.errors import NnfuzzError

CODE = """
import torch
from torch import nn
from nnfuzz.records import Model

def net():
    return nn.Sequential(nn.Flatten(), nn.Linear(4, 2), nn.Dropout())

def fed():
    return Model(net(), "mine", mean=(0.5,), std=(0.25,), classes=2)

def number():
    return 3

def broken():
    raise ValueError("no good")

def needy(size):
    return size

def leaving():
    raise SystemExit(1)

constant = 3
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "my net@home.py"
    path.write_text(CODE)
    return path


def test_a_function_in_a_file(file: Path) -> None:
    before, path = torch.get_rng_state(), list(sys.path)
    model = models.load(f"{file}:net")
    assert model.name == f"{file}:net"
    assert model.net.training  # as it was made: the preflight says so, the target sets and restores it
    assert (torch.get_rng_state() == before).all()
    assert sys.path == path


def test_a_function_that_says_how_it_is_fed(file: Path) -> None:
    model = models.load(f"{file}:fed")
    assert (model.name, model.mean, model.std, model.classes) == ("mine", (0.5,), (0.25,), 2)


def test_weights_for_it(file: Path, tmp_path: Path) -> None:
    model = models.load(f"{file}:net")
    torch.nn.init.ones_(model.net[1].weight)  # type: ignore[index]
    models.save(model, tmp_path / "w.safetensors")
    again = models.load(f"{file}:net@{tmp_path / 'w.safetensors'}")
    assert models.digest(again.net) == models.digest(model.net)
    models.save(replace(model, mean=(0.1,), std=(0.2,), shape=(1, 2, 2)), tmp_path / "w.safetensors")
    assert models.load(f"{file}:net@{tmp_path / 'w.safetensors'}").std == (0.2,)
    assert models.load(f"{file}:fed@{tmp_path / 'w.safetensors'}").std == (0.25,)


def test_a_function_in_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_package_of_nets").mkdir()
    (tmp_path / "my_package_of_nets" / "small.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    assert models.load("my_package_of_nets.small:fed").name == "mine"


def test_a_file_may_import_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "my_neighbour_of_nets.py").write_text(CODE)
    (tmp_path / "b.py").write_text("from my_neighbour_of_nets import fed\n")
    assert models.load(f"{tmp_path / 'b.py'}:fed").name == "mine"


@pytest.mark.parametrize(
    ("function", "said"),
    [
        ("number", "to return a torch.nn.Module .* and came int"),
        ("broken", r"ValueError: no good at my net@home\.py:16"),
        ("needy", "TypeError"),
        ("leaving", "SystemExit"),
        ("missing", "a function missing and came none .*there: net, fed"),
        ("constant", "a function constant and came 3"),
    ],
)
def test_functions_that_do_not_do(file: Path, function: str, said: str) -> None:
    with pytest.raises(NnfuzzError, match=said):
        models.load(f"{file}:{function}")


def test_code_that_does_not_run(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import no_such_package_at_all\n")
    with pytest.raises(NnfuzzError, match=r"to run and came ModuleNotFoundError"):
        models.load(f"{tmp_path / 'a.py'}:net")
    (tmp_path / "a.py").write_text("def net(:\n")
    with pytest.raises(NnfuzzError, match="SyntaxError"):
        models.load(f"{tmp_path / 'a.py'}:net")
    with pytest.raises(NnfuzzError, match="there is none"):
        models.load(f"{tmp_path / 'b.py'}:net")
    with pytest.raises(NnfuzzError, match="no_such_package to import"):
        models.load("no_such_package:net")


@pytest.mark.parametrize("spec", ["", "lenet6", "a.safetensors", "file.py", "file.py:", "file.py:not a name", ":f"])
def test_other_specs(spec: str) -> None:
    with pytest.raises(NnfuzzError, match="expected a model as one of lenet1"):
        models.load(spec)
