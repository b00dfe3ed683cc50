"""After the search: what independent models make of its findings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from nnfuzz.hunting.record import Recorder
from nnfuzz.reader import Reader
from nnfuzz.referees import doubtful
from nnfuzz.store import Run

ROWS = 1000  # loaded at once


def judged(readers: Sequence[Reader], recorder: Recorder, say: Callable[[str, str], None]) -> dict[str, Any]:
    """Mark the findings, all of them written down, that most referees no longer read; say how many those are."""
    folder = recorder.folder
    if not readers or folder is None:
        return {}
    run = Run(folder.path)
    findings = run.findings
    doubts: dict[int, bool] = {}
    for part in (findings[i : i + ROWS] for i in range(0, len(findings), ROWS)):
        x = torch.stack([run.pixels(finding) for finding in part])
        verdict = doubtful(readers, x, torch.tensor([finding.right for finding in part]))
        doubts |= dict(zip((finding.id for finding in part), verdict.tolist(), strict=True))
    folder.doubt(doubts)
    recorder.save()
    doubted = sum(doubts.values())
    say("referees", f"no longer read {doubted:,} of {len(doubts):,} findings: those are marked doubtful")
    return {"doubtful": doubted, "doubtful_share": round(doubted / len(doubts), 6) if doubts else 0.0}
