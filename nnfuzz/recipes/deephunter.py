"""DeepHunter (Xie et al., arXiv 1809.01266): coverage-guided metamorphic fuzzing."""

from __future__ import annotations

from nnfuzz.campaign import Campaign, seeded
from nnfuzz.corpus import Pool
from nnfuzz.feedback import KEEPS
from nnfuzz.mutators import DEEPHUNTER_AFFINE, DEEPHUNTER_PIXEL, Metamorphic, Operator
from nnfuzz.recipes import asked
from nnfuzz.records import Batch
from nnfuzz.roles import Feedback, Oracle, Schedule, Target
from nnfuzz.schedules import SEED_LEVEL, BatchPool
from nnfuzz.validity import Differs, L0Linf


def deephunter(
    seeds: Batch,
    target: Target,
    feedback: Feedback,
    oracle: Oracle,
    *,
    rows: int = 512,
    rng: int = 0,
    ram: float = 1.0,
    select: str = "pool",
    keep: str = "rows",
    alpha: float = 0.02,
    beta: float = 0.20,
    try_num: int = 50,
    power: int = 64,
    batch: int = 100,
    gamma: float = 5.0,
    p_min: float = 0.01,
    affine: tuple[Operator, ...] = DEEPHUNTER_AFFINE,
    pixel: tuple[Operator, ...] = DEEPHUNTER_PIXEL,
) -> Campaign:
    """Algorithm 1, with Algorithm 2 as its mutator; `rows` mutants a turn, `power` (the paper's K) a batch.

    `ram` is how many GiB of the corpus are held in memory.

    `select` is the batch pool of sections 3.3 and 3.5, or a choice of single seeds: uniform, recent,
    probabilistic. `keep` is rows (section 3.4: what hits nothing new is discarded) or batches (Algorithm 1:
    all of B' when any of it does).
    """
    asked.positive(rows=rows, power=power, batch=batch, try_num=try_num, gamma=gamma)
    asked.share(alpha=alpha, beta=beta, p_min=p_min)
    asked.named(("pool", *SEED_LEVEL), select=select)
    asked.named(KEEPS, keep=keep)
    mutate = Metamorphic(affine, pixel, satisfied=L0Linf(alpha, beta), tries=try_num)
    power = min(power, rows)
    schedule: Schedule
    if select == "pool":
        potential = beta * 255 * seeds.x[:1].numel()  # section 3.3
        schedule = BatchPool(potential, batch, power, rows, gamma=gamma, p_min=p_min)
    else:
        schedule = SEED_LEVEL[select](rows)
    return Campaign(
        recipe="deephunter", seeds=mutate.start(seeds), corpus=Pool(ram), schedule=schedule, mutate=mutate,
        valid=Differs(), target=target, feedback=feedback, oracle=oracle, keep=KEEPS[keep], rng=seeded(rng),
    )  # fmt: skip
