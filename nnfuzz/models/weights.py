"""Weights as values: read without running anything, checked against the network, written whole or not at all."""

from __future__ import annotations

import math
import os
import re
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nnfuzz.errors import NnfuzzError
from nnfuzz.records import Model

State = dict[str, Tensor]
INPUT = re.compile(r"(\d{1,99})x(\d{1,99})x(\d{1,99}) pixels/255(?:, mean ([-\d.e ]+), std ([\d.e -]+))?")


@dataclass(frozen=True)
class Weights:
    """What a weights file holds."""

    state: State
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int, int] | None:
        found = INPUT.match(self.metadata.get("input", ""))
        return (int(found[1]), int(found[2]), int(found[3])) if found else None

    @property
    def scaling(self) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
        """Mean and standard deviation, if the file says how its input was made."""
        found = INPUT.match(self.metadata.get("input", ""))
        if not found:
            return None
        return _numbers(found[4] or "0", -math.inf), _numbers(found[5] or "1", 0)


def _numbers(text: str, least: float) -> tuple[float, ...]:
    try:
        numbers = tuple(float(number) for number in text.split())
    except ValueError:
        numbers = ()
    if not numbers or not all(least < number < math.inf for number in numbers):
        raise NnfuzzError(
            f"expected numbers for mean and std in the weights file's metadata and came {text[:60]!r}; correct them"
        )
    return numbers


def folder() -> Path:
    """Where trained networks lie: $NNFUZZ_DATA, else ~/.cache/nnfuzz."""
    chosen = os.environ.get("NNFUZZ_DATA")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "nnfuzz"


def read(path: Path) -> Weights:
    """A .safetensors file, or a .pt or .pth file that holds tensors only."""
    if not os.path.isfile(path):  # a name that is too long is no error to it
        raise NnfuzzError(f"expected a weights file at {path} and there is none; check the path")
    if path.suffix == ".safetensors":
        return _safetensors(path)
    if path.suffix in (".pt", ".pth"):
        return Weights(_pickled(path))
    raise NnfuzzError(
        f"{path}: expected a .safetensors, .pt or .pth file and came {path.suffix or 'a name without an ending'}; "
        "save the state dict with safetensors.torch.save_file"
    )


def _safetensors(path: Path) -> Weights:
    from safetensors import safe_open

    try:
        with safe_open(path, "pt") as file:
            return Weights({name: file.get_tensor(name) for name in file.keys()}, file.metadata() or {})  # noqa: SIM118
    except Exception as error:  # SafetensorError, OSError, and KeyError for types this torch does not know
        raise NnfuzzError(
            f"{path}: expected a safetensors file and came something else ({error}); save the state dict with "
            "safetensors.torch.save_file"
        ) from error


def _pickled(path: Path) -> State:
    _stored_whole(path)
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # many kinds, all meaning that it is not a plain state dict
        raise NnfuzzError(
            f"{path}: expected a state dict of tensors only and came a file that is damaged or would run code when "
            "it is read; save net.state_dict() with safetensors.torch.save_file"
        ) from error
    if isinstance(content, dict) and isinstance(content.get("state_dict"), dict):
        content = content["state_dict"]  # as training scripts save it, beside the epoch
    if not isinstance(content, dict) or not all(isinstance(value, Tensor) for value in content.values()):
        raise NnfuzzError(
            f"{path}: expected a state dict (names and tensors) and came {_kind(content)}; save net.state_dict()"
        )
    for name, value in content.items():
        if value.layout != torch.strided or value.device.type != "cpu" or not _held(value):
            raise NnfuzzError(
                f"{path}: expected plain tensors and {str(name)[:60]} claims {list(value.shape)} without holding it;"
                " save net.state_dict() again"
            )
    if content and all(str(name).startswith("module.") for name in content):
        return {str(name).removeprefix("module."): value for name, value in content.items()}  # DataParallel's
    return {str(name): value for name, value in content.items()}


def _stored_whole(path: Path) -> None:
    """torch.save never compresses: what unfolds to more than the file is a bomb."""
    try:
        with zipfile.ZipFile(path) as archive:
            unfolded = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, OSError):
        return  # the older format, or damaged
    if unfolded > path.stat().st_size:
        raise NnfuzzError(
            f"{path}: expected a file as torch.save writes it and came one that unfolds to {unfolded:,} bytes (a zip"
            " bomb?); save net.state_dict() again"
        )


def _held(value: Tensor) -> bool:
    """A step of 0 lets one number stand for a billion."""
    return value.is_quantized or value.numel() * value.element_size() <= value.untyped_storage().nbytes()


def _kind(content: Any) -> str:
    if not isinstance(content, dict):
        return f"a {type(content).__name__}"
    odd = next(name for name, value in content.items() if not isinstance(value, Tensor))
    return f"a dict whose {odd!r} is a {type(content[odd]).__name__}"


def fit(net: nn.Module, state: State, name: str) -> None:
    """Put the weights into the network, once they fit."""
    check(net, state, name)
    net.load_state_dict(state, strict=False)


def check(net: nn.Module, state: State, name: str) -> None:
    """Say what does not fit first."""
    wanted = net.state_dict()
    for key, value in wanted.items():
        if key not in state:
            if key.endswith("num_batches_tracked"):  # a counter that nothing reads, often left out
                continue
            raise _misfit(name, f"a tensor {key} {list(value.shape)}", "none of that name")
        if state[key].shape != value.shape:
            raise _misfit(name, f"{key} to be {list(value.shape)}", f"{list(state[key].shape)}")
    for key in state:
        if key not in wanted:
            raise _misfit(name, "only tensors that the network has", f"{key} {list(state[key].shape)}")


def _misfit(name: str, expected: str, came: str) -> NnfuzzError:
    return NnfuzzError(f"{name}: expected {expected} and came {came}; give weights that belong to this network")


def save(net: Model | nn.Module, path: str | Path, metadata: Mapping[str, object] | None = None) -> None:
    """A safetensors file; a Model also says how its input is made, so that `load` makes it the same way."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    path = Path(path).expanduser()
    text = {key: str(value) for key, value in (metadata or {}).items()}
    if isinstance(net, Model):
        text = {**_described(net), **text}
        net = net.net
    # Clones, because safetensors refuses tensors that share memory.
    state = {name: value.detach().cpu().clone().contiguous() for name, value in net.state_dict().items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".save-") as temporary:
            save_file(state, Path(temporary) / path.name, text)
            os.replace(Path(temporary) / path.name, path)
    except (OSError, SafetensorError) as error:
        raise NnfuzzError(f"{path}: expected to write weights here and came {error}; give another path") from error


def _described(model: Model) -> dict[str, str]:
    text = {"network": model.name}
    if model.shape:
        mean, std = " ".join(map(repr, model.mean)), " ".join(map(repr, model.std))
        text["input"] = "x".join(map(str, model.shape)) + f" pixels/255, mean {mean}, std {std}"
    return text if model.classes is None else {**text, "classes": str(model.classes)}
