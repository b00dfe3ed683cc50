"""What the exit code of a command says."""

from __future__ import annotations

from collections.abc import Sequence

CLEAN = 0
GATE_FAILED = 1
CONFIGURATION_ERROR = 2  # or the model's own: whatever a user can mend
STOPPED_EARLY = 3


def after(ended: str, failed: Sequence[object]) -> int:
    """Of a run that ended so and failed these conditions. One that was interrupted is not judged: it is not the run
    that the conditions were written for."""
    if ended == "interrupted":
        return STOPPED_EARLY
    return GATE_FAILED if failed else CLEAN
