"""nnfuzz resume: go on with a run that was stopped."""

from __future__ import annotations

from pathlib import Path

import typer

from nnfuzz.cli import options as o
from nnfuzz.cli.display import Display
from nnfuzz.cli.ending import conditions, end


def resume(
    run: o.Run, seconds: o.Seconds = None, tries: o.Tries = None, trust_model: o.TrustModel = False,
    fail_on: o.FailOn = None, junit: o.JUnit = None, markdown: o.Markdown = None, as_json: o.Json = False,
) -> None:  # fmt: skip
    """Go on with a run that was stopped or killed; it ends exactly where it would have ended.

    --seconds and --tries count from the run's beginning.
    """
    from nnfuzz.hunting import resume as go

    wanted = conditions(fail_on)
    with Display(as_json) as display:
        display.title(f"going on with {run}")
        result = go(Path(run), display, seconds, tries, trust_model)
        code = end(display, result, wanted, junit, markdown)
    if code:
        raise typer.Exit(code)
