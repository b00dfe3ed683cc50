"""One elite for each seed and wrong class: how close any child came to making the new version answer that class."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from nnfuzz.order import in_turn
from nnfuzz.records import Batch, Kind, Seen, Step
from nnfuzz.roles import Corpus, Oracle


class Archive:
    """A Feedback: in how many open cells (seed, wrong class) a row comes closer than any before it.

    Only inputs count that both versions still read; `oracle` tells. A cell that has brought forth its fault is
    closed. Which corpus row is the elite of a cell stands here; the rows themselves are the corpus's.
    """

    def __init__(self, oracle: Oracle, classes: int, margin: float = 0.3, caution: float = 0.25) -> None:
        self.oracle, self.classes, self.margin, self.caution = oracle, classes, margin, caution
        self.close = torch.empty(0, classes)  # [seeds, K] the best closeness, -inf where no seed is
        self.elite = torch.empty(0, classes, dtype=torch.int64)  # [seeds, K] its corpus row
        self.open = torch.empty(0, classes, dtype=torch.bool)  # [seeds, K] still to be found

    def __repr__(self) -> str:
        return f"Archive(margin={self.margin}, caution={self.caution})"

    def __call__(self, children: Batch, seen: Seen) -> Tensor:
        close, seed = self._closeness(children, seen), children.seed
        original = children.parent < 0  # a seed that is admitted: all its cells but its own class are open
        self.open[seed[original]] = True
        self.open[seed[original], children.label[original]] = False
        gain = torch.zeros(len(children), dtype=torch.int64)
        for rows in in_turn(seed):
            at = seed[rows]
            better = self._better(close[rows], at)
            gain[rows] = better.sum(1)
            self.close[at] = torch.where(better, close[rows], self.close[at])
        return gain

    def promising(self, children: Batch, seen: Seen) -> Tensor:
        return self._better(self._closeness(children, seen), children.seed).any(1)

    def _better(self, close: Tensor, seed: Tensor) -> Tensor:
        return (close > self.close[seed] + self.margin) & self.open[seed]

    def _closeness(self, children: Batch, seen: Seen) -> Tensor:
        """[B,K] the new version's margin for each class over the label, less a share of the old one's."""
        label = children.label.clamp_min(0)[:, None]
        old, new = seen.logits.log_softmax(2).to(self.close.dtype)
        close = (new - new.gather(1, label)) - self.caution * (old - old.gather(1, label))
        self._room(children)
        counts = self.oracle(children, seen) == Kind.NOTHING
        return torch.where(counts[:, None], close, -torch.inf)

    def _room(self, children: Batch) -> None:
        """Cells for seeds never seen before."""
        most = int(children.seed.max()) + 1 if len(children) else 0
        if most <= len(self.close):
            return
        rows = max(most, 2 * len(self.close)) - len(self.close)
        self.close = torch.cat([self.close, self.close.new_full((rows, self.classes), -torch.inf)])
        self.elite = torch.cat([self.elite, self.elite.new_full((rows, self.classes), -1)])
        self.open = torch.cat([self.open, self.open.new_zeros(rows, self.classes)])

    def unfound(self, children: Batch, seen: Seen) -> Tensor:
        """A Fair: is it not a fault that this seed has brought forth before? Such a cell is closed."""
        old, new = seen.logits.argmax(2)
        right = children.label
        unfound: Tensor = (old != right) | (new == right) | self.open[children.seed, new]
        return unfound

    def begin(self, corpus: Corpus) -> None:
        """Every seed is the elite of all its cells."""
        ids = torch.arange(len(corpus))
        self.elite[corpus.note("seed", ids)] = ids[:, None].expand(-1, self.classes)

    def learn(self, step: Step) -> None:
        kept = (step.gain > 0) & (step.verdict == Kind.NOTHING)
        children, seen = step.children[kept], step.seen[kept]
        close = self._closeness(children, seen)
        best = self.open[children.seed] & (close == self.close[children.seed])
        row, k = best.nonzero().T
        self.elite[children.seed[row], k] = step.kept[row]
        found = step.verdict == Kind.REGRESSION
        self.open[step.children.seed[found], step.seen.logits[1, found].argmax(1)] = False

    def state_dict(self) -> dict[str, Any]:
        return {"close": self.close.clone(), "elite": self.elite.clone(), "open": self.open.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.close, self.elite, self.open = (state[name].clone() for name in ("close", "elite", "open"))
