"""The cells of an archive: those picked least come next."""

from __future__ import annotations

from typing import Any

import torch
from torch import Generator, Tensor

from nnfuzz.archive import Archive
from nnfuzz.roles import Corpus


class LeastPicked:
    """The elites of the open cells that were picked least; among equals those that are closest to a fault."""

    def __init__(self, archive: Archive, rows: int, energy: int = 1, pull: float = 0.5) -> None:
        self.archive, self.rows, self.energy, self.pull = archive, rows, energy, pull
        self._picked = torch.empty(0, archive.classes)  # [seeds, K]

    def __repr__(self) -> str:
        return f"LeastPicked({self.archive!r}, rows={self.rows}, energy={self.energy}, pull={self.pull})"

    def __call__(self, corpus: Corpus, rng: Generator) -> Tensor:
        if not len(self._picked):
            self.archive.begin(corpus)
            self._picked = torch.zeros_like(self.archive.close)
        cells = self.archive.open.flatten().nonzero().flatten()
        if not len(cells):
            return cells
        close = self.archive.close.flatten()[cells]
        chance = torch.rand(len(cells), generator=rng)
        last = self._picked.flatten()[cells] - self.pull * close.clamp(-20, 0) / -20 + chance
        next_ = cells[last.topk(min(len(cells), -(-self.rows // self.energy)), largest=False).indices]
        self._picked.view(-1)[next_] += 1
        return self.archive.elite.flatten()[next_].repeat_interleave(self.energy)[: self.rows]

    def state_dict(self) -> dict[str, Any]:
        return {"picked": self._picked.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._picked = state["picked"].clone()
