"""DRFuzz's seeds: the further from the original and the more often picked, the less likely picked again."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Generator, Tensor

from nnfuzz.records import Kind, Step
from nnfuzz.roles import Corpus

ALPHA = math.log(1 / 0.05) / 20  # after 20 generations a chance of 0.05
COLUMNS = {
    "times": torch.int64,
    "generation": torch.int64,
    "seed": torch.int64,
    "tendency": torch.int64,
    "out": torch.bool,
}


class Decaying:
    """Picks in proportion to exp(-alpha (g + s / 2)), g generations from the original, s times picked; 0 beyond `most`.

    Tree trimming: once a fault (seed, wrong class) is found, the ancestors of the turn's faults that lean to one of
    them are out. A seed of which all wrong classes are found is out with all its descendants.
    """

    def __init__(self, rows: int, classes: int, energy: int = 10, most: int = 10, alpha: float = ALPHA) -> None:
        self.rows, self.classes, self.energy, self.most, self.alpha = rows, classes, energy, most, alpha
        self._columns = {name: torch.empty(0, dtype=dtype) for name, dtype in COLUMNS.items()}
        self._rows = 0
        self._faults = torch.empty(0, classes, dtype=torch.bool)  # [seeds, K] found
        self._corpus: Corpus | None = None

    def __repr__(self) -> str:
        return f"Decaying(rows={self.rows}, energy={self.energy}, most={self.most}, alpha={self.alpha:.4f})"

    def __call__(self, corpus: Corpus, rng: Generator) -> Tensor:
        self._follow(corpus)
        chance = self.chance().cumsum(0)
        if not self._rows or not chance[-1]:
            chance = self._revived().cumsum(0)
        if not self._rows or not chance[-1]:
            return torch.empty(0, dtype=torch.int64)
        at = torch.rand(-(-self.rows // self.energy), generator=rng, dtype=torch.float64) * chance[-1]
        picked = torch.searchsorted(chance, at, right=True).clamp_(max=self._rows - 1)
        self._columns["times"].index_add_(0, picked, torch.ones_like(picked))
        return picked.repeat_interleave(self.energy)[: self.rows]

    def chance(self) -> Tensor:
        """[corpus] not normalised."""
        times, generation, out = (self._columns[name][: self._rows] for name in ("times", "generation", "out"))
        return torch.where(out | (times > self.most), 0.0, torch.exp(-self.alpha * (generation + times / 2)).double())

    def _revived(self) -> Tensor:
        """Everything is worn out: what is not out for good begins anew."""
        self._columns["times"].zero_()
        return self.chance()

    def _follow(self, corpus: Corpus) -> None:
        """Columns for the rows that are new since the last turn."""
        self._corpus = corpus
        new = torch.arange(self._rows, len(corpus))
        if not len(new):
            return
        if len(corpus) > len(self._columns["times"]):
            room = max(len(corpus), 2 * self._rows) - self._rows
            for name, column in self._columns.items():
                self._columns[name] = torch.cat([column[: self._rows], column.new_zeros(room)])
        self._rows = len(corpus)
        for name in ("generation", "seed", "tendency"):
            self._columns[name][new] = corpus.note(name, new)
        self._columns["times"][new] = 0
        self._columns["out"][new] = self._all_found(self._columns["seed"][new])

    def _all_found(self, seed: Tensor) -> Tensor:
        most = int(seed.max()) + 1 if len(seed) else 0
        if most > len(self._faults):
            more = torch.zeros(max(most, 2 * len(self._faults)) - len(self._faults), self.classes, dtype=torch.bool)
            self._faults = torch.cat([self._faults, more])
        return self._faults[seed].sum(1) >= self.classes - 1

    def learn(self, step: Step) -> None:
        rows = (step.verdict == Kind.REGRESSION).nonzero().flatten()
        if not len(rows) or self._corpus is None:
            return
        seed, wrong = step.children.seed[rows], step.seen.logits[1, rows].argmax(1)
        fresh = ~self._all_found(seed)
        self._faults[seed, wrong] = True
        if (self._all_found(seed) & fresh).any():
            self._columns["out"][: self._rows] |= self._all_found(self._columns["seed"][: self._rows])
        self._trim(torch.unique(step.children.parent[rows]), torch.unique(seed * self.classes + wrong))

    def _trim(self, ids: Tensor, found: Tensor) -> None:
        """Ancestors of faults, generation after generation."""
        assert self._corpus is not None
        seed, tendency, out = (self._columns[name] for name in ("seed", "tendency", "out"))
        while len(ids):
            leans = torch.isin(seed[ids] * self.classes + tendency[ids], found)
            out[ids[leans]] = True
            above = self._corpus.note("parent", ids)
            ids = torch.unique(above[above >= 0])

    def state_dict(self) -> dict[str, Any]:
        columns = {name: column[: self._rows].clone() for name, column in self._columns.items()}
        return {**columns, "faults": self._faults.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._columns = {name: state[name].clone() for name in COLUMNS}
        self._rows, self._faults = len(state["times"]), state["faults"].clone()
