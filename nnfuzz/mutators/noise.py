"""Noise that can be made again: its seed is a parameter, and element i of it is a hash of (seed, i)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Generator, Tensor

from nnfuzz.mutators.operator import Operator, as_rows, choices, grouped, span, to_pixels, towards

GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)  # SplitMix64 (Steele et al., 2014); int64 arithmetic wraps
ROUNDS = ((30, 0xBF58476D1CE4E5B9 - (1 << 64)), (27, 0x94D049BB133111EB - (1 << 64)))
SEEDS = 1 << 31  # float64 parameters hold these exactly


def _mixed(z: Tensor) -> Tensor:
    """SplitMix64's finaliser, in place: every bit of the input turns half of the bits of the output."""
    for shift, factor in ROUNDS:
        z.bitwise_xor_((z >> shift).bitwise_and_((1 << 64 - shift) - 1)).mul_(factor)
    return z.bitwise_xor_((z >> 31).bitwise_and_((1 << 33) - 1))


def random_words(seed: Tensor, count: int) -> Tensor:
    """[B,count] int16, uniform over all 65,536 values; `seed` is int64 [B]. One hash gives four of them."""
    counter = torch.arange(1, -(-count // 4) + 1).mul_(GOLDEN)
    start = _mixed(seed * GOLDEN + 1)
    words = _mixed(start[:, None] + counter).flatten().view(torch.int16)
    return words.view(len(seed), 4 * len(counter))[:, :count]


@cache
def _normal_table() -> Tensor:
    """Quantiles of N(0,1) at the middles of 65,536 equal shares; the last one is at 4.3."""
    middles = (torch.arange(65536, dtype=torch.float64) + 0.5) / 65536
    quantiles: Tensor = torch.special.ndtri(middles)
    return quantiles.float()


def random_normal(seed: Tensor, count: int) -> Tensor:
    """[B,count] float32, N(0,1)."""
    places = random_words(seed, count).to(torch.int32).add_(32768)
    return _normal_table().index_select(0, places.flatten()).view(places.shape)


def _words_of(x: Tensor, param: Tensor) -> tuple[Tensor, int]:
    return param[:, -1].long(), x.shape[1:].numel()


# The last two parameters are always the strength and the seed; `noise` has the kind before them.
def _additive(x: Tensor, param: Tensor) -> Tensor:
    n = random_normal(*_words_of(x, param)).view(x.shape)
    return to_pixels(n.mul_(as_rows(param[:, -2].sqrt().float())).add_(x))


def _salt_and_pepper(x: Tensor, param: Tensor) -> Tensor:
    words = random_words(*_words_of(x, param)).view(x.shape)
    half = as_rows((param[:, 1] * 32768).round())
    pepper, salt = words < (half - 32768).to(torch.int16), words > (32767 - half).to(torch.int16)
    # On bytes, for speed: true - 1 = 0 clears all bits and false - 1 = 255 none; -true = 255 sets them all.
    kept = pepper.view(torch.uint8).sub_(1).bitwise_and_(x)
    return kept.bitwise_or_(salt.view(torch.uint8).neg_())


def _multiplicative(x: Tensor, param: Tensor) -> Tensor:
    n = random_normal(*_words_of(x, param)).view(x.shape)
    return to_pixels(n.mul_(as_rows(param[:, -2].float())).add_(1).mul_(x))


def _noise(x: Tensor, param: Tensor) -> Tensor:
    return grouped(x, param, param[:, 0].long() - 1, (_additive, _salt_and_pepper, _multiplicative))


@dataclass(frozen=True)
class NoiseDraw:
    """[kind, strength, seed]: with its strength in it, a stored row means the same under other settings."""

    kinds: tuple[float, ...]
    variance: float
    share: float
    spread: float

    def __call__(self, rows: int, rng: Generator) -> Tensor:
        kind = choices(self.kinds)(rows, rng)  # [rows,1]
        strength = torch.tensor([0.0, self.variance, self.share, self.spread], dtype=torch.float64)
        seed = torch.randint(SEEDS, (rows, 1), generator=rng).double()
        return torch.cat([kind, strength[kind.long()], seed], 1)


def noise(
    kinds: Sequence[float] = span(1, 3), variance: float = 0.1, share: float = 0.004, spread: float = 1.0
) -> Operator:
    """Kinds: 1 adds N(0, variance) in units of 0 … 255; 2 turns a share of the entries to 0 or 255, half
    and half; 3 multiplies by 1 + N(0, spread²).

    DeepHunter's own code has salt at 1, and its third kind wraps around; both are slips not copied here.
    """
    draw = NoiseDraw(tuple(kinds), variance, share, spread)
    return Operator("noise", draw, _noise, weaken=towards(None, 0.0, None))


@dataclass(frozen=True)
class Seeded:
    """[value, seed], or several values and then the seed."""

    values: tuple[float, ...] | tuple[tuple[float, ...], ...]

    def __call__(self, rows: int, rng: Generator) -> Tensor:
        seed = torch.randint(SEEDS, (rows, 1), generator=rng).double()
        return torch.cat([choices(self.values)(rows, rng), seed], 1)


def gauss_noise(variances: Sequence[float] = (2, 1, 0.5, 0.1, 0.05, 0.01, 0.005, 0.001)) -> Operator:
    """Add N(0, variance), in units of 0 … 255."""
    return Operator("gauss_noise", Seeded(tuple(variances)), _additive, weaken=towards(0.0, None))


def multiplicative_noise(variances: Sequence[float] = (1, 0.5, 0.1, 0.05, 0.01, 0.005, 0.001)) -> Operator:
    """Multiply by 1 + N(0, variance); what is stored with a row is the spread, the variance's root."""
    spreads = tuple(variance**0.5 for variance in variances)
    return Operator("multiplicative_noise", Seeded(spreads), _multiplicative, weaken=towards(0.0, None))


def _saltpepper(x: Tensor, param: Tensor) -> Tensor:
    entries = x.flatten(1).clone()
    size = entries.shape[1]
    counts, strength = (param[:, 0] * size / 2).ceil().long()[:, None], param[:, 1:2].float()
    most = int(counts.max()) if len(counts) else 0
    words = random_words(param[:, -1].long(), 4 * most).view(len(x), most, 2, 2).long() + 32768
    place = (words[..., 0] * 65536 + words[..., 1]) % max(size, 1)  # [B,most,2]
    for turn in range(most):
        for at, value in zip(torch.split(place[:, turn], 1, 1), (255, 0), strict=True):
            old = entries.gather(1, at)
            new = to_pixels(old + strength * (value - old.float()))
            entries.scatter_(1, at, torch.where(turn < counts, new, old))
    return entries.view(x.shape)


def saltpepper_noise(share: float = 0.004) -> Operator:
    """Half of a share of the entries, rounded up, become 255, and as many 0; the same place may come twice.

    The parameter in the middle is how far they go there.
    """
    return Operator("saltpepper_noise", Seeded(((share, 1.0),)), _saltpepper, weaken=towards(None, 0.0, None))


def _pixel_change(x: Tensor, param: Tensor) -> Tensor:
    counts, seed = param[:, 0].long(), param[:, 1].long()
    entries = x.flatten(1).clone()
    most = int(counts.max()) if len(counts) else 0
    high, low, value, _ = (random_words(seed, 4 * most).long() + 32768).view(len(x), most, 4).unbind(2)
    place, value = (high * 65536 + low) % max(entries.shape[1], 1), (value & 255).to(torch.uint8)  # [B,most]
    for turn in range(most):  # one after the other, so that the last of two at the same place wins
        at = place[:, turn, None]
        new = torch.where(turn < counts[:, None], value[:, turn, None], entries.gather(1, at))
        entries.scatter_(1, at, new)
    return entries.view(x.shape)


def pixel_change(counts: Sequence[float] = span(1, 9)) -> Operator:
    """Set a few random entries to random values: the ninth operator of DeepHunter's code, not in the paper."""
    return Operator("pixel_change", Seeded(tuple(counts)), _pixel_change, weaken=towards(0.0, None))
