"""The user's own network: a function in a file or in a package, called with no arguments."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import torch
from torch import nn

from nnfuzz.errors import NnfuzzError
from nnfuzz.records import Model


def load_user(source: str, function: str, spec: str) -> Model:
    """What the function returns: a network that takes pixels / 255, or a Model that says how it is fed."""
    file = source.endswith(".py")
    path = Path(source).expanduser()
    if file and not path.is_file():
        raise NnfuzzError(f"{spec}: expected a Python file at {path} and there is none; check the path")
    with _found_first(path.resolve().parent if file else Path.cwd()), torch.random.fork_rng(devices=[]):
        module = _from_file(path, spec) if file else _from_package(source, spec)
        make = getattr(module, function, None)
        if not callable(make):
            there = [
                n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", "") == module.__name__
            ]
            raise NnfuzzError(
                f"{spec}: expected a function {function} and came {'none' if make is None else repr(make)} "
                f"(there: {', '.join(there) or 'nothing'}); check the name"
            )
        try:
            made = make()
        except (Exception, SystemExit) as error:
            raise _failed(spec, f"{function}() to return a network", error) from error
    if isinstance(made, Model):
        return made
    if isinstance(made, nn.Module):
        return Model(made, spec)
    raise NnfuzzError(
        f"{spec}: expected {function}() to return a torch.nn.Module or an nnfuzz.records.Model and came "
        f"{type(made).__name__}; return the network"
    )


def _from_file(path: Path, spec: str) -> ModuleType:
    name = f"nnfuzz_user_{path.stem}"
    found = importlib.util.spec_from_file_location(name, path)
    if found is None or found.loader is None:
        raise NnfuzzError(f"{spec}: expected {path} to be a Python file and it is not; check the path")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module  # dataclasses look their module up there
    try:
        found.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _failed(spec, f"{path} to run", error) from error
    return module


def _from_package(name: str, spec: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise _failed(spec, f"the module {name} to import", error) from error


def _failed(spec: str, expected: str, error: BaseException) -> NnfuzzError:
    last = error.__traceback__
    while last and last.tb_next:
        last = last.tb_next
    place = f" at {Path(last.tb_frame.f_code.co_filename).name}:{last.tb_lineno}" if last else ""
    line = (str(error).strip() or "no message").splitlines()[0]
    return NnfuzzError(f"{spec}: expected {expected} and came {type(error).__name__}: {line}{place}; correct it")


@contextmanager
def _found_first(folder: Path) -> Iterator[None]:
    """The user's folder is searched first while the user's code is imported, as Python does for a script."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        if str(folder) in sys.path:
            sys.path.remove(str(folder))
