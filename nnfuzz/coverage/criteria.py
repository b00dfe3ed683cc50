"""The six criteria of DeepHunter (Table 1), after DeepXplore and DeepGauge. Pure: units hit by each row.

A criterion numbers its units group by group; a group's `buckets` neighbouring units are the equivalence
classes of section 3.4, which keep a neuron interesting when it goes further without flooding the corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from nnfuzz.coverage.ranges import Ranges
from nnfuzz.records import Seen

BLUR = 1e-5  # of a range: an input that set a bound, run in another batch, may pass it by a rounding error
NARROW = 0.05  # bucket width for a neuron that never moved while it was profiled


def _bucket(depth: Tensor, buckets: int) -> Tensor:
    """How deep a value lies in an interval cut into equal buckets, the last one open; below 0 gives -1."""
    inside = depth >= 0
    return torch.where(inside, (depth * buckets).nan_to_num(0).clamp(0, buckets - 1), -1.0).long()


def _ids(bucket: Tensor, buckets: int, first: int = 0) -> Tensor:
    """Bucket numbers [B,G] (or -1) to unit ids."""
    offset = torch.arange(bucket.shape[1], device=bucket.device) * buckets + first
    return torch.where(bucket >= 0, bucket + offset, -1)


@dataclass(frozen=True)
class NC:
    """Neuron coverage (DeepXplore sec. 4.1): neurons above a threshold, on values scaled per input and layer.

    With `scaled=False` the raw values are compared. Buckets split [threshold, 1]; raw values have no upper
    end, so there each bucket is as wide as the threshold (or 1/buckets where that is 0).
    """

    neurons: int
    threshold: float = 0.75
    scaled: bool = True
    buckets: int = 10
    name: str = "nc"

    @property
    def units(self) -> int:
        return self.neurons * self.buckets

    def __call__(self, seen: Seen) -> Tensor:
        values = seen.features["scaled"] if self.scaled else seen.neurons
        span = (1 - self.threshold) if self.scaled else (abs(self.threshold) or 1) * self.buckets
        depth = (values - self.threshold) / max(span, 1e-9)
        depth = torch.where(values > self.threshold, depth, -1.0)
        return _ids(_bucket(depth, self.buckets), self.buckets)


@dataclass(frozen=True)
class KMNC:
    """k-multisection neuron coverage (DeepGauge): each neuron's profiled range in k equal sections."""

    ranges: Ranges = field(repr=False)
    k: int = 1000
    name: str = "kmnc"
    buckets: int = 1

    @property
    def units(self) -> int:
        return len(self.ranges.low) * self.k

    def __call__(self, seen: Seen) -> Tensor:
        values, r = seen.neurons, self.ranges.to(seen.neurons)
        low = torch.where(r.high > r.low, r.low, torch.inf)  # a neuron that never moved has no sections
        outside = (values >= low).logical_and_(values <= r.high).logical_not_()  # NaN is outside
        section = (values - r.low).mul_(self.k / (r.high - r.low)).clamp_(0, self.k - 1)
        # Half as wide as int64 where that suffices: this runs over every neuron of every input.
        dtype = torch.int32 if self.units < 2**31 else torch.int64
        offset = torch.arange(len(low), device=values.device, dtype=dtype) * self.k
        return section.nan_to_num_(0).to(dtype).add_(offset).masked_fill_(outside, -1)


@dataclass(frozen=True)
class NBC:
    """Neuron boundary coverage (DeepGauge): below low - sigma*std, or above high + sigma*std.

    Two groups a neuron. Buckets beyond a bound are (high - low)/buckets wide, the last one open.
    """

    ranges: Ranges = field(repr=False)
    sigma: float = 0.0
    buckets: int = 10
    lower: bool = True
    name: str = "nbc"

    @property
    def units(self) -> int:
        return len(self.ranges.low) * self.buckets * (2 if self.lower else 1)

    def __call__(self, seen: Seen) -> Tensor:
        values, r = seen.neurons, self.ranges.to(seen.neurons)
        span = r.high - r.low
        span = torch.where(span > 0, span, NARROW * self.buckets)
        beyond = self.sigma * r.std + BLUR * span
        above = values - (r.high + beyond)
        sides = [torch.where(above > 0, above, -1.0) / span]
        if self.lower:
            below = (r.low - beyond) - values
            sides.append(torch.where(below > 0, below, -1.0) / span)
        return _ids(torch.cat([_bucket(s, self.buckets) for s in sides], 1), self.buckets)


def SNAC(ranges: Ranges, sigma: float = 0.0, buckets: int = 10) -> NBC:
    """Strong neuron activation coverage (DeepGauge): the upper boundary alone."""
    return NBC(ranges, sigma, buckets, lower=False, name="snac")


@dataclass(frozen=True)
class TKNC:
    """Top-k neuron coverage (DeepGauge): the k most active neurons of each layer.

    A unit is (neuron, rank). Ties go to the neuron that comes first, so that a row of dead neurons
    always gives the same units.
    """

    layers: Sequence[int] = field(repr=False)  # neurons in each layer
    k: int = 10
    largest: bool = True
    name: str = "tknc"

    @property
    def buckets(self) -> int:
        return self.k

    @property
    def units(self) -> int:
        return sum(self.layers) * self.k

    def __call__(self, seen: Seen) -> Tensor:
        ids, first = [], 0
        for values in torch.split(seen.neurons, list(self.layers), 1):
            k = min(self.k, values.shape[1])
            top = values.sort(dim=1, descending=self.largest, stable=True).indices[:, :k]
            ids.append((top + first) * self.k + torch.arange(k, device=top.device))
            first += values.shape[1]
        return torch.cat(ids, 1)


def BKNC(layers: Sequence[int], k: int = 10) -> TKNC:
    """Bottom-k neuron coverage (DeepHunter Table 1): the k least active neurons of each layer."""
    return TKNC(layers, k, largest=False, name="bknc")
