"""What a run folder may consist of, since anybody may have made it."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any

from nnfuzz.errors import NnfuzzError

LARGEST = 1 << 26  # bytes of a JSON file
WHOLE = 1 << 53  # a number beyond it is no count

# A name that ends in ? may be missing; several types mean any of them.
CONFIGURATION = {
    "asked": {"model": str, "data": str, "recipe": str, "criteria": [str], "seeds": int, "seed": int,
              "beside?": [str]},
    "folder": str, "signed?": str, "classes?": [str], "batch_size?": int, "threads?": int, "model_digest?": str,
    "data_digest?": str, "campaign?": str, "preflight?": {"accuracy?": (float, None), "beside?": [float]},
    "versions?": {str: str},
}  # fmt: skip
RESULT = {
    "seconds": float, "tries": int, "tries_per_second": float, "findings": int, "distinct_findings": int,
    "seeds_hit": int, "seeds": int, "seeds_set_aside": int, "setup_seconds": float, "kinds": {str: int}, "ended": str,
    "coverage": {str: {"before": float, "after": float}}, "first_finding_seconds": (float, None),
}  # fmt: skip


def only_plain(run: Path) -> None:
    """Refuse links, pipes and devices: through a link we would write to, or delete, what lies elsewhere."""
    for folder, folders, files in os.walk(run, followlinks=False):
        for name in (*folders, *files):
            path = Path(folder) / name
            try:
                mode = path.lstat().st_mode
            except FileNotFoundError:  # half a file of a run that goes on, which has its name by now
                continue
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                raise NnfuzzError(
                    f"expected plain files in the run {run} and {path.relative_to(run)} is a link or something else;"
                    " it is left as it is, remove that if you trust whoever made the run"
                )
    # A run.db is never without its log, so this one is not ours; SQLite would delete files that it names.
    if (run / "run.db-journal").exists():
        raise NnfuzzError(f"expected no run.db-journal in {run} and there is one; it is left as it is, remove the file")


def misfit(value: Any, shape: Any, name: str = "it") -> str:
    """What of a JSON value is not as it should be; empty if all of it is."""
    if isinstance(shape, tuple):
        every = [misfit(value, one, name) for one in shape]
        return every[0] if all(every) else ""
    if isinstance(shape, list) and isinstance(value, list):
        return next((wrong for one in value if (wrong := misfit(one, shape[0], f"part of {name}"))), "")
    if isinstance(shape, dict) and isinstance(value, dict):
        return _missing(value, shape) if str not in shape else _parts(value, dict.fromkeys(value, shape[str]))
    return "" if _of(value, shape) else f"{name} that is {_short(value)}"


def _missing(value: Mapping[str, Any], shape: Mapping[str, Any]) -> str:
    missing = next((name for name in shape if not name.endswith("?") and name not in value), None)
    wanted = {name.removesuffix("?"): one for name, one in shape.items()}
    return f"no {missing}" if missing else _parts(value, {n: one for n, one in wanted.items() if n in value})


def _parts(value: Mapping[str, Any], shapes: Mapping[str, Any]) -> str:
    return next((wrong for name, one in shapes.items() if (wrong := misfit(value[name], one, name))), "")


def _of(value: Any, shape: Any) -> bool:
    if shape is None or isinstance(value, bool):
        return value is shape
    if shape is float:
        return isinstance(value, int | float) and abs(value) < WHOLE and isfinite(value)
    if shape is int:
        return isinstance(value, int) and abs(value) < WHOLE
    return shape is str and isinstance(value, str)


def _short(value: Any) -> str:
    """Even a number may be too long to be written out."""
    return f"a {type(value).__name__}" if isinstance(value, int | list | dict) else repr(value)[:40]
