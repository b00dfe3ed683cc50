"""Independent models that never guide a search: do they still read what a finding is said to show?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from nnfuzz import models
from nnfuzz.errors import NnfuzzError
from nnfuzz.reader import Reader


def referees(specs: Sequence[str], example: Tensor, classes: int, device: str = "cpu") -> list[Reader]:
    """The named models, ready to judge images like these."""
    readers = [Reader(models.load(spec), example, device) for spec in specs]
    for reader in readers:
        if reader.classes != classes:
            raise NnfuzzError(
                f"expected a referee that tells {classes} classes apart and {reader.name} tells {reader.classes}; give "
                "one that was trained on the same classes"
            )
    return readers


def doubtful(models: Sequence[Callable[[Tensor], Tensor]], x: Tensor, label: Tensor) -> Tensor:
    """[B] the majority of the referees no longer reads the label; of an even number, half is no majority."""
    against = torch.zeros(len(x), dtype=torch.int64)
    for read in models:
        against += read(x).argmax(1) != label
    return against * 2 > len(models)
