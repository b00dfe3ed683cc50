"""Which input of a batch does a model hang on? Each is run alone, under a watchdog that ends this process there."""

from __future__ import annotations

import sys
from pathlib import Path

from nnfuzz.hunting.reopen import asked, hung_batch, where
from nnfuzz.opening import open_subject
from nnfuzz.store import Run
from nnfuzz.watchdog import BATCH, FOLDER, Watchdog


def isolate(path: Path) -> None:
    run = Run(path.absolute())
    ask = asked(run)
    x = hung_batch(run.path / FOLDER / BATCH)
    with where(run), Watchdog(ask.hang_seconds or 60.0, run.path) as guard:
        subject = open_subject(ask.model, ask.data, ask.settings, ask.criteria, guard, beside=ask.beside)
        with subject.target as target:
            target.alone(x)


if __name__ == "__main__":
    isolate(Path(sys.argv[1]))
