"""A run folder opened again: what was asked, on whose word, and whether it is still the same."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nnfuzz import data, models
from nnfuzz.errors import NnfuzzError
from nnfuzz.hunting.ask import Hunt
from nnfuzz.hunting.typed import typed
from nnfuzz.opening import Settings
from nnfuzz.store import Run, inputs
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
    try:
        text = json.dumps({"asked": asked["asked"], "folder": asked["folder"]}, sort_keys=True, default=str)
    except RecursionError as error:
        raise NnfuzzError("expected the configuration of a run and came one that is nested without end") from error
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
    run.verify()
    try:
        given = {name: value for name, value in run.configuration["asked"].items() if name != "settings"}
        ask = typed(Hunt, given, settings=typed(Settings, run.configuration["asked"]["settings"]))
    except (AttributeError, KeyError, TypeError) as error:
        raise NnfuzzError(
            f"expected the configuration of a run in {run.path}/run.json and came {type(error).__name__}: {error}; the"
            " run is damaged"
        ) from error
    own = signed(run)
    said = _specs(replace(ask, **_instead(ask, "")) if model else ask)
    code = [spec for spec in said if models.runs_code(spec)]
    if code and not trust and not own:
        raise NnfuzzError(
            f"{run.path} was not made by you here, and opening its model {code[0]} would run code; give a model of"
            " your own with --model, or say --trust-model if you trust whoever made it"
        )
    # What a folder from elsewhere says of trust is no user's word.
    word = trust or (model is None and own and ask.settings.trust_model)
    settings = replace(ask.settings, trust_model=word)
    return replace(ask, out=str(run.path), settings=settings, **(_instead(ask, model) if model else {}))


def _instead(ask: Hunt, model: str) -> dict[str, Any]:
    """Another model takes the place of the one that was tested: of two versions the new one."""
    return {"beside": (model,)} if ask.pair else {"model": model}


def _specs(ask: Hunt) -> list[str]:
    return [spec for spec in (ask.model, *ask.beside, ask.guard, *ask.referees) if spec]


def signed(run: Run) -> bool:
    """Did this user ask for it?"""
    said = run.configuration
    return hmac.compare_digest(str(said.get("signed")).encode("utf-8", "replace"), _signature(said).encode())


@contextmanager
def where(run: Run, trust: bool = False) -> Iterator[None]:
    """Inside, relative paths mean what they meant when the run was begun. A folder from elsewhere may not choose where
    Python looks for modules first, so with one they mean what they mean here."""
    here = os.getcwd()
    there = str(run.configuration["folder"]) if trust or signed(run) else here
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
                f"expected {name} {_short(before[name])} as when {path} was begun and came {_short(origin[name])}; it"
                " can only go on with the same model and data, or nnfuzz replay it against the new one"
            )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:60]}… ({hashlib.sha256(text.encode()).hexdigest()[:8]})"


def hung_inputs(path: Path) -> Refused | None:
    """Those that a watchdog found a model to hang on: they are not run again."""
    files = sorted((path / FOLDER).glob("[0-9]*.npz"))
    if not files:
        return None
    hung = torch.cat([fingerprints(hung_batch(file)) for file in files])

    def refused(x: Tensor) -> Tensor:
        return torch.isin(fingerprints(x), hung)

    return refused


def hung_batch(file: Path) -> Tensor:
    """uint8 [B,C,H,W], as a watchdog keeps them."""
    try:
        x = inputs.read_npz(file)
    except NnfuzzError:
        raise
    except Exception as error:  # zipfile, zlib and numpy raise many kinds for a damaged file
        raise NnfuzzError(f"expected inputs in {file} and came {type(error).__name__}; the run is damaged") from error
    if x.dtype != torch.uint8 or x.dim() < 2:
        raise NnfuzzError(f"expected inputs in {file} and came {x.dtype} {list(x.shape)}; the run is damaged")
    return x
