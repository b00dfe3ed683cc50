"""Two versions of a model, the old one in row 0 and the new one in row 1: how their answers differ (DRFuzz)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from nnfuzz.records import Batch, Kind, Seen


@dataclass(frozen=True)
class Regressed:
    """A regression fault: the old version is right against the label, and the new one is wrong.

    Also told apart: both are wrong; the new one repairs a mistake of the old one, or is the surer one of the two and
    has won more than `catching_up` on the old one since the parent.
    """

    catching_up: float = 0.15

    def __call__(self, children: Batch, seen: Seen) -> Tensor:
        old, new = seen.logits.argmax(2) == children.label
        verdict = torch.where(new, int(Kind.FIXED), int(Kind.BOTH_WRONG))
        verdict = torch.where(old, torch.where(new, int(Kind.NOTHING), int(Kind.REGRESSION)), verdict)
        if "sure" not in children.notes:
            return verdict
        before, now = ahead(children.notes["sure"]), ahead(sure_of_label(children, seen))
        catching_up = (now < 0) & (before - now > self.catching_up)
        return torch.where((verdict == Kind.NOTHING) & catching_up, int(Kind.FIXED), verdict)


def ahead(sure: Tensor) -> Tensor:
    """[B] by how much the old version is surer of the label than the new one."""
    return sure[:, 0] - sure[:, 1]


def sure_of_label(children: Batch, seen: Seen) -> Tensor:
    """[B,M] the probability that each version gives to the label."""
    at = children.label.clamp_min(0)[None, :, None].expand(len(seen.logits), -1, 1)
    return seen.logits.softmax(2).gather(2, at)[:, :, 0].T


def further(seen: Seen) -> Tensor:
    """[B,K] by how much more probable the new version finds each class."""
    old, new = seen.logits.softmax(2)
    apart: Tensor = new - old
    return apart


def tendency(children: Batch, seen: Seen) -> Tensor:
    """[B] the wrong class that the new version leans to most, against the old one."""
    apart = further(seen).scatter(1, children.label.clamp_min(0)[:, None], -torch.inf)
    return apart.argmax(1)


def compared(children: Batch, seen: Seen) -> Batch:
    """A Remark: how sure both versions were, and which mistake the new one leans to."""
    return children.child(children.x, sure=sure_of_label(children, seen), tendency=tendency(children, seen))
