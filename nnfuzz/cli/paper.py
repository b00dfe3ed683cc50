"""nnfuzz paper: a paper's tables, re-run and printed beside the published figures."""

from __future__ import annotations

from typing import Annotated

import typer

from nnfuzz.cli import options as o


def paper(name: Annotated[str, typer.Argument(metavar="PAPER", help="deephunter")], threads: o.Threads = None) -> None:
    """Re-run a paper's tables."""
