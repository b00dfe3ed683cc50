"""What a run on two versions of a model counts, in DRFuzz's terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from nnfuzz.records import Batch, Kind, Step
from nnfuzz.tally import fingerprints

FAR, HALF = 0.30, 0.15  # by how much the new version is less sure: weakened, half weakened
COUNTS = ("regression_inputs", "both_wrong", "fixed", "weakened", "half_weakened")
REACHABLE = ("regression_inputs", "regression_inputs_distinct", "regression_faults", "seeds_hit", "general_failures")


class Distinct:
    """How many different numbers there were, at eight bytes each."""

    def __init__(self) -> None:
        self._held, self._new = torch.empty(0, dtype=torch.int64), list[Tensor]()

    def add(self, numbers: Tensor) -> None:
        self._new.append(numbers)
        if sum(map(len, self._new)) > max(100_000, len(self._held)):
            self.numbers()

    def numbers(self) -> Tensor:
        if self._new:
            self._held = torch.unique(torch.cat([self._held, *self._new]))
            self._new = []
        return self._held

    def load(self, numbers: Tensor) -> None:
        self._held, self._new = numbers, []


class Ledger:
    """Regression inputs (#RF) with and without duplicates, faults (#URF: seed and wrong class), general failures (#GF:
    the new version is wrong, whatever the old one says), and what became of the gap between the versions."""

    def __init__(self, aside: Batch, classes: int) -> None:
        self.classes = classes
        self.faults_in_seeds = int((aside.notes["verdict"] == Kind.REGRESSION).sum())
        self._counts = dict.fromkeys(COUNTS, 0)
        self._faults, self._inputs, self._failures = set[int](), Distinct(), Distinct()

    def read(self, step: Step) -> None:
        verdict, count = step.verdict, self._counts
        regressed, both = (verdict == kind for kind in (Kind.REGRESSION, Kind.BOTH_WRONG))
        wrong = step.seen.logits[1, regressed].argmax(1)
        self._faults.update((step.children.seed[regressed] * self.classes + wrong).tolist())
        if (failed := regressed | both).any():
            keys = fingerprints(step.children.x[failed])
            self._failures.add(keys)
            self._inputs.add(keys[regressed[failed]])
        probability = step.seen.logits.softmax(2)
        right = (verdict == Kind.NOTHING).nonzero().flatten()
        label = step.children.label[right]
        behind = probability[0, right, label] - probability[1, right, label]
        for name, rows in (
            ("regression_inputs", regressed), ("both_wrong", both), ("fixed", verdict == Kind.FIXED),
            ("weakened", behind > FAR), ("half_weakened", (behind > HALF) & (behind <= FAR)),
        ):  # fmt: skip
            count[name] += int(rows.sum())

    @property
    def faults(self) -> int:
        return len(self._faults)

    def counts(self) -> dict[str, int]:
        count = self._counts
        return {
            "regression_inputs": count["regression_inputs"],
            "regression_inputs_distinct": len(self._inputs.numbers()), "regression_faults": self.faults,
            "general_failures": count["regression_inputs"] + count["both_wrong"],
            "general_failures_distinct": len(self._failures.numbers()), "faults_in_seeds": self.faults_in_seeds,
            "fixed": count["fixed"], "weakened": count["weakened"], "half_weakened": count["half_weakened"],
        }  # fmt: skip

    def state_dict(self) -> dict[str, Any]:
        faults = torch.tensor(sorted(self._faults), dtype=torch.int64)
        return {
            **self._counts,
            "faults": faults,
            "inputs": self._inputs.numbers(),
            "failures": self._failures.numbers(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._counts = {name: state[name] for name in COUNTS}
        self._faults = set(state["faults"].tolist())
        self._inputs.load(state["inputs"])
        self._failures.load(state["failures"])
