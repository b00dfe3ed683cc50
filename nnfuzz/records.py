"""What travels through the loop: frozen records of equal-length tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from math import nan
from typing import Literal

import torch
from torch import Tensor, nn


class Kind(IntEnum):
    """What an oracle says of a row; 0 is nothing wrong. Names are what users and file names see.

    Below 0: not what is looked for, and no fair start for more either. Counted, never a finding, never kept.
    """

    FIXED = -2  # of two versions: the new one is right where the old one was wrong, or is catching up
    BOTH_WRONG = -1  # of two versions: neither reads it
    NOTHING = 0
    MISCLASSIFIED = 1
    CHANGED = 2
    NOT_FINITE = 3
    RAISED = 4
    HUNG = 5
    REGRESSION = 6
    DISAGREEING = 7

    @property
    def label(self) -> str:
        return self.name.lower().replace("_", "-")

    @classmethod
    def of(cls, label: str) -> Kind:
        return cls[label.upper().replace("-", "_")]


def take(column: Tensor, rows: Tensor | slice) -> Tensor:
    """column[rows]; by ids, index_select is several times as fast on images."""
    return column[rows] if isinstance(rows, slice) else column.index_select(0, rows)


@dataclass(frozen=True, eq=False)
class Batch:
    """B inputs and where they came from. Every column has B rows.

    A batch handed out by a corpus carries its own rows' ids in `parent`, so that whatever is made
    from it with `child` already names the corpus row it was made from.
    """

    x: Tensor  # [B, ...] in the data's own type: uint8 [B,C,H,W] for images
    label: Tensor  # [B] int64, -1 = unknown
    seed: Tensor  # [B] int64, row of the original input in the user's data
    parent: Tensor  # [B] int64, corpus id it was made from, -1 = it is a seed
    notes: Mapping[str, Tensor] = field(default_factory=dict)  # name -> [B, ...]

    def __post_init__(self) -> None:
        rows = len(self.x)
        columns = {"label": self.label, "seed": self.seed, "parent": self.parent, **self.notes}
        for name, column in columns.items():
            if len(column) != rows:
                raise ValueError(f"column {name!r} has {len(column)} rows where x has {rows}")

    @classmethod
    def of_seeds(cls, x: Tensor, label: Tensor | None = None, **notes: Tensor) -> Batch:
        """A batch of original inputs, numbered by row."""
        rows = torch.arange(len(x))
        label = torch.full_like(rows, -1) if label is None else label.long()
        return cls(x, label, rows, torch.full_like(rows, -1), notes)

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: Tensor | slice) -> Batch:
        if isinstance(rows, Tensor) and rows.dtype == torch.bool:
            if rows.all():
                return self  # frozen, so nobody can tell it from a copy
            rows = rows.nonzero().flatten()
        notes = {name: take(column, rows) for name, column in self.notes.items()}
        return Batch(take(self.x, rows), take(self.label, rows), take(self.seed, rows), take(self.parent, rows), notes)

    def child(self, x: Tensor, **notes: Tensor) -> Batch:
        """The same rows with new inputs; notes not given are inherited."""
        return replace(self, x=x, notes={**self.notes, **notes})

    @staticmethod
    def cat(batches: Sequence[Batch]) -> Batch:
        """All rows in order; the batches must carry the same notes."""
        first = batches[0]
        return Batch(
            torch.cat([b.x for b in batches]),
            torch.cat([b.label for b in batches]),
            torch.cat([b.seed for b in batches]),
            torch.cat([b.parent for b in batches]),
            {name: torch.cat([b.notes[name] for b in batches]) for name in first.notes},
        )


@dataclass(frozen=True, eq=False)
class Model:
    """A network and how to feed it: pixels / 255, then (x - mean) / std per channel."""

    net: nn.Module
    name: str
    mean: tuple[float, ...] = (0.0,)  # one value for all channels, or one each
    std: tuple[float, ...] = (1.0,)
    output: Literal["logits", "probabilities"] = "logits"
    shape: tuple[int, int, int] | None = None  # (C, H, W) it takes, None = not known
    classes: int | None = None  # how many it tells apart, None = not known


@dataclass(frozen=True, eq=False)
class Seen:
    """What the models did with a batch."""

    logits: Tensor  # [M,B,K]; row 0 is the model under test, or the old version of a pair
    neurons: Tensor  # [B,N] spatial means of the probed channels, layer after layer
    features: Mapping[str, Tensor] = field(default_factory=dict)  # what else was asked for, [B,...]

    def __getitem__(self, rows: Tensor | slice) -> Seen:
        if isinstance(rows, Tensor) and rows.dtype == torch.bool and rows.all():
            return self
        features = {name: column[rows] for name, column in self.features.items()}
        return Seen(self.logits[:, rows], self.neurons[rows], features)

    @property
    def answer(self) -> Tensor:
        """[B] the class that the model under test gives."""
        return self.logits[0].argmax(1)

    @property
    def raised(self) -> Tensor:
        """[B] 0 where the models answered; n where one raised the target's n-th complaint, negative where it hung."""
        raised = self.features.get("raised")
        return torch.zeros(self.logits.shape[1], dtype=torch.int64) if raised is None else raised


