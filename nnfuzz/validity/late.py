"""Costly questions are asked last, and only where something hangs on the answer."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from nnfuzz.records import Batch, Kind, Seen
from nnfuzz.roles import Corpus, Fair, Feedback, Oracle, Validity, promising


@dataclass(frozen=True)
class InTurn:
    """A Fair: every rule holds, and each is only asked of the rows that are left by those before it."""

    rules: tuple[Fair, ...]

    def __repr__(self) -> str:
        return f"InTurn({', '.join(getattr(rule, '__name__', repr(rule)) for rule in self.rules)})"

    def __call__(self, children: Batch, seen: Seen) -> Tensor:
        fair = torch.ones(len(children), dtype=torch.bool)
        for rule in self.rules:
            fair[fair.clone()] = rule(children[fair], seen[fair])
        return fair


@dataclass(frozen=True)
class WhereItMatters:
    """A Fair: asks `rule` of the rows that fail, and of those that the corpus might take; believes the others."""

    rule: Validity
    oracle: Oracle = field(repr=False)
    feedback: Feedback = field(repr=False)
    corpus: Corpus = field(repr=False)

    def __call__(self, children: Batch, seen: Seen) -> Tensor:
        verdict = self.oracle(children, seen)
        hopeful = (verdict == Kind.NOTHING) & promising(self.feedback, children, seen)
        rows = ((verdict > Kind.NOTHING) | hopeful).nonzero().flatten()
        fair = torch.ones(len(children), dtype=torch.bool)
        if len(rows):
            asked = children[rows]
            fair[rows] = self.rule(asked, self.corpus[asked.parent])
        return fair
