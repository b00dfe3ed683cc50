"""DeepXplore (Pei et al., SOSP 2017): gradient ascent until models of the same task disagree."""

from __future__ import annotations

from math import inf

from nnfuzz.campaign import Campaign, seeded
from nnfuzz.corpus import Pool
from nnfuzz.coverage import Times
from nnfuzz.errors import NnfuzzError
from nnfuzz.feedback import KEEPS, Together
from nnfuzz.mutators import Apart, Ascent, Neurons, check_gradients
from nnfuzz.recipes import asked
from nnfuzz.records import Batch
from nnfuzz.roles import Feedback, Oracle
from nnfuzz.seedlists import SeedLists
from nnfuzz.target import Target
from nnfuzz.validity import AllOf, Differs, RelativeL2


def deepxplore(
    seeds: Batch, target: Target, feedback: Feedback, oracle: Oracle, *, rows: int = 512, rng: int = 0,
    ram: float = 1.0, process: str = "light", lambda1: float = 1.0, lambda2: float = 0.1, step: float = 2550.0,
    iterations: int = 20, threshold: float = 0.0, against: int = 0, max_l2: float = inf, rounds: int = 0,
) -> Campaign:  # fmt: skip
    """Algorithm 1. `process` is the constraint (light, occlusion, blackout), `step` its s in grey levels, `against`
    the model that is led away from the others; one uncovered neuron of each is pushed."""
    if len(target.models) < 2:
        raise NnfuzzError("expected several models to compare, and came one; give others of the same task by --with")
    asked.positive(rows=rows, step=step, iterations=iterations)
    asked.from_zero(lambda1=lambda1, lambda2=lambda2, rounds=rounds)
    asked.share(threshold=threshold)
    asked.bound(max_l2=max_l2)
    if not 0 <= against < len(target.models):
        raise NnfuzzError(f"expected against from 0 to {len(target.models) - 1}, a model's place, and came {against}")
    check_gradients(target, seeds.x[:1], "deepxplore")
    table = Times(target.neurons, threshold)
    neurons = Neurons(("uncovered",), 1, threshold, table.times, target.weights(), target.spans)
    return Campaign(
        recipe="deepxplore", seeds=seeds.child(seeds.x, reference=seeds.x), corpus=Pool(ram),
        schedule=SeedLists(max(1, rows // iterations), iterations, rounds),
        mutate=Ascent(target, Apart(neurons, lambda1, lambda2, against), process, step, iterations,
                      at_once=min(64, target.batch_size)),
        valid=AllOf((Differs(), RelativeL2(max_l2))), target=target, feedback=Together((feedback, table)),
        oracle=oracle, keep=KEEPS["nothing"], rng=seeded(rng),
    )  # fmt: skip
