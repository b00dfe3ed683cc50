"""A stored finding with a smaller change: the same wrong answer, less done to the seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path

import torch
from torch import Tensor

from nnfuzz.errors import NnfuzzError
from nnfuzz.hunting.replay import judge, opened
from nnfuzz.minimize import Minimized, Still, minimize
from nnfuzz.mutators import OPERATORS, Operator
from nnfuzz.opening import Subject
from nnfuzz.records import Finding, Kind, Mutation
from nnfuzz.store import Run, inputs

FOLDER = "minimized"
STRONGEST, SEEDS, LONGEST = 1000.0, 2.0**32, 1000


@dataclass(frozen=True, eq=False)
class Smaller:
    finding: Finding
    image: str  # relative to the run folder
    made: Minimized


def smaller(path: Path, ids: Sequence[int], asks: int = 5000, trust: bool = False) -> list[Smaller]:
    """Minimise these findings, and write each beside the run's own."""
    run = Run(path.absolute())
    findings = run.chosen(tuple(ids))
    if hung := [finding.id for finding in findings if finding.kind == Kind.HUNG.label]:
        raise NnfuzzError(f"expected findings that come to an end, and came {hung[0]}, which hangs; leave it out")
    if not findings:
        return []
    with opened(run, findings, trust=trust) as (_, subject):
        return [_one(run, finding, subject, asks) for finding in findings]


def _one(run: Run, finding: Finding, subject: Subject, asks: int) -> Smaller:
    seed = run.original(finding.seed)
    made = minimize(run.pixels(finding), seed, _trail(finding, seed), _still(finding, subject), asks)
    folder = run.path / FOLDER
    folder.mkdir(exist_ok=True)
    image = f"{FOLDER}/{finding.id:06d}.{inputs.ending(made.x)}"
    inputs.save(made.x, run.path / image)
    return Smaller(finding, image, made)


def _trail(finding: Finding, seed: Tensor) -> list[tuple[Operator, Tensor]]:
    """None, where the mutations are not all of the kind that can be made again from their parameters."""
    known = all(m.operator in OPERATORS and _possible(m) for m in finding.mutations)
    if not known or len(finding.mutations) > LONGEST:
        return []
    trail = [(OPERATORS[m.operator], torch.tensor(m.param, dtype=torch.float64)) for m in finding.mutations]
    try:
        for operator, param in trail:
            seed = operator.apply(seed[None], param[None, : operator.width])[0]
    except (IndexError, RuntimeError, ValueError):  # a kind of blur that there is not, say
        return []
    return trail


def _possible(mutation: Mutation) -> bool:
    """A forged parameter could ask for any amount of work; only seeds of noise, which come last, are large."""
    *strengths, last = mutation.param or (inf,)
    most = SEEDS if mutation.operator in ("noise", "pixel_change") else STRONGEST
    return (
        len(strengths) + 1 >= OPERATORS[mutation.operator].width
        and abs(last) <= most
        and all(abs(strength) <= STRONGEST for strength in strengths)
    )


def _still(finding: Finding, subject: Subject) -> Still:
    """Does an input show the same verdict, and where there is one the same wrong answer?"""
    if finding.kind == Kind.REGRESSION.label:
        return partial(_regresses, answers=torch.tensor(finding.answers), subject=subject)

    def still(x: Tensor) -> Tensor:
        verdict, seen = judge([finding] * len(x), x, torch.full((len(x),), finding.seed_answers[0]), subject.target)
        same = verdict == Kind.of(finding.kind)
        broken = finding.kind in (Kind.NOT_FINITE.label, Kind.RAISED.label)
        return same if broken else same & (seen.logits[finding.accused].argmax(1) == finding.answer)

    return still


def _regresses(x: Tensor, answers: Tensor, subject: Subject) -> Tensor:
    """Both versions say what they said."""
    seen = subject.target(x)
    return (seen.logits.argmax(2) == answers[:, None].to(seen.logits.device)).all(0).cpu() & (seen.raised == 0).cpu()
