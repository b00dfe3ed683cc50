"""Pictures of a bright spot in the left half (0) or in the right one (1)."""

from pathlib import Path

import numpy as np


def write(path: Path, count: int = 60) -> Path:
    rng = np.random.default_rng(0)
    side = np.arange(count) % 2
    row, column = np.mgrid[:20, :20]
    apart = np.hypot(row - 10, column - np.where(side, 15, 5)[:, None, None])
    spots = rng.integers(150, 200, (count, 1, 1)) * np.clip(4 - apart, 0, 1)
    np.savez(path, x=spots.round().astype("uint8"), y=side)
    return path
