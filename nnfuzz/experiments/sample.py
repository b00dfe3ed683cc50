"""A fair sample of a stream in bounded memory."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from nnfuzz.tally import fingerprints


class Reservoir:
    """`size` inputs, each one offered so far with the same chance to be among them (Vitter's algorithm R)."""

    def __init__(self, size: int, rng: Generator) -> None:
        self.size, self.rng = size, rng
        self.offered = 0
        self._x: Tensor | None = None
        self._label = torch.empty(size, dtype=torch.int64)

    def offer(self, x: Tensor, label: Tensor) -> None:
        if self._x is None:
            self._x = x.new_empty((self.size, *x.shape[1:]))
        turn = self.offered + torch.arange(len(x))
        drawn = (torch.rand(len(x), dtype=torch.float64, generator=self.rng) * (turn + 1)).long()
        slot = torch.where(turn < self.size, turn, drawn)
        self.offered += len(x)
        rows = (slot < self.size).nonzero().flatten()
        # Of two rows that drew one slot the later stays, as if they had come one by one.
        last = {place: row for row, place in zip(rows.tolist(), slot[rows].tolist(), strict=True)}
        at, taken = torch.tensor(list(last), dtype=torch.int64), torch.tensor(list(last.values()), dtype=torch.int64)
        self._x[at], self._label[at] = x[taken], label[taken]

    def held(self) -> tuple[Tensor, Tensor]:
        """The sample's inputs and labels; of equal inputs only the first."""
        if self._x is None:
            return torch.empty(0), torch.empty(0, dtype=torch.int64)
        filled = min(self.offered, self.size)
        keys = dict(zip(reversed(fingerprints(self._x[:filled]).tolist()), range(filled - 1, -1, -1), strict=True))
        rows = torch.tensor(sorted(keys.values()), dtype=torch.int64)
        return self._x[rows], self._label[rows]
