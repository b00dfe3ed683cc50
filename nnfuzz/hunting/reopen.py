"""A run folder opened again: what was asked, on whose word, and whether it is still the same."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nnfuzz import data, models
from nnfuzz.errors import NnfuzzError
from nnfuzz.hunting.ask import Hunt
from nnfuzz.opening import Settings
from nnfuzz.store import Run
from nnfuzz.tally import fingerprints
from nnfuzz.target import Refused
from nnfuzz.watchdog import FOLDER

SAME = ("model_digest", "data_digest", "batch_size", "campaign")


def described(ask: Hunt) -> dict[str, Any]:
    """How a run begins its run.json."""
    asked = {"asked": asdict(ask), "folder": os.getcwd()}
    return {"format": 1, **asked, "signed": _signature(asked)}


def _signature(asked: Mapping[str, Any]) -> str:
    """By a key that only this user has. A folder from elsewhere may name any Python file as its model, and opening it
    would run that file; what this user asked for once may be run again."""
    text = json.dumps({"asked": asked["asked"], "folder": asked["folder"]}, sort_keys=True, default=str)
    return hmac.new(_key(), text.encode(), hashlib.sha256).hexdigest()


def _key() -> bytes:
    path = data.folder() / "key"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(secrets.token_bytes(32))
    except FileExistsError:
        pass
    except OSError:
        return secrets.token_bytes(32)  # signs nothing that can be checked later: the user will be asked
    return path.read_bytes()


def asked(run: Run, model: str | None = None, trust: bool = False) -> Hunt:
    """What the run was asked to do. A model that is code is only taken on this user's word."""
    said = run.configuration
    try:
        given, folder = dict(said["asked"]), str(said["folder"])
        settings = {f.name: _tupled(given["settings"][f.name]) for f in fields(Settings)}
        lists = {name: tuple(given.get(name, ())) for name in ("criteria", "beside")}
        ask = Hunt(**{**given, **lists, "settings": Settings(**settings)})
        signed = hmac.compare_digest(str(said["signed"]), _signature({"asked": given, "folder": folder}))
    except (KeyError, TypeError, ValueError) as error:
        raise NnfuzzError(
            f"expected the configuration of a run in {run.path}/run.json and came {type(error).__name__}: {error}; the"
            " run is damaged"
        ) from error
    code = [spec for spec in ((ask.model,) * (model is None) + ask.beside) if models.runs_code(spec)]
    if code and not trust and not signed:
        raise NnfuzzError(
            f"{run.path} was not made by you here, and opening its model {code[0]} would run code; give a model of"
            " your own with --model, or say --trust-model if you trust whoever made it"
        )
    return replace(ask, model=model or ask.model, out=str(run.path))


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@contextmanager
def where(run: Run) -> Iterator[None]:
    """Inside, relative paths mean what they meant when the run was begun."""
    here, there = os.getcwd(), str(run.configuration.get("folder", "."))
    if not os.path.isdir(there):
        raise NnfuzzError(f"expected the folder {there}, where {run.path} was begun, and there is none; make it again")
    os.chdir(there)
    try:
        yield
    finally:
        os.chdir(here)


def same_again(path: Path, origin: Mapping[str, Any]) -> None:
    """Refuse to go on with something else than what the run began with."""
    before = Run(path).configuration
    for name in SAME:
        if name in before and before[name] != origin[name]:
            raise NnfuzzError(
                f"expected {name} {before[name]} as when {path} was begun and came {origin[name]}; it can only go on"
                " with the same model and data, or nnfuzz replay it against the new one"
            )


def hung_inputs(path: Path) -> Refused | None:
    """Those that a watchdog found a model to hang on: they are not run again."""
    files = sorted((path / FOLDER).glob("[0-9]*.npz"))
    if not files:
        return None
    arrays = [np.load(file, allow_pickle=False)["x"] for file in files]
    hung = torch.cat([fingerprints(torch.from_numpy(array)) for array in arrays])

    def refused(x: Tensor) -> Tensor:
        return torch.isin(fingerprints(x), hung)

    return refused
