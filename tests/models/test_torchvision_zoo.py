"""torchvision: absent, beside a torch it was not built for, and as it is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

from nnfuzz import models
from nnfuzz.errors import NnfuzzError
from nnfuzz.models import torchvision_zoo

BROKEN = """
import builtins
if not {condition}:
    raise RuntimeError("operator torchvision::nms does not exist")
class models:
    @staticmethod
    def list_models(module):
        return ["one", "two"]
"""


def fake(folder: Path, condition: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A torchvision that imports once the condition holds, and a record of the operators declared."""
    declared: list[str] = []

    class Library:
        def __init__(self, *_: object) -> None:
            monkeypatch.setenv("DECLARED", "1")

        def define(self, schema: str) -> None:
            declared.append(schema.split("(")[0])

    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torchvision", None)  # so that the fake goes again after the test
    del sys.modules["torchvision"]
    (folder / "torchvision.py").write_text(BROKEN.format(condition=condition))
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(torch.library, "Library", Library)
    monkeypatch.setattr(torchvision_zoo, "_declared", [])
    monkeypatch.delenv("DECLARED", raising=False)
    return declared


def test_missing_operators_are_declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = fake(tmp_path, "__import__('os').environ.get('DECLARED')", monkeypatch)
    with pytest.raises(NnfuzzError, match=r"a classifier of torchvision and came 'resnet20'; give one of one, two"):
        models.load("torchvision:resnet20")
    assert declared == ["nms", "qnms"]


@pytest.mark.parametrize("condition", ["False", "__import__('no_such_part')"])
def test_a_torchvision_beyond_help_is_one_sentence(
    tmp_path: Path, condition: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(tmp_path, condition, monkeypatch)
    with pytest.raises(NnfuzzError, match=r"pip install 'nnfuzz\[torchvision\]'"):
        models.load("torchvision:resnet18")


def test_no_torchvision_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchvision", None)
    with pytest.raises(NnfuzzError, match=r"pip install 'nnfuzz\[torchvision\]'"):
        models.load("torchvision:resnet18")


@pytest.mark.slow
def test_mobilenet_takes_weights_from_the_data_folder() -> None:
    model = models.load("torchvision:mobilenet_v2")
    assert (model.shape, model.classes, model.mean) == ((3, 224, 224), 1000, (0.485, 0.456, 0.406))
    with torch.no_grad():
        assert model.net(torch.rand(1, 3, 224, 224)).shape == (1, 1000)


@pytest.mark.slow
def test_weights_of_another_network_do_not_fit(tmp_path: Path) -> None:
    models.save(models.build("lenet1"), tmp_path / "a.safetensors")
    with pytest.raises(NnfuzzError, match="and came none of that name"):
        models.load(f"torchvision:mobilenet_v2@{tmp_path / 'a.safetensors'}")
