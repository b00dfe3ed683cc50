"""DLFuzz (Guo et al., ESEC/FSE 2018): gradient ascent on the next labels and on chosen neurons."""

from __future__ import annotations

from math import inf

from nnfuzz.campaign import Campaign, seeded
from nnfuzz.corpus import Pool
from nnfuzz.coverage import Times
from nnfuzz.feedback import KEEPS, SeedKeeping
from nnfuzz.mutators import Ascent, Neurons, NextLabels, check_gradients
from nnfuzz.recipes import asked
from nnfuzz.records import Batch
from nnfuzz.roles import Feedback, Oracle
from nnfuzz.seedlists import SeedLists
from nnfuzz.target import Target
from nnfuzz.validity import AllOf, Differs, RelativeL2


def dlfuzz(
    seeds: Batch, target: Target, feedback: Feedback, oracle: Oracle, *, rows: int = 512, rng: int = 0,
    ram: float = 1.0, strategies: str = "often", m: int = 10, k: int = 4, weight: float = 0.5, iterations: int = 3,
    step: float = 5.1, process: str = "rms", scores: str = "logits", threshold: float = 0.5, near: float = 0.02,
    share: float = 0.01, max_l2: float = inf, stop: str = "first", rounds: int = 0,
) -> Campaign:  # fmt: skip
    """Algorithm 1. `weight` is the paper's lambda, `step` is in grey levels; `near` and `share` decide what is kept
    as a seed, `max_l2` binds what is executed at all; `stop`: first or never. `rows` mutants a turn,
    `iterations` of them a walk."""
    asked.positive(rows=rows, m=m, k=k, iterations=iterations, step=step)
    asked.from_zero(weight=weight, near=near, rounds=rounds)
    asked.share(threshold=threshold, share=share)
    asked.bound(max_l2=max_l2)
    asked.named(("logits", "probabilities"), scores=scores)
    asked.named(("first", "never"), stop=stop)
    check_gradients(target, seeds.x[:1], "dlfuzz")
    table = Times(target.neurons, threshold)
    names = tuple(name.strip() for name in strategies.split(","))
    neurons = Neurons(names, m, threshold, table.times, target.weights(), target.spans[:1])
    return Campaign(
        recipe="dlfuzz", seeds=seeds.child(seeds.x, reference=seeds.x), corpus=Pool(ram),
        schedule=SeedLists(max(1, rows // iterations), iterations, rounds),
        mutate=Ascent(target, NextLabels(neurons, k, weight, scores == "probabilities"), process, step, iterations,
                      stop != "never", min(64, target.batch_size)),
        valid=AllOf((Differs(), RelativeL2(max_l2))), target=target,
        feedback=SeedKeeping(table, target.neurons, RelativeL2(near), feedback, share),
        oracle=oracle, keep=KEEPS["rows"], rng=seeded(rng),
    )  # fmt: skip
