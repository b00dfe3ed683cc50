"""Single seeds: any one, the newest, each with its own chance."""

from __future__ import annotations

from typing import Any

import torch
from torch import Generator, Tensor

from nnfuzz.roles import Corpus


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
