"""The growing pool: every input worth mutating again, by row."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from nnfuzz.records import Batch, take
from nnfuzz.spill import Mapped

GIB = 2**30
WIDE = 64  # bytes a row; narrower columns stay in memory, whatever their number


class Pool:
    """Columns that grow by doubling, so that adding and picking rows costs the same at any size.

    Beyond `ram` GiB the wide columns (pixels) move to a file that is gone when the pool is.
    """

    def __init__(self, ram: float = 1.0) -> None:
        self.ram = ram
        self._columns: dict[str, Tensor] = {}
        self._mapped: dict[str, Mapped] = {}
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, ids: Tensor) -> Batch:
        """Copies of rows; each one's `parent` is its own id, ready to be handed down."""
        self._check(ids)
        columns = {name: self._take(name, ids) for name in self._columns if name != "parent"}
        return Batch(columns.pop("x"), columns.pop("label"), columns.pop("seed"), ids, columns)

    def note(self, name: str, ids: Tensor) -> Tensor:
        """One column of some rows: "seed", "label", "parent" (where the row came from) or any note."""
        self._check(ids)
        return self._take(name, ids)

    def _take(self, name: str, ids: Tensor) -> Tensor:
        taken = take(self._columns[name], ids)
        if name in self._mapped:
            self._mapped[name].touched(taken.nbytes)
        return taken

    def add(self, batch: Batch) -> Tensor:
        """Take all rows; their new ids come back, in order and without gaps."""
        fresh = {
            "x": batch.x,
            "label": batch.label,
            "seed": batch.seed,
            "parent": batch.parent,
            **batch.notes,
        }
        if not self._columns:
            self._columns = {name: column[:0] for name, column in fresh.items()}
        if fresh.keys() != self._columns.keys():
            raise ValueError(f"the corpus has columns {sorted(self._columns)}, the batch {sorted(fresh)}")
        start, self._rows = self._rows, self._rows + len(batch)
        for name, column in fresh.items():
            self._room(name, start)[start : self._rows] = column
            if name in self._mapped:
                self._mapped[name].touched(column.nbytes)
        return torch.arange(start, self._rows)

    def _room(self, name: str, used: int) -> Tensor:
        held = self._columns[name]
        if self._rows > len(held):
            rows = max(self._rows, 2 * len(held))
            self._columns[name] = self._larger(name, held, rows, used)
        return self._columns[name]

    def _larger(self, name: str, held: Tensor, rows: int, used: int) -> Tensor:
        shape = (rows, *held.shape[1:])
        if name in self._mapped:
            return self._mapped[name].grow(shape)
        row = held.new_empty(held.shape[1:]).nbytes
        if row < WIDE or self._bytes() + (rows - len(held)) * row <= self.ram * GIB:
            grown = held.new_empty(shape)
        else:
            self._mapped[name] = Mapped(held.dtype)
            grown = self._mapped[name].grow(shape)
        grown[:used] = held[:used]
        return grown

    def _bytes(self) -> int:
        return sum(column.nbytes for name, column in self._columns.items() if name not in self._mapped)

    def _check(self, ids: Tensor) -> None:
        # The buffers are longer than the pool: an id past its end would read rubbish without an error.
        if len(ids) and int(ids.max()) >= self._rows:
            raise IndexError(f"id {int(ids.max())} in a corpus of {self._rows}")

    def state_dict(self) -> dict[str, Any]:
        return {name: column[: self._rows].clone() for name, column in self._columns.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._columns, self._mapped = dict(state), {}
        self._rows = len(state["x"]) if state else 0
