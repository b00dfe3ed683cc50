"""What gradient ascent makes larger: the answer leaves its class, and chosen neurons go where they are pushed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from nnfuzz.mutators.neurons import Neurons
from nnfuzz.records import Seen


@dataclass(frozen=True, eq=False)
class Aim:
    """What stays fixed while a row is on its way: its own classes, and its own neurons."""

    classes: Tensor  # [B,1+k] the answer, then the classes next to it
    push: Tensor  # [B,N]

    def __getitem__(self, rows: Tensor) -> Aim:
        return Aim(self.classes[rows], self.push[rows])


class Objective(Protocol):
    """Rows do not know of each other: the sum over them has each row's own gradient."""

    @property
    def draws(self) -> int: ...
    def aim(self, seen: Seen, chance: Tensor) -> Aim: ...
    def __call__(self, aim: Aim, seen: Seen) -> Tensor: ...  # [B]
    def reached(self, aim: Aim, seen: Seen) -> Tensor: ...  # [B] bool


@dataclass(frozen=True)
class NextLabels:
    """DLFuzz, Equation 1: the k next classes minus the own one, plus lambda times the neurons."""

    neurons: Neurons
    k: int = 4
    weight: float = 0.5  # lambda
    probabilities: bool = False

    @property
    def draws(self) -> int:
        return self.neurons.draws

    def aim(self, seen: Seen, chance: Tensor) -> Aim:
        scores = seen.logits[0].detach()
        ranked = scores.sort(dim=1, descending=True, stable=True).indices
        return Aim(ranked[:, : 1 + self.k], self.neurons(seen, chance))

    def __call__(self, aim: Aim, seen: Seen) -> Tensor:
        scores = seen.logits[0].softmax(1) if self.probabilities else seen.logits[0]
        own, *others = scores.gather(1, aim.classes).unbind(1)
        return _sum(others, own) - own + self.weight * _pushed(aim, seen)

    def reached(self, aim: Aim, seen: Seen) -> Tensor:
        return seen.answer != aim.classes[:, 0]


@dataclass(frozen=True)
class Apart:
    """DeepXplore's joint objective (sec. 4.2): all models but one stay with the class, `against` leaves it."""

    neurons: Neurons  # of every model
    lambda1: float = 1.0
    lambda2: float = 0.1
    against: int = 0

    @property
    def draws(self) -> int:
        return self.neurons.draws

    def aim(self, seen: Seen, chance: Tensor) -> Aim:
        return Aim(seen.answer[:, None], self.neurons(seen, chance))

    def __call__(self, aim: Aim, seen: Seen) -> Tensor:
        own = torch.stack([logits.gather(1, aim.classes)[:, 0] for logits in seen.logits])  # [M,B]
        that = own[self.against]
        return own.sum(0) - that - self.lambda1 * that + self.lambda2 * _pushed(aim, seen)

    def reached(self, aim: Aim, seen: Seen) -> Tensor:
        answers = seen.logits.argmax(2)
        return (answers != answers[0]).any(0)


def _sum(parts: list[Tensor], like: Tensor) -> Tensor:
    return torch.stack(parts).sum(0) if parts else torch.zeros_like(like)


def _pushed(aim: Aim, seen: Seen) -> Tensor:
    return (seen.neurons * aim.push).sum(1).to(seen.logits.device)
