"""A tensor that lives in a file: as large as the disk, with little of it in memory."""

from __future__ import annotations

import mmap
import tempfile
from math import prod

import torch
from torch import Tensor

LET_GO = 1 << 26  # bytes touched after which the pages are handed back


class Mapped:
    """Rows in a nameless temporary file, which the system removes with the process, however that ends."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self._file = tempfile.TemporaryFile(prefix="nnfuzz-")  # noqa: SIM115
        self._pages: mmap.mmap | None = None
        self._touched = 0

    def grow(self, shape: tuple[int, ...]) -> Tensor:
        """All rows so far and room for more. Views given out before stay readable."""
        size = max(1, prod(shape) * self.dtype.itemsize)
        self._file.truncate(size)
        self._pages = mmap.mmap(self._file.fileno(), size)
        return torch.frombuffer(self._pages, dtype=self.dtype, count=prod(shape)).view(shape)

    def touched(self, size: int) -> None:
        """The file keeps what the memory lets go; without this the whole file would end up in memory."""
        self._touched += size
        if self._touched >= LET_GO and self._pages is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._touched = 0
            self._pages.madvise(mmap.MADV_DONTNEED)
