"""Go on with a run that was stopped, and end where it would have ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from nnfuzz.hunting.reopen import asked, where
from nnfuzz.hunting.search import Watch, go
from nnfuzz.store import Run, RunFolder

THREADS = 1024  # more are a mistake


def resume(
    path: Path, watch: Watch, seconds: float | None = None, tries: int | None = None, trust: bool = False
) -> dict[str, Any]:
    """`seconds` and `tries` replace the limits that the run was begun with, counted from its beginning."""
    run = Run(path.absolute())
    ask = asked(run, trust=trust)
    limits = (ask.seconds, ask.tries) if seconds is None and tries is None else (seconds, tries)
    settings = replace(ask.settings, batch_size=run.configuration.get("batch_size", ask.settings.batch_size))
    if threads := run.configuration.get("threads"):
        torch.set_num_threads(max(1, min(threads, THREADS)))  # sums of floats may depend on it
    with where(run, trust):
        ask = replace(ask, settings=settings, seconds=limits[0], tries=limits[1], turn=ask.turn or ask.tries)
        return go(ask, RunFolder.reopen(run.path), watch)
