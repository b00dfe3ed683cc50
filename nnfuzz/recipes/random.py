"""Unguided search with DeepHunter's mutator: what every guided recipe has to beat."""

from __future__ import annotations

from nnfuzz.campaign import Campaign, seeded
from nnfuzz.corpus import Pool
from nnfuzz.feedback import KEEPS
from nnfuzz.mutators import DEEPHUNTER_AFFINE, DEEPHUNTER_PIXEL, Metamorphic
from nnfuzz.recipes import asked
from nnfuzz.records import Batch
from nnfuzz.roles import Feedback, Oracle, Target
from nnfuzz.schedules import Uniform
from nnfuzz.validity import Differs, L0Linf


def random(
    seeds: Batch, target: Target, feedback: Feedback, oracle: Oracle, *, rows: int = 512, rng: int = 0,
    ram: float = 1.0, alpha: float = 0.02, beta: float = 0.20, try_num: int = 50,
) -> Campaign:  # fmt: skip
    """Every mutant is one mutation away from a seed picked at random; coverage is measured, never used."""
    asked.positive(rows=rows, try_num=try_num)
    asked.share(alpha=alpha, beta=beta)
    mutate = Metamorphic(DEEPHUNTER_AFFINE, DEEPHUNTER_PIXEL, satisfied=L0Linf(alpha, beta), tries=try_num)
    return Campaign(
        recipe="random", seeds=mutate.start(seeds), corpus=Pool(ram), schedule=Uniform(rows, energy=1),
        mutate=mutate, valid=Differs(), target=target, feedback=feedback, oracle=oracle, keep=KEEPS["nothing"],
        rng=seeded(rng),
    )  # fmt: skip
