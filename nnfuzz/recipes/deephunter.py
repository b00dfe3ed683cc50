"""DeepHunter (Xie et al., arXiv 1809.01266): coverage-guided metamorphic fuzzing."""

from __future__ import annotations

import torch

from nnfuzz.campaign import Campaign, seeded
from nnfuzz.corpus import Pool
from nnfuzz.feedback import new_rows
from nnfuzz.mutators import DEEPHUNTER_AFFINE, DEEPHUNTER_PIXEL, Metamorphic, Operator
from nnfuzz.oracles import FirstOf, misclassified, not_finite
from nnfuzz.records import Batch
from nnfuzz.roles import Feedback, Keep, Oracle, Schedule, Target
from nnfuzz.schedules import BatchPool
from nnfuzz.validity import Differs, L0Linf


def deephunter(
    seeds: Batch,
    target: Target,
    feedback: Feedback,
    *,
    oracle: Oracle = FirstOf((not_finite, misclassified)),  # noqa: B008 — frozen
    affine: tuple[Operator, ...] = DEEPHUNTER_AFFINE,
    pixel: tuple[Operator, ...] = DEEPHUNTER_PIXEL,
    alpha: float = 0.02,
    beta: float = 0.20,
    try_num: int = 50,
    schedule: Schedule | None = None,
    keep: Keep = new_rows,
    rows: int = 512,
    rng: int = 0,
) -> Campaign:
    """Algorithm 1 with Algorithm 2 as its mutator. `rows` mutants a turn; a schedule given brings its own."""
    batch = tracked(seeds)
    size = batch.x[:1].numel()
    power = min(64, rows)
    return Campaign(
        recipe="deephunter",
        seeds=batch,
        corpus=Pool(),
        schedule=schedule or BatchPool(potential=beta * 255 * size, power=power, picks=max(1, rows // power)),
        mutate=Metamorphic(affine, pixel, satisfied=L0Linf(alpha, beta), tries=try_num),
        valid=Differs(),
        target=target,
        feedback=feedback,
        oracle=oracle,
        keep=keep,
        rng=seeded(rng),
    )


def tracked(seeds: Batch) -> Batch:
    """Seeds with what Algorithm 2 carries along: the reference image, whether it has moved, what was spent."""
    nothing = torch.zeros(len(seeds), dtype=torch.int64)
    return seeds.child(
        seeds.x, reference=seeds.x, moved=nothing.bool(), spent=nothing, op=nothing - 1,
        param=torch.zeros(len(seeds), 1, dtype=torch.float64),
    )  # fmt: skip
