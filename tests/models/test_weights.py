"""Weights files: what fits, what does not, and what must never be run."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from nnfuzz import models
from nnfuzz.errors import NnfuzzError


class Payload:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.mark),)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    model = models.build("resnet20", (3, 16, 16), 5, (0.1, 0.2, 0.3), (0.4, 0.5, 0.6), seed=3)
    path = tmp_path / "new" / "a.safetensors"
    models.save(model, path, {"accuracy": 0.5, "dataset": "made"})
    again = models.load(f"resnet20@{path}")
    assert models.digest(again.net) == models.digest(model.net)
    assert (again.mean, again.std, again.shape, again.classes) == (model.mean, model.std, (3, 16, 16), 5)
    assert again.name == "resnet20@a.safetensors"
    assert not again.net.training
    assert [p.name for p in path.parent.iterdir()] == ["a.safetensors"]


@pytest.mark.parametrize("ending", [".pt", ".pth"])
@pytest.mark.parametrize("form", ["plain", "checkpoint", "parallel"])
def test_state_dicts_of_pytorch(tmp_path: Path, ending: str, form: str) -> None:
    model = models.build("digits", seed=1)
    state: dict[str, object] = dict(model.net.state_dict())
    if form == "checkpoint":
        state = {"state_dict": state, "epoch": 3}
    elif form == "parallel":
        state = {f"module.{name}": value for name, value in state.items()}
    torch.save(state, tmp_path / f"a{ending}")
    assert models.digest(models.load(f"digits@{tmp_path / f'a{ending}'}").net) == models.digest(model.net)


def test_a_name_alone_is_looked_up_in_the_data_folder(home: Path) -> None:
    with pytest.raises(NnfuzzError, match="run nnfuzz train digits"):
        models.load("digits")
    models.save(models.build("digits", seed=5), home / "models" / "digits-digits.safetensors")
    assert models.digest(models.load("digits").net) == models.digest(models.build("digits", seed=5).net)


def test_published_metadata_is_understood(tmp_path: Path) -> None:
    state = models.build("resnet20").net.state_dict()
    state = {k: v.clone() for k, v in state.items() if "num_batches" not in k}
    text = "3x32x32 pixels/255, mean .485 .456 .406, std .229 .224 .225"
    save_file(state, tmp_path / "a.safetensors", {"input": text})
    model = models.load(f"resnet20@{tmp_path / 'a.safetensors'}")
    assert (model.mean, model.std) == ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    save_file(models.build("lenet5").net.state_dict(), tmp_path / "b.safetensors", {"input": "1x28x28 pixels/255"})
    assert models.load(f"lenet5@{tmp_path / 'b.safetensors'}").mean == (0.0,)


def test_the_first_misfit_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    for change, said in (
        ({"fc1.weight": torch.zeros(10, 3)}, r"fc1.weight to be \[10, 128\] and came \[10, 3\]"),
        ({"fc9.weight": torch.zeros(1)}, "only tensors that the network has and came fc9.weight"),
        ({"conv2.bias": None}, "a tensor conv2.bias .* and came none"),
        ({"fc1.bias": torch.tensor(1.0)}, r"fc1.bias to be \[10\] and came \[\]"),
    ):
        state = {**models.build("digits").net.state_dict(), **change}
        save_file({name: value for name, value in state.items() if value is not None}, path)
        with pytest.raises(NnfuzzError, match=said):
            models.load(f"digits@{path}")


@pytest.mark.parametrize(
    "claim",
    [
        *("1x999999x999999 pixels/255", "1x28x28 pixels/255", "0x8x8 pixels/255", "1x2x2 pixels/255"),
        *(f"1x{9**30}x{9**30} pixels/255", "1x8x8 pixels/255, mean 0, std 0", "1x8x8 pixels/255, mean 1-1, std 1"),
    ],
)
def test_a_file_that_claims_another_input(tmp_path: Path, claim: str) -> None:
    save_file(models.build("digits").net.state_dict(), tmp_path / "a.safetensors", {"input": claim})
    with pytest.raises(NnfuzzError, match="expected"):
        models.load(f"digits@{tmp_path / 'a.safetensors'}")


@pytest.mark.parametrize("name", ["a.pth", "a.pt", "a.safetensors"])
@pytest.mark.parametrize("writer", ["torch", "pickle", "old torch"])
def test_a_payload_is_not_run(tmp_path: Path, name: str, writer: str) -> None:
    mark, path = tmp_path / "ran", tmp_path / name
    content = {"fc1.weight": Payload(mark)}
    if writer == "pickle":
        path.write_bytes(pickle.dumps(content))
    else:
        torch.save(content, path, _use_new_zipfile_serialization=writer == "torch")
    with pytest.raises(NnfuzzError, match=r"expected a (state dict|safetensors file)"):
        models.load(f"digits@{path}")
    assert not mark.exists()


@pytest.mark.parametrize("content", [b"", b"rubbish" * 9, b"\xff" * 64])
@pytest.mark.parametrize("name", ["a.pth", "a.safetensors"])
def test_damaged_files(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(NnfuzzError, match="expected a"):
        models.load(f"digits@{tmp_path / name}")


@pytest.mark.parametrize("content", [[torch.zeros(1)], {"epoch": 3}, torch.zeros(2)])
def test_what_is_no_state_dict(tmp_path: Path, content: object) -> None:
    torch.save(content, tmp_path / "a.pth")
    with pytest.raises(NnfuzzError, match="expected a state dict"):
        models.load(f"digits@{tmp_path / 'a.pth'}")


def test_missing_files_and_other_endings(tmp_path: Path) -> None:
    with pytest.raises(NnfuzzError, match="there is none"):
        models.load(f"digits@{tmp_path / 'a.safetensors'}")
    (tmp_path / "a.h5").touch()
    with pytest.raises(NnfuzzError, match=r"came \.h5"):
        models.load(f"digits@{tmp_path / 'a.h5'}")


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NnfuzzError, match="expected to write weights"):
        models.save(models.build("digits"), tmp_path / "file" / "a.safetensors")
