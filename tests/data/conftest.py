from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder of the test's own."""
    path = tmp_path / "home"
    monkeypatch.setenv("NNFUZZ_DATA", str(path))
    return path
