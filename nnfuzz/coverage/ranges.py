"""The profile: what each neuron's value ranges over on the training set, in one pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Ranges:
    """Per neuron [N], over all profiled inputs."""

    low: Tensor
    high: Tensor
    mean: Tensor
    std: Tensor
    count: int

    def to(self, like: Tensor) -> Ranges:
        low, high, mean, std = (t.to(like.device, like.dtype) for t in (self.low, self.high, self.mean, self.std))
        return Ranges(low, high, mean, std, self.count)


def profile(neurons: Iterable[Tensor]) -> Ranges:
    """Fold batches [B,N] into ranges. Inputs with a value that is not finite tell nothing and are left out.

    Mean and variance are merged batch by batch (Chan's form of Welford's update) in float64.
    """
    low = high = mean = moment = torch.empty(0)
    count = 0
    for batch in neurons:
        batch = batch[batch.isfinite().all(1)]
        if not len(batch):
            continue
        wide = batch.double()
        lows, highs, means = batch.amin(0), batch.amax(0), wide.mean(0)
        moments = (wide - means).square().sum(0)
        if not count:
            low, high, mean, moment, count = lows, highs, means, moments, len(batch)
            continue
        total = count + len(batch)
        apart = means - mean
        low, high = torch.minimum(low, lows), torch.maximum(high, highs)
        mean = mean + apart * (len(batch) / total)
        moment = moment + moments + apart.square() * (count * len(batch) / total)
        count = total
    if not count:
        raise ValueError("a profile needs at least one input on which all neurons are finite")
    return Ranges(low, high, mean, (moment / count).sqrt(), count)


def save(ranges: Ranges, path: Path) -> None:
    """Write all or nothing: a reader never sees half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    columns = {name: getattr(ranges, name).cpu().contiguous() for name in ("low", "high", "mean", "std")}
    save_file(columns, part, metadata={"count": str(ranges.count)})
    part.replace(path)


def load(path: Path, neurons: int) -> Ranges | None:
    """A saved profile, or None where there is no usable one and it has to be made again."""
    try:
        with safe_open(path, framework="pt") as file:
            count = int(file.metadata()["count"])
            low, high, mean, std = (file.get_tensor(name) for name in ("low", "high", "mean", "std"))
    except (OSError, SafetensorError, KeyError, TypeError, ValueError):
        return None
    return Ranges(low, high, mean, std, count) if len(low) == neurons else None
