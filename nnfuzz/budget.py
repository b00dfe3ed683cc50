"""When to stop: adaptors around an iterator of steps. They stop between two steps, never inside one."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

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


def until(steps: Iterable[Step], stopped: Callable[[], bool]) -> Iterator[Step]:
    """Stop after the step during which somebody asked to."""
    for step in steps:
        yield step
        if stopped():
            return


def until_first(steps: Iterable[Step]) -> Iterator[Step]:
    """Stop after the first step with a finding."""
    for step in steps:
        yield step
        if (step.verdict > 0).any():
            return


def plateau(steps: Iterable[Step], seconds: float, clock: Callable[[], float] = time.monotonic) -> Iterator[Step]:
    """Stop after the step that ends this long a time without news: a step with a coverage gain or a finding.

    Kept children are no news by themselves: a corpus may keep everything.
    """
    last = clock()
    for step in steps:
        yield step
        now = clock()
        if (step.gain > 0).any() or (step.verdict > 0).any():
            last = now
        elif now - last >= seconds:
            return


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Inside, a first Ctrl-C or SIGTERM only sets a flag that a run looks at between two steps, so that no step is
    half counted; a second one interrupts at once. Signals belong to the main thread: elsewhere nothing happens."""
    asked: list[int] = []

    def ask(number: int, _frame: Any) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
