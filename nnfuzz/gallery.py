"""A handful of findings to look at, as different from each other as they can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from pathlib import Path

import torch
from torch import Tensor

from nnfuzz.picture import sheet
from nnfuzz.records import Kind, Step

MOST = 512  # kept in memory: one for each (seed, answer), the first ones
SHOWN = 12


@dataclass(frozen=True)
class Shown:
    x: Tensor
    seed: int
    right: int
    answer: int
    confidence: float  # NaN where the scores are

    @property
    def sure(self) -> str:
        return "not finite" if isnan(self.confidence) else f"{self.confidence:.0%} sure"


class Gallery:
    """Reads findings as they come and remembers one of each (seed, answer)."""

    def __init__(self, originals: Tensor) -> None:
        self._originals = originals
        self._shown: dict[tuple[int, int], Shown] = {}

    @property
    def count(self) -> int:
        return len(self._shown)

    def add(self, step: Step, rows: Tensor) -> None:
        if self.count >= MOST or not len(rows):
            return
        found = step.children[rows]
        confidence, answer = step.seen.logits[0, rows].softmax(1).max(1)
        # What the answer is compared with: the label, or where that does not matter the answer on the seed.
        changed = (step.verdict[rows] == Kind.CHANGED) | (found.label < 0)
        right = torch.where(changed, found.notes.get("answer", found.label), found.label)
        keys = zip(found.seed.tolist(), answer.tolist(), strict=True)
        for i, key in enumerate(keys):
            if key not in self._shown:
                sure = confidence[i].item()
                self._shown[key] = Shown(found.x[i], key[0], int(right[i]), key[1], sure)

    def first(self, images: Sequence[str]) -> str:
        """The first finding in words."""
        shown = next(iter(self._shown.values()))
        said = f"seed {shown.seed}, rightly {shown.right}, is answered {shown.answer} ({shown.sure})"
        return f"{said}, {images[0]}" if images else said

    def save(self, path: Path, classes: Sequence[str]) -> None:
        """A picture of some of them, spread over all that are held."""
        held = list(self._shown.values())
        if not held:
            return
        some = [held[i * len(held) // min(SHOWN, len(held))] for i in range(min(SHOWN, len(held)))]

        def name(label: int) -> str:
            return classes[label] if 0 <= label < len(classes) else str(label)

        rows = [
            (
                self._originals[s.seed],
                s.x,
                f"seed: {name(s.right)}",
                f"now: {name(s.answer)} {s.sure.removesuffix(' sure')}",
            )
            for s in some
        ]
        sheet(rows).save(path)
