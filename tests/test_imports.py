"""Imports run one way: records <- roles <- parts <- recipes <- experiments <- cli."""

from __future__ import annotations

import ast
import pathlib
import subprocess
import sys

import pytest

import nnfuzz

ROOT = pathlib.Path(nnfuzz.__file__).parent
FLOORS = {  # a module may import from floors below its own, and from its own package
    "errors": 0, "records": 1, "order": 1, "roles": 2, "gate": 2, "ci": 3,
    "probe": 3, "loop": 3, "corpus": 4, "oracles": 3, "feedback": 3, "schedules": 4, "budget": 3, "tally": 3,
    "ledger": 4, "versions": 2, "diversity": 3, "archive": 3,
    "mutators": 3, "validity": 3, "coverage": 3, "data": 3, "models": 3,
    "picture": 3, "layout": 2, "chunks": 2, "blame": 2, "seedlists": 3, "spill": 2, "lineage": 3, "watchdog": 3,
    "reader": 4, "generative": 5, "referees": 5, "fidelity": 6,
    "target": 4, "campaign": 4, "store": 4, "report": 4, "triage": 4, "minimize": 4, "preflight": 5, "recipes": 5,
    "opening": 6, "hunting": 7, "regressions": 8, "concluding": 8, "experiments": 8, "cli": 9, "pytest_plugin": 9,
}  # fmt: skip


def imports(path: pathlib.Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nnfuzz"):
            parts = (node.module or "").split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("nnfuzz.")}
    return found - {"__version__"}


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_only_from_below(path: pathlib.Path) -> None:
    room = path.relative_to(ROOT).parts[0].removesuffix(".py")
    if room in ("__init__", "__main__"):
        return
    assert room in FLOORS, f"say in FLOORS where {room} stands"
    wrong = {name for name in imports(path) if name != room and FLOORS[name] >= FLOORS[room]}
    assert not wrong, f"{room} must not import {wrong}"


def test_a_report_is_made_of_records_and_pictures_only() -> None:
    used = set.union(*(imports(path) for path in (ROOT / "report").glob("*.py")))
    assert used <= {"report", "records", "picture"}


@pytest.mark.parametrize("module", ["nnfuzz.cli", "nnfuzz.pytest_plugin"])
def test_it_starts_without_torch(module: str) -> None:
    code = f"import {module}, sys; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
