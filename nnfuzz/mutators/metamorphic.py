"""DeepHunter's metamorphic mutation (Xie et al., ISSTA 2019, Algorithm 2), all rows at once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Generator, Tensor

from nnfuzz.mutators.combine import apply_ops, draw_params
from nnfuzz.mutators.operator import Operator, back
from nnfuzz.records import Batch
from nnfuzz.roles import Validity

FIRST = 2  # tries that every row gets at once
BLOCK_BYTES = 1 << 25  # of candidate images that one pass may hold


def changed(x: Tensor, reference: Tensor) -> Tensor:
    """[B] int64, the sum of |x - reference| (section 3.3)."""
    gap = torch.maximum(x, reference).sub_(torch.minimum(x, reference))  # exact in 8 bits, where x - y would wrap
    # Sums of floats are several times as fast as of integers, and exact for a channel of up to 256x256 bytes.
    return gap.flatten(2).sum(2, dtype=torch.float32).sum(1, dtype=torch.float64).long()


@dataclass(frozen=True)
class Metamorphic:
    """At most one affine operator in a lineage, and pixel operators as long as `satisfied` agrees.

    Notes: `reference` is the image a row is compared with: its seed, or what the affine operator made of the
    reference at that moment, so that the pixels correspond (Definition 2); `moved` says that it has been
    through one; `op` counts over affine + pixel and is -1 where no try succeeded; `param`; `spent` is
    the sum of |x - reference|.
    """

    affine: tuple[Operator, ...]
    pixel: tuple[Operator, ...]
    satisfied: Validity
    tries: int = 50

    def __post_init__(self) -> None:
        if not self.pixel:
            raise ValueError("expected at least one pixel operator, got none: a moved row would have no choice")

    @property
    def operators(self) -> tuple[Operator, ...]:
        return self.affine + self.pixel

    def start(self, seeds: Batch) -> Batch:
        """Seeds with the notes that this mutator reads and writes."""
        rows = len(seeds)
        width = max(operator.width for operator in self.operators)
        return seeds.child(
            seeds.x,
            reference=seeds.x,
            moved=torch.zeros(rows, dtype=torch.bool),
            op=torch.full((rows,), -1),
            param=torch.zeros(rows, width, dtype=torch.float64),
            spent=torch.zeros(rows, dtype=torch.int64),
        )

    def __call__(self, parents: Batch, rng: Generator) -> Batch:
        if "reference" not in parents.notes:
            parents = self.start(parents)
        waiting, left, block = torch.arange(len(parents)), self.tries, FIRST
        found: list[Batch] = []
        rows: list[Tensor] = []
        # Given its parent, tries are independent and alike: the first good one of a block drawn together is
        # distributed as the first good one drawn one at a time, at a fraction of the calls.
        while left and len(waiting):
            block = max(1, min(block, left, self._fitting(parents.x, len(waiting))))
            for good, row in self._block(parents, waiting, block, rng):
                found.append(good)
                rows.append(row)
            done = torch.zeros(len(parents), dtype=torch.bool)
            done[torch.cat(rows)] = True
            waiting, left = waiting[~done[waiting]], left - block
            block = max(2 * block, len(parents) // max(1, len(waiting)))  # the fewer wait, the more tries each
        return self._finished(parents, [*found, self._unchanged(parents[waiting])], [*rows, waiting])

    @staticmethod
    def _fitting(x: Tensor, rows: int) -> int:
        return max(1, BLOCK_BYTES // max(1, rows * x[0].numel()))

    def _block(self, parents: Batch, waiting: Tensor, block: int, rng: Generator) -> list[tuple[Batch, Tensor]]:
        """`block` tries for each waiting row; the first good one of each comes back, with the row it is for.

        Slow operators are asked only for tries that no quick one before them has made unnecessary.
        """
        source = waiting.repeat_interleave(block)
        op, param = self._draw(parents.notes["moved"].index_select(0, source), rng)
        slow = torch.tensor([operator.slow for operator in self.operators])[op]
        good = torch.zeros(len(source), dtype=torch.bool)
        asked = []
        for ask in (~slow, slow):
            at = (ask & (_rank(source, block) <= _first(good, block))).nonzero().flatten()
            at = at[_alike(op[at], param[at]).argsort()]
            among = parents[source[at]]
            tried = self._attempt(among, op[at], param[at])
            good[at] = self.satisfied(tried, among)
            asked.append((tried, at))
        first = good & (_rank(source, block) == _first(good, block))
        mine = [(tried, at, first[at].nonzero().flatten()) for tried, at in asked]
        return [(tried[rows], source[at[rows]]) for tried, at, rows in mine]

    def _draw(self, moved: Tensor, rng: Generator) -> tuple[Tensor, Tensor]:
        """An operator for each row, of those that it may still have, and its parameters."""
        first = moved * len(self.affine)
        chance = torch.rand(len(moved), dtype=torch.float64, generator=rng)
        op = first + (chance * (len(self.operators) - first)).long()
        return op, draw_params(self.operators, op, rng)

    def _attempt(self, parents: Batch, op: Tensor, param: Tensor) -> Batch:
        """One try for each row; `op` is in order, so the rows that move come first."""
        reference, moves = parents.notes["reference"], op < len(self.affine)
        count = int(moves.sum())
        pairs = torch.cat([parents.x[:count], reference[:count]], 1)  # the two share their warps
        moved, moved_reference = apply_ops(self.affine, pairs, op[:count], param[:count]).chunk(2, 1)
        others = apply_ops(self.pixel, parents.x[count:], op[count:] - len(self.affine), param[count:])
        return parents.child(
            torch.cat([moved, others]),
            op=op,
            param=param,
            reference=torch.cat([moved_reference, reference[count:]]) if count else reference,
            moved=parents.notes["moved"] | moves,
        )

    def _unchanged(self, parents: Batch) -> Batch:
        width = max(operator.width for operator in self.operators)
        none = torch.full((len(parents),), -1)
        return parents.child(parents.x, op=none, param=torch.zeros(len(parents), width, dtype=torch.float64))

    @staticmethod
    def _finished(parents: Batch, found: list[Batch], rows: list[Tensor]) -> Batch:
        children = Batch.cat(found)[back(torch.cat(rows))]
        return children.child(children.x, spent=changed(children.x, children.notes["reference"]))

    def replay(self, parents: Batch, op: Tensor, param: Tensor) -> Tensor:
        """The same images from the notes."""
        return apply_ops(self.operators, parents.x, op, param)


def _alike(op: Tensor, param: Tensor) -> Tensor:
    """A number that puts like operators, and like kinds of them, side by side: that spares copying the images."""
    return op * 4096 + param[:, 0].clamp(0, 4095)


def _rank(source: Tensor, block: int) -> Tensor:
    """Which try of its row each one is."""
    return torch.arange(len(source)) % block


def _first(good: Tensor, block: int) -> Tensor:
    """For every try, the first good try of its row; `block` where there is none."""
    rows = good.view(-1, block)
    first = torch.where(rows.any(1), rows.to(torch.uint8).argmax(1), block)
    return first.repeat_interleave(block)