@dataclass(frozen=True, eq=False)
class Step:
    """One turn of the loop. The coverage gain and the verdict have a row per child."""

    parents: Batch
    tried: Batch  # everything the mutator made
    children: Batch  # what of it was valid, executed and fair
    seen: Seen
    gain: Tensor  # [B] coverage units that this row was the first to hit
    verdict: Tensor  # [B] a Kind
    kept: Tensor  # ids the corpus gave to the children it took
    valid: Tensor  # bool, a row for each one tried: was it executed?
    fair: Tensor  # bool, a row for each one executed: is it among the children?


@dataclass(frozen=True)
class Mutation:
    """One step of a lineage: an operator and the parameters that it was applied with."""

    operator: str
    param: tuple[float, ...] = ()

    def __str__(self) -> str:
        return f"{self.operator}({', '.join(f'{value:g}' for value in self.param)})"


@dataclass(frozen=True)
class Finding:
    """An input that the oracle complained of, as a run folder holds it. Equal inputs are one finding."""

    id: int
    kind: str  # a Kind's label
    image: str  # its file, relative to the run folder
    seed: int  # row of the original input in the user's data
    label: int  # -1 = unknown
    seed_answers: tuple[int, ...]  # what each model says of the seed
    answers: tuple[int, ...]  # what each model says of the input, -1 where it says nothing
    confidences: tuple[float, ...]  # of those answers; NaN where scores are not finite
    mutations: tuple[Mutation, ...]  # from the seed to the input
    repeated: int  # of `asked` times that it was run again when found, how often the verdict was the same
    asked: int
    seconds: float  # of search until it was found
    error: str = ""  # what the model raised
    group: int = -1  # of triage
    doubtful: bool | None = None  # do independent models no longer read its label? None = nobody was asked

    @property
    def confirmed(self) -> bool:
        return self.repeated == self.asked

    @property
    def accused(self) -> int:
        """Whose answer is complained of: the new version's, the first that is not right of those that disagree, or the
        one of the model under test."""
        if self.kind == Kind.DISAGREEING.label:
            return next((place for place, answer in enumerate(self.answers) if answer != self.right), 0)
        return -1 if self.kind == Kind.REGRESSION.label else 0

    @property
    def answer(self) -> int:
        """The one that is complained of; -1 where there is none."""
        return self.answers[self.accused] if self.answers else -1

    @property
    def confidence(self) -> float:
        """Of that answer; NaN where there is none."""
        return self.confidences[self.accused] if self.confidences else nan

    @property
    def right(self) -> int:
        """What the answer is compared with: the label, or where that is unknown the answer on the seed."""
        return self.label if self.label >= 0 and self.kind != Kind.CHANGED.label else self.seed_answers[0]
