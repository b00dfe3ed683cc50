"""Regressions by quality-diversity: one elite for each seed and wrong class, the next step beyond DRFuzz."""

from __future__ import annotations

from nnfuzz.archive import Archive
from nnfuzz.campaign import Campaign, seeded
from nnfuzz.corpus import Pool
from nnfuzz.feedback import KEEPS, Together
from nnfuzz.mutators import DRFUZZ, Operator, Rewarded
from nnfuzz.recipes import asked
from nnfuzz.records import Batch
from nnfuzz.roles import Feedback, Oracle, Target
from nnfuzz.schedules import LeastPicked
from nnfuzz.validity import Differs


def elites(
    seeds: Batch, target: Target, feedback: Feedback | None, oracle: Oracle, *, rows: int = 512, rng: int = 0,
    ram: float = 1.0, energy: int = 1, margin: float = 0.3, caution: float = 0.25, pull: float = 0.5,
    floor: float = 0.25, worth: float = 4.0, operators: tuple[Operator, ...] = DRFUZZ,
) -> Campaign:  # fmt: skip
    """Each turn mutates the elites of the open cells that were picked least; `feedback`, if any, is news as well."""
    asked.positive(rows=rows, energy=energy, floor=floor)
    asked.share(floor=floor)
    mutate, archive = Rewarded(operators, floor, worth), Archive(oracle, target.classes, margin, caution)
    return Campaign(
        recipe="elites", seeds=mutate.start(seeds), corpus=Pool(ram),
        schedule=LeastPicked(archive, rows, energy, pull), mutate=mutate, valid=Differs(), target=target,
        feedback=Together((archive, feedback)) if feedback else archive, oracle=oracle, keep=KEEPS["rows"],
        rng=seeded(rng), fair=archive.unfound,
    )  # fmt: skip
