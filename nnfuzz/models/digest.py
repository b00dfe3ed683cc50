"""A short name for exactly this network with exactly these weights."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from hashlib import _Hash


def digest(net: nn.Module) -> str:
    """Equal for equal layers and weights, in this process and in the next."""
    # The default repr of a function holds its address, which is another one in every process.
    sha = hashlib.sha256(re.sub(r" at 0x[0-9a-fA-F]+", "", repr(net)).encode())
    for name, value in net.state_dict().items():
        sha.update(name.encode())
        _feed(sha, value)
    return sha.hexdigest()[:16]


def _feed(sha: _Hash, value: Any) -> None:
    """A quantised layer's state holds tuples of packed tensors, not only tensors."""
    if isinstance(value, Tensor):
        sha.update(f"{value.dtype}{tuple(value.shape)}".encode())
        plain = value.dequantize() if value.is_quantized else value
        data = plain.detach().cpu().to_dense() if plain.is_sparse else plain.detach().cpu()
        sha.update(data.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    elif isinstance(value, tuple | list):
        for item in value:
            _feed(sha, item)
    else:
        sha.update(repr(value).encode())
