"""DRFuzz (You et al., ICSE 2023): inputs that the old version of a model reads and the new one does not."""

from __future__ import annotations

from nnfuzz.campaign import Campaign, seeded
from nnfuzz.corpus import Pool
from nnfuzz.diversity import Diversity
from nnfuzz.feedback import KEEPS, Together
from nnfuzz.mutators import DRFUZZ, Chains, Operator
from nnfuzz.recipes import asked
from nnfuzz.records import Batch
from nnfuzz.roles import Feedback, Oracle, Target
from nnfuzz.schedules import Decaying
from nnfuzz.validity import Differs
from nnfuzz.versions import compared


def drfuzz(
    seeds: Batch, target: Target, feedback: Feedback | None, oracle: Oracle, *, rows: int = 512, rng: int = 0,
    ram: float = 1.0, energy: int = 10, most: int = 10, margin: float = 0.01, operators: tuple[Operator, ...] = DRFUZZ,
) -> Campaign:  # fmt: skip
    """Each pick of a seed is `energy` mutants by one operator, and each seed is picked at most `most` times and once.

    What is kept drove the versions further apart than ever, by more than `margin`; `feedback`, if any, is news as well.
    """
    asked.positive(rows=rows, energy=energy, most=most)
    asked.share(margin=margin)
    mutate, diversity = Chains(operators, energy), Diversity(oracle, target.classes, margin)
    news = Together((diversity, feedback)) if feedback else diversity
    return Campaign(
        recipe="drfuzz", seeds=mutate.start(seeds), corpus=Pool(ram),
        schedule=Decaying(rows, target.classes, energy, most), mutate=mutate, valid=Differs(), target=target,
        feedback=news, oracle=oracle, keep=KEEPS["rows"], rng=seeded(rng), remark=compared,
    )  # fmt: skip
