"""How an input came about: the mutations between it and its seed."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from nnfuzz.records import Batch, Mutation
from nnfuzz.roles import Corpus

Operators = Sequence[tuple[str, int]]  # name, and how many parameters it has


def lineage(corpus: Corpus, children: Batch, operators: Operators) -> list[tuple[Mutation, ...]]:
    """For each child its mutations, the seed's first; none where the mutator writes no notes `op` and `param`."""
    if "op" not in children.notes or not operators:
        return [()] * len(children)
    found: list[list[Mutation]] = [[] for _ in range(len(children))]
    op, param, parent = children.notes["op"], children.notes["param"], children.parent
    rows = torch.arange(len(children))
    while len(rows):
        for row, which, values in zip(rows.tolist(), op.tolist(), param.tolist(), strict=True):
            if which >= 0:
                name, width = operators[which]
                found[row].append(Mutation(name, tuple(values[:width])))
        above = parent >= 0
        rows, ids = rows[above], parent[above]
        op, param, parent = (corpus.note(name, ids) for name in ("op", "param", "parent"))
    return [tuple(reversed(mutations)) for mutations in found]
