"""ImageNet classifiers of torchvision, if it is installed."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from nnfuzz.errors import NnfuzzError
from nnfuzz.models.weights import fit, folder, read
from nnfuzz.models.zoo import IMAGENET
from nnfuzz.records import Model

# A library's operators go when the object goes, so it has to stay.
_declared: list[torch.library.Library] = []


def load_torchvision(name: str, weights: Path | None = None) -> Model:
    """A network by torchvision's name for it, with weights from a file or else torchvision's own."""
    models = _torchvision().models
    known = models.list_models(module=models)
    if name not in known:
        raise NnfuzzError(
            f"expected a classifier of torchvision and came {name!r}; give one of {', '.join(known[:5])} … "
            "(torchvision.models.list_models() has them all)"
        )
    default = models.get_model_weights(name).DEFAULT
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # googlenet and inception_v3 announce how they will be initialised one day
        net = models.get_model(name, weights=None).eval()
    file = weights or _local(name)
    fit(net, read(file).state if file else _fetched(default, name), str(file or f"torchvision:{name}"))
    size = default.transforms.keywords.get("crop_size", 224)
    return Model(net, name, *IMAGENET, shape=(3, size, size), classes=1000)


def _torchvision() -> ModuleType:
    try:
        return _imported()
    except ImportError as error:
        raise NnfuzzError(
            f"torchvision: expected it to be installed and came {error}; run pip install 'nnfuzz[torchvision]'"
        ) from error


def _imported() -> ModuleType:
    """The package; beside a torch it was not built for, its compiled operators do not load and it stops there.

    Classifiers never call them. Declaring the two that its Python half expects lets the import go through; a call
    would still be refused.
    """
    try:
        import torchvision
    except RuntimeError as error:
        if "torchvision::" not in str(error) or _declared:
            raise ImportError(str(error)) from error
        library = torch.library.Library("torchvision", "FRAGMENT")  # type: ignore[no-untyped-call]
        for operator in ("nms", "qnms"):
            library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")  # type: ignore[no-untyped-call]
        _declared.append(library)
        return _imported()
    return torchvision  # type: ignore[no-any-return]


def _local(name: str) -> Path | None:
    home = folder() / name
    found = sorted([*home.glob("*.pth"), *home.glob("*.pt"), *home.glob("*.safetensors")])
    return found[0] if found else None


def _fetched(weights: Any, name: str) -> dict[str, torch.Tensor]:
    try:
        state: Mapping[str, torch.Tensor] = weights.get_state_dict(progress=False, check_hash=True, weights_only=True)
    except (OSError, RuntimeError) as error:
        raise NnfuzzError(
            f"torchvision:{name}: expected to fetch {weights.url} and came {error}; put that file into "
            f"{folder() / name} yourself"
        ) from error
    return dict(state)
