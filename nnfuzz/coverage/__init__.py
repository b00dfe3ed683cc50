"""Coverage criteria by name."""

from __future__ import annotations

from collections.abc import Sequence

from nnfuzz.coverage.cover import Cover
from nnfuzz.coverage.criteria import BKNC, KMNC, NBC, NC, SNAC, TKNC
from nnfuzz.coverage.ranges import Ranges
from nnfuzz.coverage.times import Times
from nnfuzz.roles import Criterion

NAMES = ("nc", "kmnc", "nbc", "snac", "tknc", "bknc")
PROFILED = ("kmnc", "nbc", "snac")  # need the ranges seen on the training set

__all__ = ["BKNC", "KMNC", "NAMES", "NBC", "NC", "PROFILED", "SNAC", "TKNC", "Cover", "Ranges", "Times", "criterion"]


def criterion(name: str, layers: Sequence[int], ranges: Ranges | None, sigma: float = 0.0) -> Criterion:
    """One of NAMES with the defaults of DeepHunter's code (or `nc-raw`, neuron coverage without scaling)."""
    if name == "nc":
        return NC(sum(layers))
    if name == "nc-raw":
        return NC(sum(layers), scaled=False, name="nc-raw")
    if name == "tknc":
        return TKNC(layers)
    if name == "bknc":
        return BKNC(layers)
    if ranges is None:
        raise ValueError(f"{name} needs a profile")
    return KMNC(ranges) if name == "kmnc" else {"nbc": NBC, "snac": SNAC}[name](ranges, sigma)
