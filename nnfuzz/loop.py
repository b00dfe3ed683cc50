"""The fuzzer. Everything else is a part of it, or reads what it yields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nnfuzz.records import Batch, Kind, Step

if TYPE_CHECKING:
    from torch import Generator

    from nnfuzz.roles import Corpus, Fair, Feedback, Keep, Mutator, Oracle, Remark, Schedule, Target, Validity


def fuzz(
    corpus: Corpus, schedule: Schedule, mutate: Mutator, valid: Validity, target: Target, fair: Fair,
    feedback: Feedback, oracle: Oracle, remark: Remark, keep: Keep, rng: Generator,
) -> Iterator[Step]:  # fmt: skip
    """Turn the loop until the schedule has nothing left; the caller may stop earlier, between two steps."""
    parts = (schedule, mutate, valid, fair, feedback, oracle)
    learners = [part.learn for part in parts if hasattr(part, "learn")]
    while len(ids := schedule(corpus, rng)):
        parents = corpus[ids]
        tried = mutate(parents, rng)
        children = tried[run := valid(tried, parents)]
        seen = target(children.x)
        believed = fair(children, seen)
        children, seen = children[believed], seen[believed]
        verdict = oracle(children, seen)
        gain = feedback(children, seen)
        children = remark(children, seen)
        kept = corpus.add(children[keep(gain, verdict)])
        step = Step(parents, tried, children, seen, gain, verdict, kept, run, believed)
        for learn in learners:
            learn(step)
        yield step


def admit(
    seeds: Batch, corpus: Corpus, target: Target, feedback: Feedback, oracle: Oracle, remark: Remark, rows: int = 256
) -> Batch:
    """Give the corpus the seeds the oracle has nothing against; return the others with their `verdict`."""
    aside = []
    for start in range(0, len(seeds), rows):
        batch = seeds[start : start + rows]
        seen = target(batch.x)
        batch = remark(batch.child(batch.x, answer=seen.answer), seen)
        verdict = oracle(batch, seen)
        fine = verdict == Kind.NOTHING
        feedback(batch[fine], seen[fine])
        corpus.add(batch[fine])
        aside.append(batch.child(batch.x, verdict=verdict)[~fine])
    return Batch.cat(aside)
