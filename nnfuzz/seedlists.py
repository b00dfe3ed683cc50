"""DLFuzz's seed lists: first come, first walked from."""

from __future__ import annotations

from typing import Any

import torch
from torch import Generator, Tensor

from nnfuzz.roles import Corpus


class SeedLists:
    """Each seed in the order it was kept, `steps` times in a row, since that many children are one walk from it.

    The corpus numbers what it takes in order. So the first id not walked from yet is the head of every input's list:
    all lists advance together, and none is overtaken. When they are empty, a round is over; the paper makes one,
    0 goes on until something else ends the search.
    """

    def __init__(self, walks: int, steps: int, rounds: int = 1) -> None:
        self.walks, self.steps, self.rounds = walks, steps, rounds
        self._next = self._round = 0

    def __repr__(self) -> str:
        return f"SeedLists(walks={self.walks}, steps={self.steps}, rounds={self.rounds})"

    def __call__(self, corpus: Corpus, rng: Generator) -> Tensor:
        taken, missing = [torch.empty(0, dtype=torch.int64)], self.walks
        while missing and len(corpus) and self._left(len(corpus)):
            stop = min(self._next + missing, len(corpus))
            taken.append(torch.arange(self._next, stop))
            missing, self._next = missing - len(taken[-1]), stop
        return torch.cat(taken).repeat_interleave(self.steps)

    def _left(self, seeds: int) -> bool:
        """Is there a seed to walk from? At the end of a round the next one begins, if there is to be one."""
        if self._next < seeds:
            return True
        if self.rounds and self._round + 1 >= self.rounds:
            return False
        self._next, self._round = 0, self._round + 1
        return True

    def state_dict(self) -> dict[str, Any]:
        return {"next": self._next, "round": self._round}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._next, self._round = int(state["next"]), int(state["round"])
