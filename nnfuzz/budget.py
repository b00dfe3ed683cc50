"""When to stop: adaptors around an iterator of steps. They stop between two steps, never inside one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from nnfuzz.records import Step


def seconds(steps: Iterable[Step], limit: float, clock: Callable[[], float] = time.monotonic) -> Iterator[Step]:
    """Stop after the step during which the time was up."""
    start = clock()
    for step in steps:
        yield step
        if clock() - start >= limit:
            return


def tries(steps: Iterable[Step], limit: int) -> Iterator[Step]:
    """Stop after the step that made the limit-th mutant."""
    made = 0
    for step in steps:
        made += len(step.tried)
        yield step
        if made >= limit:
            return
