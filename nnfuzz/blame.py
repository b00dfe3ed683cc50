"""What a network raises, in one sentence that names it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from nnfuzz.errors import ModelRaised, NnfuzzError
from nnfuzz.records import Model


@contextmanager
def blaming(model: Model) -> Iterator[None]:
    """Whatever a network raises is said in one sentence that names it; running out of memory stays what it is."""
    try:
        yield
    except Exception as error:
        if isinstance(error, NnfuzzError) or is_out_of_memory(error):
            raise
        line = (str(error).strip() or "no message").splitlines()[0]
        raise ModelRaised(f"model {model.name} raised {type(error).__name__} on its input: {line}") from error


def is_out_of_memory(error: BaseException) -> bool:
    """CUDA has a class of its own for it; the CPU allocator only a message."""
    return isinstance(error, (torch.cuda.OutOfMemoryError, MemoryError)) or "can't allocate memory" in str(error)
