"""Runs to look at, and processes to run them in."""

from __future__ import annotations

from tests.runs import nnfuzz, place, process, run, shared

__all__ = ["nnfuzz", "place", "process", "run", "shared"]
