"""Which operator next: learned from what came of the ones before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Generator, Tensor

from nnfuzz.mutators.combine import apply_ops, draw_params
from nnfuzz.mutators.operator import Operator
from nnfuzz.records import Batch, Step

COUNTS = ("chosen", "rewarded", "judged", "fair")


def unchanged(seeds: Batch, operators: Sequence[Operator]) -> Batch:
    """Seeds with the notes on how they came about: not at all."""
    none, width = torch.full((len(seeds),), -1), max(operator.width for operator in operators)
    return seeds.child(seeds.x, op=none, param=torch.zeros(len(seeds), width, dtype=torch.float64))


class Chains:
    """DRFuzz's Markov chains over operators: each run of `energy` parents gets one, with fresh parameters a row.

    Operators are ranked by score; from rank a, rank b is proposed uniformly and taken with (1 - p)^(b - a), or for
    sure if it ranks higher, p = 1 / operators; a refusal proposes again. That is a draw with weights
    min(1, (1 - p)^(b - a)), so it is made as one. As many chains go side by side as a turn has runs.
    """

    def __init__(self, operators: Sequence[Operator], energy: int = 10) -> None:
        self.operators, self.energy = tuple(operators), energy
        self._counts = {name: torch.zeros(len(self.operators), dtype=torch.float64) for name in COUNTS}
        self._last = torch.empty(0, dtype=torch.int64)  # [chains] the operator each took last

    def __repr__(self) -> str:
        return f"Chains({', '.join(operator.name for operator in self.operators)}, energy={self.energy})"

    def start(self, seeds: Batch) -> Batch:
        """Seeds with the notes that this mutator and its schedule write."""
        return unchanged(seeds, self.operators).child(seeds.x, generation=torch.zeros(len(seeds), dtype=torch.int64))

    def __call__(self, parents: Batch, rng: Generator) -> Batch:
        op = self._next(-(-len(parents) // self.energy), rng).repeat_interleave(self.energy)[: len(parents)]
        param = draw_params(self.operators, op, rng)
        generation = parents.notes["generation"] + 1
        return parents.child(self.replay(parents, op, param), op=op, param=param, generation=generation)

    def replay(self, parents: Batch, op: Tensor, param: Tensor) -> Tensor:
        """The same images from the notes."""
        return apply_ops(self.operators, parents.x, op, param)

    @property
    def score(self) -> Tensor:
        """[operators] the share of runs that drove the versions apart, times the share that stayed fair."""
        count = self._counts
        return count["rewarded"] / count["chosen"].clamp_min(1) * count["fair"] / count["judged"].clamp_min(1)

    def _next(self, chains: int, rng: Generator) -> Tensor:
        """The next operator of each chain; a chain's first is any, all equally likely."""
        number = len(self.operators)
        last, fresh = self._last[:chains], max(0, chains - len(self._last))
        shuffled = torch.randperm(number, generator=rng)  # so that equal scores rank by chance
        ranked = shuffled[self.score[shuffled].argsort(descending=True, stable=True)]
        rank = torch.empty_like(ranked).scatter_(0, ranked, torch.arange(number))
        lower = torch.arange(number) - rank[last, None]  # [chains, operators]
        weight = (1 - 1 / number) ** lower.clamp_min(0).double()
        next_ = ranked[torch.multinomial(weight, 1, generator=rng)[:, 0]]
        taken = torch.cat([next_, torch.randint(number, (fresh,), generator=rng)])
        self._last = torch.cat([taken, self._last[chains:]])
        return taken

    def learn(self, step: Step) -> None:
        """A run is rewarded once at most, by a child that something was made of and that was driven apart."""
        if not len(step.tried):
            return
        run = torch.arange(len(step.tried)) // self.energy
        op, executed = step.tried.notes["op"][:: self.energy], run[step.valid]
        mattered = (step.gain > 0) | (step.verdict > 0)
        fair = executed[step.fair][mattered]
        driven = fair[_driven(step)[mattered] > 0]
        for name, runs in (
            ("chosen", run), ("rewarded", driven), ("fair", fair), ("judged", torch.cat([fair, executed[~step.fair]])),
        ):  # fmt: skip
            self._counts[name] += torch.bincount(op[torch.unique(runs)], minlength=len(self.operators))

    def state_dict(self) -> dict[str, Any]:
        return {"last": self._last.clone(), **{name: count.clone() for name, count in self._counts.items()}}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._last = state["last"].clone()
        self._counts = {name: state[name].clone() for name in COUNTS}


def _driven(step: Step) -> Tensor:
    """[B] two thirds of what the new version lost of its certainty, and one third of how far it is behind the old."""
    before = step.parents.notes["sure"][step.valid][step.fair][:, 1]
    old, new = step.children.notes["sure"].T
    driven: Tensor = (before - new) * 2 / 3 + (old - new) / 3
    return driven


class Rewarded:
    """Each row gets an operator with a chance that grows with the share of its children that something was made of:
    a fault counts as `worth` rows kept. None falls below `floor` of an equal share."""

    def __init__(self, operators: Sequence[Operator], floor: float = 0.25, worth: float = 4.0) -> None:
        self.operators, self.floor, self.worth = tuple(operators), floor, worth
        self._tried = torch.ones(len(self.operators), dtype=torch.float64)
        self._reward = torch.ones(len(self.operators), dtype=torch.float64)

    def __repr__(self) -> str:
        return f"Rewarded({', '.join(o.name for o in self.operators)}, floor={self.floor}, worth={self.worth})"

    def start(self, seeds: Batch) -> Batch:
        return unchanged(seeds, self.operators)

    @property
    def chance(self) -> Tensor:
        """[operators]"""
        share = self._reward / self._tried
        return self.floor / len(share) + (1 - self.floor) * share / share.sum()

    def __call__(self, parents: Batch, rng: Generator) -> Batch:
        if not len(parents):
            return self.start(parents)
        op = torch.multinomial(self.chance, len(parents), replacement=True, generator=rng)
        param = draw_params(self.operators, op, rng)
        return parents.child(self.replay(parents, op, param), op=op, param=param)

    def replay(self, parents: Batch, op: Tensor, param: Tensor) -> Tensor:
        """The same images from the notes."""
        return apply_ops(self.operators, parents.x, op, param)

    def learn(self, step: Step) -> None:
        reward = (step.gain > 0).double() + self.worth * (step.verdict > 0)
        self._tried += torch.bincount(step.tried.notes["op"], minlength=len(self.operators))
        self._reward.index_add_(0, step.children.notes["op"], reward)

    def state_dict(self) -> dict[str, Any]:
        return {"tried": self._tried.clone(), "reward": self._reward.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._tried, self._reward = state["tried"].clone(), state["reward"].clone()
