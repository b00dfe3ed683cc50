"""Whom to mutate next, and how often."""

from __future__ import annotations

from typing import Any

import torch
from torch import Generator, Tensor

from nnfuzz.records import Step
from nnfuzz.roles import Corpus

PROPOSALS = 256


class BatchPool:
    """DeepHunter's batch pool: Equation 2 picks batches, mutation potential deals out the chances in each.

    `picks` batches are fuzzed side by side in a turn, each with `power` mutants (the paper's K), so that one
    forward pass is well filled; with picks=1 it is Algorithm 1 turn for turn.
    gamma and p_min are those of the authors' later port; the paper prints none of the constants.
    """

    def __init__(
        self, potential: float, size: int = 100, power: int = 64, picks: int = 8,
        gamma: float = 5.0, p_min: float = 0.01,
    ) -> None:  # fmt: skip
        self.potential = potential  # beta * 255 * size(I) of section 3.3
        self.size, self.power, self.picks = size, power, picks
        self.gamma, self.p_min = gamma, p_min
        self._start = torch.empty(0, dtype=torch.int64)  # [batches] first id; a batch is a run of ids
        self._stop = torch.empty(0, dtype=torch.int64)
        self._fuzzed = torch.empty(0, dtype=torch.int64)  # f(B)
        self._batches = 0

    def __repr__(self) -> str:
        return (
            f"BatchPool(size={self.size}, power={self.power}, picks={self.picks}, "
            f"gamma={self.gamma}, p_min={self.p_min})"
        )

    def __call__(self, corpus: Corpus, rng: Generator) -> Tensor:
        if not self._batches:
            for first in range(0, len(corpus), self.size):
                self._append(first, min(first + self.size, len(corpus)))
        if not self._batches:
            return torch.empty(0, dtype=torch.int64)
        picked = self._pick(rng)
        self._fuzzed.index_add_(0, picked, torch.ones_like(picked))
        return torch.cat([self._share_out(corpus, int(b), rng) for b in picked])

    def probability(self, fuzzed: Tensor) -> Tensor:
        """P(B), Equation 2."""
        fresh = fuzzed < (1 - self.p_min) * self.gamma
        return torch.where(fresh, 1 - fuzzed / self.gamma, self.p_min)

    def _pick(self, rng: Generator) -> Tensor:
        """Propose batches uniformly and accept each with P(B): proportional to P at a cost that does not grow
        with the pool. While almost all of it is old (P = p_min), the last resort is exact and linear."""
        proposed = torch.randint(self._batches, (PROPOSALS,), generator=rng)
        lucky = torch.rand(PROPOSALS, generator=rng, dtype=torch.float64)
        picked = proposed[lucky < self.probability(self._fuzzed[proposed])][: self.picks]
        if len(picked) < self.picks:
            p = self.probability(self._fuzzed[: self._batches]).double()
            at = torch.rand(self.picks - len(picked), generator=rng, dtype=torch.float64) * p.sum()
            more = torch.searchsorted(p.cumsum(0), at).clamp_(max=self._batches - 1)
            picked = torch.cat([picked, more])
        return picked

    def _share_out(self, corpus: Corpus, batch: int, rng: Generator) -> Tensor:
        """Section 3.3: chances proportional to the potential left, `power` in all."""
        ids = torch.arange(int(self._start[batch]), int(self._stop[batch]))
        left = (self.potential - corpus.note("spent", ids).double()).clamp_min(1.0)
        return ids[torch.multinomial(left, self.power, replacement=True, generator=rng)]

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


class Uniform:
    """Every seed of the corpus alike; `energy` mutants each."""

    def __init__(self, rows: int, energy: int = 20) -> None:
        self.rows, self.energy = rows, energy

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rows={self.rows}, energy={self.energy})"

    def __call__(self, corpus: Corpus, rng: Generator) -> Tensor:
        if not len(corpus):
            return torch.empty(0, dtype=torch.int64)
        picked = self._pick(len(corpus), -(-self.rows // self.energy), rng)
        return picked.repeat_interleave(self.energy)[: self.rows]

    def _pick(self, corpus: int, count: int, rng: Generator) -> Tensor:
        return torch.randint(corpus, (count,), generator=rng)


class Recent(Uniform):
    """TensorFuzz's choice: one of the last five, or any one seed, six equal chances."""

    def _pick(self, corpus: int, count: int, rng: Generator) -> Tensor:
        back = torch.randint(6, (count,), generator=rng)
        anywhere = torch.randint(corpus, (count,), generator=rng)
        return torch.where(back == 5, anywhere, (corpus - 1 - back).clamp_min(0))


class Probabilistic(Uniform):
    """The default of DeepHunter's public code: a cyclic scan that accepts a seed with a probability which falls
    from `first` by 1/gamma each time it is fuzzed, down to `p_min` (the code lets it fall to .2, below its own
    minimum of .3; here the minimum holds)."""

    def __init__(self, rows: int, energy: int = 20, first: float = 0.8, gamma: float = 5.0, p_min: float = 0.3) -> None:
        super().__init__(rows, energy)
        self.first, self.gamma, self.p_min = first, gamma, p_min
        self._times = torch.zeros(0, dtype=torch.int64)
        self._next = 0

    def _pick(self, corpus: int, count: int, rng: Generator) -> Tensor:
        if corpus > len(self._times):
            grown = torch.zeros(max(corpus, 2 * len(self._times)), dtype=torch.int64)
            grown[: len(self._times)] = self._times
            self._times = grown
        picked: list[Tensor] = []
        while (missing := count - sum(map(len, picked))) > 0:
            window = min(corpus, 4 * missing)
            ids = (self._next + torch.arange(window)) % corpus
            chance = (self.first - self._times[ids] / self.gamma).clamp_min(self.p_min)
            taken = (torch.rand(window, generator=rng) < chance).nonzero().flatten()[:missing]
            scanned = int(taken[-1]) + 1 if len(taken) == missing else window
            picked.append(ids[taken])
            self._times[ids[taken]] += 1
            self._next = (self._next + scanned) % corpus
        return torch.cat(picked)

    def state_dict(self) -> dict[str, Any]:
        return {"times": self._times.clone(), "next": self._next}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._times, self._next = state["times"].clone(), int(state["next"])


SEED_LEVEL: dict[str, type[Uniform]] = {"uniform": Uniform, "recent": Recent, "probabilistic": Probabilistic}
