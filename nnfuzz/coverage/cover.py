"""One memory for every criterion: which units were ever hit, and which row was the first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

if TYPE_CHECKING:
    from nnfuzz.records import Batch, Seen
    from nnfuzz.roles import Criterion


class Cover:
    """A Feedback: the gain of a row is the number of units that no row before it had hit."""

    def __init__(self, criterion: Criterion) -> None:
        self.criterion = criterion
        # Unit u stands at u + 1. The first entry is always set, so that -1 (no unit) is nothing new without a test.
        self._hit = torch.zeros(criterion.units + 1, dtype=torch.bool)
        self._hit[0] = True

    def __repr__(self) -> str:
        return f"Cover({self.criterion!r})"

    def __call__(self, children: Batch, seen: Seen) -> Tensor:
        return self.update(self._units(seen))

    def promising(self, children: Batch, seen: Seen) -> Tensor:
        """[B] does it hit a unit that was not hit before these rows?"""
        self._hit = self._hit.to(seen.neurons.device)
        return (~self._hit[self._units(seen) + 1]).any(1).cpu()

    def _units(self, seen: Seen) -> Tensor:
        ids = self.criterion(seen)
        if "raised" in seen.features:  # then there are no neurons to speak of
            ids = torch.where((seen.raised != 0).to(ids.device)[:, None], -1, ids)
        return ids

    def update(self, ids: Tensor) -> Tensor:
        """[B,H] unit ids -> [B] gain, as if the rows had come one by one."""
        self._hit = self._hit.to(ids.device)
        entries = ids.flatten() + 1
        new = (~self._hit.index_select(0, entries)).nonzero().flatten()  # usually very few
        rows = new // max(1, ids.shape[1])
        # A stable sort by unit keeps the rows in order inside each unit: the first of a run found it.
        units, order = entries[new].long().sort(stable=True)
        first = torch.ones_like(units, dtype=torch.bool)
        first[1:] = units[1:] != units[:-1]
        self._hit[units] = True
        return torch.bincount(rows[order][first], minlength=len(ids)).cpu()

    @property
    def cells(self) -> float:
        """The share of units hit: what feedback tells apart."""
        return self._hit[1:].double().mean().item() if self.criterion.units else 0.0

    @property
    def coverage(self) -> float:
        """The share of groups (neurons, sections, boundaries …) of which at least one bucket was hit."""
        groups = self._hit[1:].view(-1, self.criterion.buckets)
        return groups.any(1).double().mean().item() if len(groups) else 0.0

    def state_dict(self) -> dict[str, Any]:
        return {"hit": self._hit.clone()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if state["hit"].shape != self._hit.shape:
            raise ValueError(f"a cover of {len(self._hit) - 1} units cannot take {len(state['hit']) - 1}")
        self._hit = state["hit"].clone()
