"""Whom to mutate next, and how often."""

from nnfuzz.schedules.cells import LeastPicked
from nnfuzz.schedules.decay import Decaying
from nnfuzz.schedules.pool import BatchPool
from nnfuzz.schedules.seeds import SEED_LEVEL, Probabilistic, Recent, Uniform

__all__ = ["SEED_LEVEL", "BatchPool", "Decaying", "LeastPicked", "Probabilistic", "Recent", "Uniform"]
