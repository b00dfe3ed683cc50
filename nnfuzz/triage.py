"""From thousands of findings to a short list: one group for each mistake of its own, the most plausible first."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan

import torch
import torch.nn.functional as F
from torch import Tensor

from nnfuzz.records import Finding, Kind
from nnfuzz.tally import fingerprints

BROKEN = (Kind.NOT_FINITE.label, Kind.RAISED.label, Kind.HUNG.label)  # the answer, if there is one, means nothing
APART = 0.25  # mean silhouette; below it there is no structure (Kaufman and Rousseeuw, 1990, table 4)
CLOUDS = 3  # without structure, that two clusters must be further apart than the halves of
FEWEST = 3  # seeds; what happens with one or two of them is no pattern yet
LOOKED_AT = 256  # vectors that the clusters are found from; the tree needs the square of it
ROWS = 4096  # images in floats at once
CLEAN = 512  # seeds that a finding is compared with
SIDE = 32
FLAT = 8.0  # grey levels of contrast that are next to none

Mistake = tuple[str, int, int, str]


@dataclass(frozen=True)
class Group:
    """Findings that are the same mistake. Every finding is in one group."""

    id: int  # its place in the list
    kind: str  # a Kind's label
    right: int  # what should have been answered, -1 where the members of a broken kind differ
    answer: int  # what is answered instead, -1 where that means nothing
    members: tuple[int, ...]  # ids of findings
    representative: int  # the member to look at: plausible, surely wrong, undoubted and confirmed if any is
    seeds: int  # how many different originals
    size: int  # how many different inputs
    plausibility: float  # of the representative
    confidence: float  # of the representative's answer, NaN where there is none
    doubtful: int  # members on which independent models no longer read the label


def triage(findings: Sequence[Finding], x: Tensor, features: Tensor, seeds: Tensor) -> list[Group]:
    """Groups of findings whose pixels are `x` [F,C,H,W] and whose penultimate activations are `features` [F,D].

    Findings of a seed with the same mistake are one vector; within a mistake, vectors are clustered. `seeds`
    [S,C,H,W] is a sample of clean inputs. The order of the findings does not matter.
    """
    order = torch.tensor(sorted(range(len(findings)), key=lambda row: findings[row].id), dtype=torch.int64)
    findings, x, features = [findings[row] for row in order], x[order], features[order].cpu()
    mistakes: dict[Mistake, list[int]] = defaultdict(list)
    for row, finding in enumerate(findings):
        mistakes[_mistake(finding)].append(row)
    likely, prints = plausibility(x, seeds).tolist(), _prints(x)
    groups = []
    for mistake, rows in mistakes.items():
        distinct, which = _distinct(prints[rows])
        atoms = torch.tensor([findings[rows[i]].seed for i in distinct])
        atoms = torch.unique(atoms, return_inverse=True)[1]
        cluster = _clusters(_vectors(features[[rows[i] for i in distinct]], atoms))[atoms][which].tolist()
        for wanted in sorted(set(cluster)):
            mine = [row for row, number in zip(rows, cluster, strict=True) if number == wanted]
            size = len(torch.unique(prints[mine]))
            groups.append(_group(mistake, [findings[row] for row in mine], [likely[row] for row in mine], size))
    groups.sort(
        key=lambda g: (g.doubtful == len(g.members), -_score(g.plausibility, g.confidence), -g.size, g.representative)
    )
    return [replace(group, id=place) for place, group in enumerate(groups)]


def _mistake(finding: Finding) -> Mistake:
    """A crash is the same crash whatever should have been answered, and whichever numbers its message names."""
    if finding.answer < 0 or finding.kind in BROKEN:
        return finding.kind, -1, -1, re.sub(r"0x[0-9a-fA-F]+|\d+", "#", finding.error)
    return finding.kind, finding.right, finding.answer, ""


def _prints(x: Tensor) -> Tensor:
    """[F] one number for equal pixels; in parts, since it widens every byte to eight."""
    return torch.cat([fingerprints(part) for part in torch.split(x, ROWS)]) if len(x) else torch.zeros(0).long()


def _distinct(prints: Tensor) -> tuple[list[int], Tensor]:
    """The first row of each different print, and for every row which of them it equals."""
    values, which = torch.unique(prints, return_inverse=True)
    first = torch.full((len(values),), len(prints)).scatter_reduce_(0, which, torch.arange(len(prints)), "amin")
    return first.tolist(), which


def _vectors(features: Tensor, atoms: Tensor) -> Tensor:
    """[A,D] float64: the direction of the mean features of each atom, NaN where none of its rows is finite.

    The last layer tells classes apart by direction; length is mostly contrast.
    """
    rows = features.isfinite().all(1)
    count = torch.bincount(atoms[rows], minlength=int(atoms.max()) + 1)
    by_atom = features[rows][atoms[rows].argsort(stable=True)].double()
    mean = torch.segment_reduce(by_atom, "sum", lengths=count) / count[:, None]  # 0 / 0 is the NaN
    if not mean.shape[1]:
        return mean
    scaled = mean / mean.abs().amax(1, keepdim=True).clamp_min(1e-300)  # squares of large numbers would overflow
    return F.normalize(scaled, eps=1e-300)


def _clusters(vectors: Tensor) -> Tensor:
    """[A] a number for each vector. Those that are not finite are a cluster of their own."""
    cluster = torch.full((len(vectors),), -1)
    usable = vectors.isfinite().all(1).nonzero().flatten()
    if not len(usable):
        return cluster
    some = vectors[usable[_spaced(len(usable), LOOKED_AT)]]
    parts = _halved(some) if vectors.shape[1] else [torch.arange(len(some))]
    if len(usable) == len(some):
        for number, part in enumerate(parts):
            cluster[usable[part]] = number
        return cluster
    middles = torch.stack([some[part].mean(0) for part in parts])
    cluster[usable] = torch.cat([torch.cdist(v, middles).argmin(1) for v in torch.split(vectors[usable], ROWS)])
    return cluster


def _halved(vectors: Tensor) -> list[Tensor]:
    """Rows of each cluster: halves, and halves of them, as long as they are really apart."""
    waiting, done = [torch.arange(len(vectors))], []
    while waiting:
        rows = waiting.pop()
        half = _half(vectors[rows]) if len(rows) >= 2 * FEWEST else rows < 0
        if min(int(half.sum()), int((~half).sum())) >= FEWEST and _structured(vectors[rows], half):
            waiting += [rows[half], rows[~half]]
        else:
            done.append(rows)
    return done


def _half(points: Tensor) -> Tensor:
    from sklearn.cluster import AgglomerativeClustering

    return torch.as_tensor(AgglomerativeClustering(2).fit_predict(points.numpy())).bool()


def _structured(points: Tensor, half: Tensor) -> bool:
    """Any cloud has halves. These are two clusters if a normal cloud of the same covariance has worse ones (Liu et
    al., 2008)."""
    found = _silhouette(points, half)
    if found < APART:
        return False
    rng = torch.Generator().manual_seed(0)
    centred = (points - points.mean(0)) / len(points) ** 0.5
    draws = torch.randn(CLOUDS, len(points), len(points), dtype=torch.float64, generator=rng)
    return all(found > _silhouette(cloud, _half(cloud)) for cloud in draws @ centred)


def _silhouette(points: Tensor, half: Tensor) -> float:
    """How much nearer points are to their own half than to the other (Rousseeuw, 1987): -1 … 1, mean over points."""
    # Not scikit-learn's: checking its input takes many times as long as this.
    away = torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist")
    sides = torch.stack([away[:, half].sum(1), away[:, ~half].sum(1)])  # [2,A]
    inside, across = torch.where(half, sides, sides.flip(0))
    size = torch.where(half, half.sum(), (~half).sum())
    inside, across = inside / (size - 1), across / (len(half) - size)
    return float(((across - inside) / torch.maximum(inside, across).clamp_min(1e-300)).mean())


def _spaced(count: int, most: int) -> Tensor:
    """At most that many of `count` rows, evenly."""
    return torch.arange(min(count, most)) * count // max(1, min(count, most))


def _group(mistake: Mistake, members: Sequence[Finding], likely: Sequence[float], size: int) -> Group:
    kind, right, answer, _ = mistake
    if answer < 0 and len(wanted := {finding.right for finding in members}) == 1:
        right = wanted.pop()

    def worth(place: int) -> tuple[bool, bool, float]:
        one = members[place]
        return not one.doubtful, one.confirmed, _score(likely[place], one.confidence)

    best = max(range(len(members)), key=worth)  # the first of equals, and members are in order of their ids
    ids, originals = tuple(finding.id for finding in members), {finding.seed for finding in members}
    return Group(
        -1, kind, right, answer, ids, ids[best], len(originals), size, likely[best], members[best].confidence,
        sum(finding.doubtful is True for finding in members),
    )  # fmt: skip


def _score(likely: float, confidence: float) -> float:
    """How much a mistake matters; that a broken answer is wrong is certain."""
    return likely * (1.0 if isnan(confidence) else confidence)


def plausibility(x: Tensor, seeds: Tensor) -> Tensor:
    """[F] in 0 … 1: how much each image looks like the clean ones, without any training.

    Clean images lie near a plane of few dimensions, noise does not: the distance to the plane that holds 99 % of
    half of the seeds, compared with the other half's median distance. Brightness and contrast are taken off
    first, as eyes do; an image with less contrast than nearly all of the seeds is worth less.
    """
    if not len(x) or not len(seeds):
        return torch.ones(len(x))
    clean, contrast = _normalised(seeds[_spaced(len(seeds), CLEAN)])
    fit, held = (clean[::2], clean[1::2]) if len(clean) > 1 else (clean, clean)
    middle = fit.mean(0)
    plane = _plane(fit - middle)
    usual = _residual(held - middle, plane).median().clamp_min(0.1 * clean.shape[1] ** 0.5)
    least = contrast.quantile(0.05).clamp_min(1.0)
    found = []
    for part in torch.split(x, ROWS):
        flat, strength = _normalised(part)
        near = usual / _residual(flat - middle, plane).clamp_min(usual)
        found.append(near * (strength / least).clamp_max(1))
    return torch.cat(found)


def _normalised(x: Tensor) -> tuple[Tensor, Tensor]:
    """[B,D] images of at most 32x32 pixels with mean 0 and deviation nearly 1, and [B] the deviation they had."""
    small = x.float()
    if max(x.shape[2:]) > SIDE:
        small = F.adaptive_avg_pool2d(small, (min(x.shape[2], SIDE), min(x.shape[3], SIDE)))
    small = small.flatten(1)
    small = small - small.mean(1, keepdim=True)
    deviation = small.square().mean(1).sqrt()
    return small / (deviation + FLAT)[:, None], deviation


def _plane(centred: Tensor) -> Tensor:
    """[D,K] the directions that hold 99 % of the variance; at most half as many as images, so that it is no copy."""
    # From the products of the images with each other: there are fewer of them than pixels, and it is quick.
    strength, mixed = torch.linalg.eigh(centred.double() @ centred.double().T)
    strength, mixed = strength.flip(0).clamp_min(0), mixed.flip(1)
    count = min(int((strength.cumsum(0) < 0.99 * strength.sum()).sum()) + 1, len(centred) // 2)
    axes: Tensor = centred.double().T @ mixed[:, :count] / strength[:count].sqrt().clamp_min(1e-6)
    return axes.float()


def _residual(centred: Tensor, plane: Tensor) -> Tensor:
    # By Pythagoras: one product less. What rounding leaves of it is far below the usual distance.
    return (centred.square().sum(1) - (centred @ plane).square().sum(1)).clamp_min(0).sqrt()
