"""DeepHunter's batch pool."""

from __future__ import annotations

from typing import Any

import torch
from torch import Generator, Tensor

from nnfuzz.records import Step
from nnfuzz.roles import Corpus

PROPOSALS = 256


class BatchPool:
    """DeepHunter's batch pool: Equation 2 picks batches, mutation potential deals out the chances in each.

    `rows` mutants are made in a turn, of as many batches side by side as it takes with `power` mutants each (the
    paper's K; the last gets what is left), so that one forward pass is well filled; with rows=power it is
    Algorithm 1 turn for turn.
    The paper prints none of the constants; these are what later ports by others agree on.
    """

    def __init__(
        self, potential: float, size: int = 100, power: int = 64, rows: int = 512,
        gamma: float = 5.0, p_min: float = 0.01,
    ) -> None:  # fmt: skip
        self.potential = potential  # beta * 255 * size(I) of section 3.3
        self.size, self.power, self.rows = size, power, rows
        self.gamma, self.p_min = gamma, p_min
        self._start = torch.empty(0, dtype=torch.int64)  # [batches] first id; a batch is a run of ids
        self._stop = torch.empty(0, dtype=torch.int64)
        self._fuzzed = torch.empty(0, dtype=torch.int64)  # f(B)
        self._batches = 0

    def __repr__(self) -> str:
        return (
            f"BatchPool(size={self.size}, power={self.power}, rows={self.rows}, gamma={self.gamma}, p_min={self.p_min})"
        )

    def __call__(self, corpus: Corpus, rng: Generator) -> Tensor:
        if not self._batches:
            for first in range(0, len(corpus), self.size):
                self._append(first, min(first + self.size, len(corpus)))
        if not self._batches:
            return torch.empty(0, dtype=torch.int64)
        picked = self._pick(rng)
        self._fuzzed.index_add_(0, picked, torch.ones_like(picked))
        last = self.rows - self.power * (len(picked) - 1)
        chances = [self.power] * (len(picked) - 1) + [last]
        return torch.cat([self._share_out(corpus, int(b), n, rng) for b, n in zip(picked, chances, strict=True)])

    def probability(self, fuzzed: Tensor) -> Tensor:
        """P(B), Equation 2."""
        fresh = fuzzed < (1 - self.p_min) * self.gamma
        return torch.where(fresh, 1 - fuzzed / self.gamma, self.p_min)

    def _pick(self, rng: Generator) -> Tensor:
        """Propose batches uniformly and accept each with P(B): proportional to P at a cost that does not grow
        with the pool. While almost all of it is old (P = p_min), the last resort is exact and linear."""
        picks = -(-self.rows // self.power)
        proposed = torch.randint(self._batches, (PROPOSALS,), generator=rng)
        lucky = torch.rand(PROPOSALS, generator=rng, dtype=torch.float64)
        picked = proposed[lucky < self.probability(self._fuzzed[proposed])][:picks]
        if len(picked) < picks:
            p = self.probability(self._fuzzed[: self._batches]).double()
            at = torch.rand(picks - len(picked), generator=rng, dtype=torch.float64) * p.sum()
            more = torch.searchsorted(p.cumsum(0), at).clamp_(max=self._batches - 1)
            picked = torch.cat([picked, more])
        return picked

    def _share_out(self, corpus: Corpus, batch: int, chances: int, rng: Generator) -> Tensor:
        """Section 3.3: chances proportional to the potential left."""
        ids = torch.arange(int(self._start[batch]), int(self._stop[batch]))
        left = (self.potential - corpus.note("spent", ids).double()).clamp_min(1.0)
        return ids[torch.multinomial(left, chances, replacement=True, generator=rng)]

    def learn(self, step: Step) -> None:
        """What was kept of a turn is the next batch."""
        if len(step.kept):
            self._append(int(step.kept[0]), int(step.kept[-1]) + 1)

    def _append(self, start: int, stop: int) -> None:
        if self._batches == len(self._start):
            room = torch.zeros(max(64, len(self._start)), dtype=torch.int64)
            self._start, self._stop, self._fuzzed = (
                torch.cat([held, room]) for held in (self._start, self._stop, self._fuzzed)
            )
        self._start[self._batches], self._stop[self._batches] = start, stop
        self._batches += 1

    def state_dict(self) -> dict[str, Any]:
        held = {"start": self._start, "stop": self._stop, "fuzzed": self._fuzzed}
        return {name: column[: self._batches].clone() for name, column in held.items()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._start, self._stop, self._fuzzed = (state[n].clone() for n in ("start", "stop", "fuzzed"))
        self._batches = len(self._start)
