"""Groups that are really different mistakes, and what comes first."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from nnfuzz.mutators import blur, brightness, contrast, noise, rotation
from nnfuzz.records import Finding, Kind
from nnfuzz.triage import LOOKED_AT, plausibility, triage

NAN = float("nan")


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def smooth(rows: int, side: int = 16, seed: int = 0) -> Tensor:
    coarse = torch.rand(rows, 1, 4, 4, generator=seeded(seed))
    return (F.interpolate(coarse, size=(side, side), mode="bilinear") * 255).to(torch.uint8)


def finding(id: int, **said) -> Finding:
    said = {"kind": Kind.MISCLASSIFIED.label, "seed": id, "label": 3, "seed_answers": (3,), "answers": (5,),
            "confidences": (0.9,), "mutations": (), "repeated": 1, "asked": 1, "seconds": 0.0, "image": "",
            **said}  # fmt: skip
    return Finding(id=id, **said)


def around(middle: list[float], rows: int, seed: int = 0) -> Tensor:
    return torch.tensor(middle) + 0.05 * torch.randn(rows, len(middle), generator=seeded(seed))


SEEDS = smooth(200, seed=9)


def test_one_group_for_each_mistake_and_each_way_of_seeing_it():
    features = torch.cat([around([1, 0, 0], 10), around([0, 1, 0], 10, 1), around([0, 0, 1], 10, 2)])
    answers = [5] * 20 + [7] * 10
    findings = [finding(i, answers=(answers[i],)) for i in range(30)]
    groups = triage(findings, smooth(30), features, SEEDS)
    assert sorted(g.members for g in groups) == [tuple(range(s, s + 10)) for s in (0, 10, 20)]
    assert {(g.right, g.answer) for g in groups} == {(3, 5), (3, 7)}
    assert all(g.seeds == g.size == 10 and g.representative in g.members for g in groups)
    assert [g.id for g in groups] == [0, 1, 2]


def test_one_cloud_is_one_group():
    features = torch.randn(60, 20, generator=seeded())
    assert len(triage([finding(i) for i in range(60)], smooth(60), features, SEEDS)) == 1


def test_findings_of_a_seed_stay_together():
    features = torch.cat([around([1, 0], 20), around([0, 1], 20, 1)])
    findings = [finding(i, seed=i % 20) for i in range(40)]  # each seed is seen both ways
    (group,) = triage(findings, smooth(40), features, SEEDS)
    assert (group.seeds, group.size) == (20, 40)


def test_the_order_of_findings_does_not_matter():
    findings = [finding(i, seed=i // 3, answers=(i % 4,), confidences=(i / 90,)) for i in range(90)]
    x, features = smooth(90), torch.randn(90, 5, generator=seeded(1)) + 2 * torch.eye(5)[torch.arange(90) // 3 % 3]
    groups = triage(findings, x, features, SEEDS)
    assert len(groups) > 4
    for turn in range(3):
        rows = random.Random(turn).sample(range(90), 90)
        assert triage([findings[i] for i in rows], x[rows], features[rows], SEEDS) == groups


def test_many_seeds_of_one_mistake():
    rows = 3 * LOOKED_AT
    features = torch.cat([around([1, 0, 0], rows), around([0, 1, 0], rows, 1)])
    order = torch.randperm(2 * rows, generator=seeded())
    groups = triage([finding(i) for i in range(2 * rows)], smooth(2 * rows, 8), features[order], smooth(40, 8))
    assert [g.size for g in groups] == [rows, rows]
    assert {frozenset((order[list(g.members)] < rows).tolist()) for g in groups} == {frozenset([i]) for i in (0, 1)}


def test_equal_pixels_count_once():
    x = smooth(4)[[0, 0, 1, 1, 1, 2]]
    (group,) = triage([finding(i, seed=i // 2) for i in range(6)], x, torch.ones(6, 2), SEEDS)
    assert (group.size, group.members) == (3, (0, 1, 2, 3, 4, 5))


def test_plausible_and_sure_comes_first():
    x, wrecked = smooth(4), torch.randint(0, 256, (2, 1, 16, 16), dtype=torch.uint8, generator=seeded())
    x = torch.cat([x, wrecked])
    sure, answers = (0.4, 0.9, 0.99, 0.5, 1.0, 1.0), (5, 5, 6, 6, 7, 8)
    findings = [finding(i, answers=(answers[i],), confidences=(sure[i],)) for i in range(6)]
    groups = triage(findings, x, torch.zeros(6, 0), SEEDS)
    assert {g.answer for g in groups[:2]} == {5, 6}
    assert {g.representative for g in groups[:2]} == {1, 2}
    assert min(g.plausibility for g in groups[:2]) > 0.6 > max(g.plausibility for g in groups[2:])


def test_the_representative_is_confirmed_if_any_is():
    findings = [finding(i, confidences=(0.9 - i / 10,), repeated=int(i == 2)) for i in range(4)]
    (group,) = triage(findings, smooth(4), torch.ones(4, 2), SEEDS)
    assert (group.representative, group.confidence) == (2, pytest.approx(0.7))


def test_a_crash_is_one_group_whatever_the_label():
    broken = {"answers": (-1,), "confidences": (NAN,)}
    findings = [
        *(
            finding(i, kind="raised", label=i, error=f"index {i} at 0x7f{i} is out of range", **broken)
            for i in range(3)
        ),
        finding(3, kind="raised", error="no such thing", **broken),
        *(finding(i, kind="not-finite", answers=(i,), confidences=(NAN,)) for i in (4, 5)),
        finding(6, kind="hung", answers=(), confidences=()),
    ]
    groups = triage(findings, smooth(7), torch.full((7, 3), NAN), SEEDS)
    assert sorted((g.kind, g.members, g.right, g.answer) for g in groups) == [
        ("hung", (6,), 3, -1), ("not-finite", (4, 5), 3, -1), ("raised", (0, 1, 2), -1, -1), ("raised", (3,), 3, -1),
    ]  # fmt: skip
    assert all(math.isnan(g.confidence) for g in groups)


def test_features_that_are_not_finite_are_set_apart():
    features = around([1.0, 0.0], 12)
    features[3], features[4, 1], features[5] = NAN, float("inf"), 3e38
    groups = triage([finding(i) for i in range(12)], smooth(12), features, SEEDS)
    assert sorted(g.members for g in groups) == [tuple(i for i in range(12) if i not in (3, 4)), (3, 4)]


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("clean", [1, 2, 3, 50])
@pytest.mark.parametrize("width", [0, 1, 4])
def test_small(count, clean, width):
    groups = triage([finding(i) for i in range(count)], smooth(count), torch.ones(count, width), smooth(clean))
    assert sum(g.size for g in groups) == count
    assert all(0 <= g.plausibility <= 1 for g in groups)


@pytest.mark.parametrize(("channels", "side"), [(1, 16), (3, 48)])
def test_realistic_is_more_plausible_than_wrecked(channels, side):
    seeds, x = (smooth(rows * channels, side, rows).view(rows, channels, side, side) for rows in (300, 30))
    number = torch.arange(30, dtype=torch.float64)[:, None]

    def of(operator, *param):
        return plausibility(operator.apply(x, torch.tensor([param], dtype=torch.float64).expand(30, -1)), seeds)

    def noisy(kind, strength):
        param = torch.cat([torch.tensor([[kind, strength]], dtype=torch.float64).expand(30, -1), number], 1)
        return plausibility(noise().apply(x, param), seeds)

    clean = plausibility(x, seeds)
    realistic = (clean, of(brightness(), 15), of(contrast(), 0.8), of(blur(), 4), of(rotation(), 3))
    wrecked = (noisy(1, 2500.0), noisy(2, 0.1), noisy(3, 1.0), plausibility(torch.zeros_like(x), seeds))
    assert clean.median() > 0.9
    assert all(0 <= share <= 1 for kind in (*realistic, *wrecked) for share in kind)
    assert min(kind.median() for kind in realistic) > 1.5 * max(kind.median() for kind in wrecked)
    assert noisy(1, 2500.0).mean() < noisy(1, 400.0).mean()


def regression(id: int, **said) -> Finding:
    return finding(id, **{"kind": "regression", "seed_answers": (3, 3), "answers": (3, 8), "confidences": (0.9, 0.4),
                          **said})  # fmt: skip


def test_of_a_pair_the_new_answer_makes_the_group():
    answers = [(3, 8)] * 10 + [(3, 5)] * 10
    findings = [regression(i, answers=pair) for i, pair in enumerate(answers)]
    groups = triage(findings, smooth(20), around([1, 0], 20), SEEDS)
    assert {(g.kind, g.right, g.answer, g.confidence) for g in groups} == {
        ("regression", 3, 8, 0.4), ("regression", 3, 5, 0.4)
    }  # fmt: skip


def test_what_is_doubted_stands_last_and_represents_nobody_who_is_not():
    found = [regression(i, answers=(3, 8 - i // 4), confidences=(0.9, 0.9 - i / 20)) for i in range(12)]
    doubted = [replace(f, doubtful=f.id <= 4) for f in found]  # all of the first group, and the best of the second
    x = smooth(12)[:1].expand(12, -1, -1, -1)
    assert [g.answer for g in triage(found, x, around([1, 0], 12), SEEDS)] == [8, 7, 6]
    groups = triage(doubted, x, around([1, 0], 12), SEEDS)
    assert [(g.answer, g.doubtful, g.representative) for g in groups] == [(7, 1, 5), (6, 0, 8), (8, 4, 0)]


def test_the_accused_of_each_kind():
    assert (regression(0).answer, regression(0).confidence, regression(0).right) == (8, 0.4, 3)
    assert (finding(0, answers=(5, 6), confidences=(0.9, 0.8)).answer) == 5
    apart = finding(0, kind="disagreeing", answers=(3, 3, 7), confidences=(0.9, 0.8, 0.7))
    assert (apart.answer, apart.confidence) == (7, 0.7)
    silent = finding(0, answers=(), confidences=())
    assert silent.answer == -1
    assert math.isnan(silent.confidence)
