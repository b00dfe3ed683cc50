"""Nested states as bytes: tensors in safetensors, the rest as JSON in its header. Reading them runs nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors import numpy as safe
from torch import Tensor

from nnfuzz.errors import NnfuzzError

TENSOR, DICT = "tensor", "dict"


def pack(state: Any) -> bytes:
    """Tensors, numbers, strings, None, and dicts and lists of them."""
    arrays: dict[str, Any] = {}

    def plain(value: Any) -> Any:
        if isinstance(value, Tensor):
            arrays[str(len(arrays))] = value.detach().cpu().contiguous().numpy()
            return {TENSOR: len(arrays) - 1}
        if isinstance(value, Mapping):
            return {DICT: {str(name): plain(inner) for name, inner in value.items()}}
        return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value

    return safe.save(arrays, {"state": json.dumps(plain(state))})


def unpack(packed: bytes) -> Any:
    """The state again; tuples come back as lists."""
    try:
        header = json.loads(packed[8 : 8 + int.from_bytes(packed[:8], "little")])
        # Copied, since bytes cannot be written to and a part may want to go on in its state.
        tensors = {name: torch.from_numpy(array.copy()) for name, array in safe.load(packed).items()}
        return _restored(json.loads(header["__metadata__"]["state"]), tensors)
    except (SafetensorError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise NnfuzzError(f"expected a stored state and came {type(error).__name__}; the run is damaged") from error


def _restored(value: Any, tensors: Mapping[str, Tensor]) -> Any:
    if isinstance(value, dict):
        if TENSOR in value:
            return tensors[str(value[TENSOR])]
        return {name: _restored(inner, tensors) for name, inner in value[DICT].items()}
    return [_restored(inner, tensors) for inner in value] if isinstance(value, list) else value
