"""A file that holds a whole network: TorchScript, an exported program, or a pickled module. Opening one runs code."""

from __future__ import annotations

import hashlib
import os
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nnfuzz.errors import NnfuzzError
from nnfuzz.records import Model

ENDINGS = (".pt", ".pth", ".pt2", ".ts")


class Whole(nn.Module):
    """A compiled program as one layer: nothing inside it can be heard, so its scores are all the neurons it has."""

    def __init__(self, program: Callable[[Tensor], Any], sha256: str, rows: int | None = None) -> None:
        super().__init__()
        # In a list, or nn.Module would take its parts for layers that run.
        self.program, self.sha256, self.rows = [program], sha256, rows

    def forward(self, x: Tensor) -> Any:
        if self.rows is None or len(x) == self.rows:
            return self.program[0](x)
        # Exported for one batch size: the last part is filled up, and what it then says too much is cut off.
        parts = [
            nn.functional.pad(p, (0,) * (2 * p.dim() - 1) + (self.rows - len(p),)) for p in torch.split(x, self.rows)
        ]
        return torch.cat([self.program[0](part) for part in parts])[: len(x)]

    def extra_repr(self) -> str:
        return f"sha256={self.sha256}"


def load_whole(path: Path, spec: str, trust: bool) -> Model:
    """The network, on the user's word only."""
    if not os.path.isfile(path):
        raise NnfuzzError(f"expected a model file at {path} and there is none; check the path")
    if not trust:
        raise NnfuzzError(
            f"{spec}: a file that holds a whole network can run any code when it is opened; say --trust-model if you"
            " trust whoever made it, or save its state dict with safetensors.torch.save_file and give"
            " file.py:function@weights.safetensors"
        )
    print(
        f"nnfuzz: warning: opening {path}, which can run any code that whoever made it put there (--trust-model)",
        file=sys.stderr,
    )
    try:
        made = _opened(path)
    except Exception as error:  # whatever the file's own code may raise
        line = (str(error).strip() or "no message").splitlines()[0][:200]
        raise NnfuzzError(
            f"{spec}: expected TorchScript, an exported program or a pickled network and came {type(error).__name__}:"
            f" {line}; save it again with this version of torch"
        ) from error
    if not isinstance(made, nn.Module):
        raise NnfuzzError(f"{spec}: expected a network and came a {type(made).__name__}; save the network itself")
    return Model(made, spec)


def _opened(path: Path) -> Any:
    names = zipfile.ZipFile(path).namelist() if zipfile.is_zipfile(path) else []
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    if any("/code/" in name for name in names):
        return Whole(torch.jit.load(path, map_location="cpu").eval(), digest)  # type: ignore[no-untyped-call]
    if path.suffix == ".pt2":
        program = torch.export.load(path)
        return Whole(program.module(), digest, _rows(program))
    with torch.random.fork_rng(devices=[]):
        return torch.load(path, map_location="cpu", weights_only=False)


def _rows(program: Any) -> int | None:
    """The one batch size that it was exported for; None if any will do."""
    inputs = [node for node in program.graph.nodes if node.name in program.graph_signature.user_inputs]
    size = inputs[0].meta["val"].shape[0]
    return size if isinstance(size, int) else None
