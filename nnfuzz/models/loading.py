"""From what a user writes to a model."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import torch

from nnfuzz.errors import NnfuzzError
from nnfuzz.models.user import load_user
from nnfuzz.models.weights import check, fit, folder, read
from nnfuzz.models.whole import ENDINGS, load_whole
from nnfuzz.models.zoo import ZOO, build
from nnfuzz.records import Model

# Lazy up to the first colon that a function's name follows, so that a path may hold an @.
FUNCTION = re.compile(r"(?P<source>.+?):(?P<function>[^\W\d]\w*)(?:@(?P<weights>.+))?$", re.DOTALL)


def load(spec: str, trust: bool = False) -> Model:
    """A model from ZOO, ZOO@weights, a weights file, file.py:function, package.module:function or torchvision:NAME;
    with `trust` also from a file that holds a whole network."""
    name, _, file = spec.partition("@")
    if name in ZOO:
        return _load_zoo(name, Path(file).expanduser() if file else _trained(name))
    if kept := _kept(spec):
        return _load_kept(kept)
    found = FUNCTION.match(spec)
    if not found and Path(spec).suffix in ENDINGS:
        return load_whole(Path(spec).expanduser(), spec, trust)
    if not found:
        raise NnfuzzError(
            f"expected a model as one of {', '.join(ZOO)}, ZOO@weights.safetensors, weights.safetensors, "
            "file.py:function, package.module:function, torchvision:NAME or (with --trust-model) a .pt2 or .pt file"
            f" and came {spec!r}; give one of those"
        )
    source, function = found["source"], found["function"]
    weights = Path(found["weights"]).expanduser() if found["weights"] else None
    if source == "torchvision":
        from nnfuzz.models.torchvision_zoo import load_torchvision

        return replace(load_torchvision(function, weights), name=spec)
    model = load_user(source, function, spec)
    if weights:
        model = _fitted(model, weights)
    return model


def runs_code(spec: str) -> bool:
    """Does loading this run Python that somebody else may have written?"""
    found = FUNCTION.match(spec)
    named = spec.partition("@")[0] in ZOO or _kept(spec) is not None
    return not named and not (found and found["source"] == "torchvision")


def _kept(spec: str) -> Path | None:
    """A file of weights that stands alone, by its path or by its name among the trained ones."""
    path = Path(spec).expanduser()
    places = (path,) if path.suffix == ".safetensors" else (folder() / "models" / f"{spec}.safetensors",)
    return next((place for place in places if os.path.isfile(place)), None)  # no path at all is no error


def _load_kept(path: Path) -> Model:
    """`nnfuzz train` writes the network's name beside the weights."""
    network = read(path).metadata.get("network", "").partition("@")[0]
    if network not in ZOO:
        raise NnfuzzError(
            f"{path}: expected the name of its network ({', '.join(ZOO)}) in the file's metadata and came "
            f"{network!r}; give NETWORK@{path}"
        )
    return _load_zoo(network, path)


def _trained(name: str) -> Path:
    path = folder() / "models" / f"{ZOO[name].dataset}-{name}.safetensors"
    if not path.is_file():
        raise NnfuzzError(
            f"expected trained weights of {name} at {path} and there are none; run nnfuzz train {name}, or give "
            f"{name}@weights.safetensors"
        )
    return path


def _load_zoo(name: str, path: Path) -> Model:
    """The network in the size that its weights file tells of."""
    weights = read(path)
    last = list(build(name).net.state_dict())[-1]  # the bias of the last layer has a number for each class
    classes = len(weights.state[last]) if last in weights.state and weights.state[last].ndim else 10
    mean, std = weights.scaling or (None, None)
    # A file can claim any size, so what it claims is compared with what it holds before memory is taken for it.
    with torch.device("meta"):
        check(_claimed(name, weights.shape, classes, path).net, weights.state, str(path))
    model = build(name, weights.shape, classes, mean, std)
    fit(model.net, weights.state, str(path))
    return replace(model, name=f"{name}@{path.name}")


def _claimed(name: str, shape: tuple[int, int, int] | None, classes: int, path: Path) -> Model:
    try:
        return build(name, shape, classes)
    except (RuntimeError, ValueError, TypeError, OverflowError) as error:
        raise NnfuzzError(
            f"{path}: expected a possible input size in its metadata and came {shape}; correct it"
        ) from error


def _fitted(model: Model, path: Path) -> Model:
    """The user's network with these weights; a bare one is fed as the file says, if it does."""
    weights = read(path)
    fit(model.net, weights.state, str(path))
    bare = (model.mean, model.std, model.shape) == ((0.0,), (1.0,), None)
    if not bare or not weights.scaling:
        return model
    return replace(model, mean=weights.scaling[0], std=weights.scaling[1], shape=weights.shape)
