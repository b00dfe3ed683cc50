"""nnfuzz report: write a run's page again."""

from __future__ import annotations

from pathlib import Path

from nnfuzz.cli import options as o
from nnfuzz.cli.display import Display


def report(run: o.Run, as_json: o.Json = False) -> None:
    """Write report.html of a run again, as of its last checkpoint."""
    from nnfuzz.concluding import PAGE, conclude

    with Display(as_json) as display:
        _, result = conclude(Path(run))
        display.say("report", str(Path(run) / PAGE))
        display.finish(result)
