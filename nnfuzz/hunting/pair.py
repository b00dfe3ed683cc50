"""What is different when two versions of a model are tested against each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch

from nnfuzz.errors import NnfuzzError
from nnfuzz.opening import Subject
from nnfuzz.records import Batch

ROWS = 1000  # run at once


def read_by_the_old(seeds: Batch, subject: Subject, say: Callable[[str, str], None]) -> Batch:
    """The seeds, each with a label: where the data has none, the old version's answer. Two models that are one are
    refused: nothing can regress between them."""
    one, other = subject.digest.split("+")
    old, new = subject.target.models
    if one == other and (old.mean, old.std) == (new.mean, new.std):
        raise NnfuzzError(
            f"expected two versions of a model, and {old.name} and {new.name} are the same network with the same"
            " weights, so nothing can have regressed; give another one as NEW"
        )
    unknown = seeds.label < 0
    if not unknown.any():
        return seeds
    answers = torch.cat([subject.target(x).answer for x in torch.split(seeds.x[unknown], ROWS)])
    label = seeds.label.clone()
    label[unknown] = answers
    say("labels", f"{int(unknown.sum()):,} images have none; the old version's answer counts as right")
    return replace(seeds, label=label)
