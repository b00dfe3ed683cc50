"""DRFuzz's diversity criterion: how far apart the versions were ever driven, for each seed and class."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from nnfuzz.order import in_turn
from nnfuzz.records import Batch, Kind, Seen
from nnfuzz.roles import Oracle
from nnfuzz.versions import further

COUNT = (Kind.NOTHING, Kind.REGRESSION)


class Diversity:
    """A Feedback: in how many classes k, other than the new version's answer, p_new[k] - p_old[k] is the largest yet,
    by more than `margin`.

    Only inputs count that the old version reads and that are no repair; `oracle` tells.
    """

    def __init__(self, oracle: Oracle, classes: int, margin: float = 0.0) -> None:
        self.oracle, self.classes, self.margin = oracle, classes, margin
        self._best = torch.empty(0, classes)  # [seeds, K]

    def __repr__(self) -> str:
        return f"Diversity(margin={self.margin})"

    def __call__(self, children: Batch, seen: Seen) -> Tensor:
        apart, seed = self._apart(children, seen), children.seed
        gain = torch.zeros(len(children), dtype=torch.int64)
        for rows in in_turn(seed):
            best = self._best[seed[rows]]
            wider = apart[rows] > best + self.margin
            gain[rows] = wider.sum(1)
            self._best[seed[rows]] = torch.where(wider, apart[rows], best)  # so that small steps add up
        return gain

    def promising(self, children: Batch, seen: Seen) -> Tensor:
        return (self._apart(children, seen) > self._best[children.seed] + self.margin).any(1)

    def _apart(self, children: Batch, seen: Seen) -> Tensor:
        """[B,K]; -inf where a class does not count, or the whole row."""
        apart = further(seen).to(self._best.dtype).scatter(1, seen.logits[1].argmax(1, keepdim=True), -torch.inf)
        self._room(children.seed)
        counts = torch.isin(self.oracle(children, seen), torch.tensor(COUNT))
        return torch.where(counts[:, None], apart, -torch.inf)

    def _room(self, seed: Tensor) -> None:
        most = int(seed.max()) + 1 if len(seed) else 0
        if most > len(self._best):
            more = max(most, 2 * len(self._best)) - len(self._best)
            self._best = torch.cat([self._best, self._best.new_full((more, self.classes), -torch.inf)])

    def state_dict(self) -> dict[str, Any]:
        return {"best": self._best.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._best = state["best"].clone()
