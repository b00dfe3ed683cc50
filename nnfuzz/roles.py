"""The roles of the loop, one line of contract each. Plain functions fit; there is no base class to inherit.

A part that has memory also has `state_dict()` / `load_state_dict()`, whose values are tensors, numbers,
strings and nested dicts and lists of them. A part that learns from what happened also has `learn(step)`.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import torch
from torch import Generator, Tensor

from nnfuzz.records import Batch, Seen, Step


class Corpus(Protocol):
    """Inputs worth mutating again; an id is a row. `corpus[ids].parent` equals `ids`."""

    def __len__(self) -> int: ...
    def __getitem__(self, ids: Tensor) -> Batch: ...
    def add(self, batch: Batch) -> Tensor: ...
    def note(self, name: str, ids: Tensor) -> Tensor: ...


class Schedule(Protocol):
    """Whom to mutate: ids, where a repeat is energy. No ids: there is nothing left to do."""

    def __call__(self, corpus: Corpus, rng: Generator) -> Tensor: ...


class Mutator(Protocol):
    """One child per parent, row by row; the parents are left untouched; all chance comes from `rng`."""

    def __call__(self, parents: Batch, rng: Generator) -> Batch: ...


class Validity(Protocol):
    """Is the child still a fair question? One bool per row."""

    def __call__(self, children: Batch, parents: Batch) -> Tensor: ...


class Target(Protocol):
    """The models under test; sole owner of device, dtype and normalisation."""

    @property
    def classes(self) -> int: ...
    def __call__(self, x: Tensor, grad: bool = False) -> Seen: ...


class Fair(Protocol):
    """Is the child still a fair question, now that it is known how much depends on it? One bool per row.

    The costly half of validity: it may leave unasked, as fair, the rows that nothing would be made of anyway.
    """

    def __call__(self, children: Batch, seen: Seen) -> Tensor: ...


class Remark(Protocol):
    """What later turns want to know of these rows: the same batch, with notes on what was seen."""

    def __call__(self, children: Batch, seen: Seen) -> Batch: ...


class Criterion(Protocol):
    """Which coverage units does a row hit? Pure. -1 in a slot is no unit.

    Units come in groups of `buckets` neighbours: feedback tells buckets apart (so a neuron may be
    interesting again when it goes further), and the reported coverage is the share of groups hit.
    """

    @property
    def name(self) -> str: ...
    @property
    def units(self) -> int: ...
    @property
    def buckets(self) -> int: ...
    def __call__(self, seen: Seen) -> Tensor: ...


class Feedback(Protocol):
    """How new is each row, rows taken in order: [B] units hit for the first time.

    One that can tell beforehand also has `promising(children, seen)`: bool [B], false only where there is no gain.
    """

    def __call__(self, children: Batch, seen: Seen) -> Tensor: ...


def promising(feedback: Feedback, children: Batch, seen: Seen) -> Tensor:
    """[B] may there be a gain? Asking changes nothing."""
    ask = getattr(feedback, "promising", None)
    told: Tensor = torch.ones(len(children), dtype=torch.bool) if ask is None else ask(children, seen)
    return told


class Oracle(Protocol):
    """What is wrong with each row: [B] a Kind, 0 = nothing."""

    def __call__(self, children: Batch, seen: Seen) -> Tensor: ...


class Keep(Protocol):
    """Which children the corpus takes: [B] bool."""

    def __call__(self, gain: Tensor, verdict: Tensor) -> Tensor: ...


@runtime_checkable
class Learner(Protocol):
    """A part that wants to see what became of its choices."""

    def learn(self, step: Step) -> None: ...


@runtime_checkable
class Stateful(Protocol):
    """A part with memory: a campaign stores it and goes on from it."""

    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any]) -> None: ...
