"""A data folder of its own, with weights of the small digits network trained once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nnfuzz import data, models


class Silent:
    """A Watch that remembers what was said."""

    def __init__(self) -> None:
        self.said: list[tuple[str, str]] = []

    def say(self, name: str, text: str) -> None:
        self.said.append((name, text))

    def tick(self, snapshot: Mapping[str, Any]) -> None:
        pass


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "digits-digits.safetensors"
    trained = models.train("digits", data.load("digits:train"), epochs=4)
    models.save(trained.model, path)
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder."""
    monkeypatch.setenv("NNFUZZ_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def stocked(home: Path, weights: Path) -> Path:
    """A data folder in which the digits network lies where its name alone finds it."""
    (home / "models").mkdir()
    (home / "models" / weights.name).write_bytes(weights.read_bytes())
    return home


@pytest.fixture
def watch() -> Silent:
    return Silent()
