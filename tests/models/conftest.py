from __future__ import annotations

import os
from pathlib import Path

import pytest

from nnfuzz import data


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder of the test's own."""
    path = tmp_path / "home"
    monkeypatch.setenv("NNFUZZ_DATA", str(path))
    return path


@pytest.fixture
def published() -> Path:
    """Where the published weights lie: $NNFUZZ_TEST_MODELS, else the data folder's models."""
    return Path(os.environ.get("NNFUZZ_TEST_MODELS") or data.folder() / "models")
