"""What is wrong with an answer. An oracle is a function; several are asked in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from nnfuzz.records import Batch, Kind, Seen


def misclassified(children: Batch, seen: Seen) -> Tensor:
    """The answer is not the label. An input without a label (-1) is never wrong."""
    wrong = (seen.answer != children.label) & (children.label >= 0)
    return wrong.long() * Kind.MISCLASSIFIED


def changed(children: Batch, seen: Seen) -> Tensor:
    """The answer is not what the model itself said of the seed (the metamorphic relation; needs no labels)."""
    return (seen.answer != children.notes["answer"]).long() * Kind.CHANGED


def disagreeing(children: Batch, seen: Seen) -> Tensor:
    """The models do not all give the same answer (DeepXplore's differential oracle; needs no labels)."""
    answers = seen.logits.argmax(2)
    return (answers != answers[0]).any(0).long() * Kind.DISAGREEING


def not_finite(children: Batch, seen: Seen) -> Tensor:
    """Some class score of some model is NaN or infinite: such an answer means nothing."""
    return (~seen.logits.isfinite().all(2).all(0)).long() * Kind.NOT_FINITE


def failed(children: Batch, seen: Seen) -> Tensor:
    """No answer at all: the model raised an exception, or never came back."""
    raised = seen.raised
    return torch.where(raised > 0, int(Kind.RAISED), (raised < 0) * int(Kind.HUNG))


@dataclass(frozen=True)
class FirstOf:
    """The first complaint in the order given."""

    oracles: tuple[Callable[[Batch, Seen], Tensor], ...]

    def __repr__(self) -> str:
        return f"FirstOf({', '.join(getattr(oracle, '__name__', repr(oracle)) for oracle in self.oracles)})"

    def __call__(self, children: Batch, seen: Seen) -> Tensor:
        verdict = torch.zeros(len(children), dtype=torch.int64)
        for oracle in self.oracles:
            verdict = torch.where(verdict == Kind.NOTHING, oracle(children, seen), verdict)
        return verdict
