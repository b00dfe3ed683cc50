"""A mutator from several operators: each row gets one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from nnfuzz.mutators.operator import Apply, Operator, back, grouped
from nnfuzz.records import Batch


def _narrowed(operator: Operator) -> Apply:
    return lambda x, param: operator.apply(x, param[:, : operator.width])


def apply_ops(operators: Sequence[Operator], x: Tensor, op: Tensor, param: Tensor) -> Tensor:
    """Row i through operators[op[i]] with its parameters; -1 leaves it as it is. This is also the replay."""
    return grouped(x, param, op, [_narrowed(operator) for operator in operators])


def draw_params(operators: Sequence[Operator], op: Tensor, rng: Generator) -> Tensor:
    """[B,P] float64, P the widest operator's; columns a row has no use for are 0."""
    widest = max((operator.width for operator in operators), default=0)
    sizes = torch.bincount(op, minlength=len(operators)).tolist()
    drawn = torch.zeros(len(op), widest, dtype=torch.float64)
    for rows, operator in zip(torch.split(drawn, sizes), operators, strict=True):
        rows[:, : operator.width] = operator.draw(len(rows), rng)
    return drawn.index_select(0, back(op.argsort(stable=True)))


@dataclass(frozen=True)
class OneOf:
    """Each row gets one operator, all equally likely. Notes: `op`, `param`."""

    operators: tuple[Operator, ...]

    def __call__(self, parents: Batch, rng: Generator) -> Batch:
        op = torch.randint(len(self.operators), (len(parents),), generator=rng)
        param = draw_params(self.operators, op, rng)
        return parents.child(self.replay(parents, op, param), op=op, param=param)

    def replay(self, parents: Batch, op: Tensor, param: Tensor) -> Tensor:
        """The same images from the notes."""
        return apply_ops(self.operators, parents.x, op, param)
