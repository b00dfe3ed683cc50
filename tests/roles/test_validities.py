"""Every validity: one bool a row, no row depends on another; and each against its definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from skimage.metrics import structural_similarity
from torch import Tensor

from nnfuzz.records import Batch
from nnfuzz.roles import Validity
from nnfuzz.validity import (
    Alike,
    AllOf,
    BySeed,
    Calibrated,
    Consistent,
    Differs,
    Faithful,
    Guarded,
    L0Linf,
    RelativeL2,
    Similar,
    ssim,
)  # fmt: skip
from nnfuzz.validity.consistent import JITTERS, jittered
from tests.conftest import generator


def family(rows: int) -> tuple[Batch, Batch]:
    rng = generator(0)
    x = torch.randint(0, 256, (rows, 3, 6, 6), dtype=torch.uint8, generator=rng)
    parents = Batch.of_seeds(x, reference=x)
    delta = torch.randint(-60, 60, x.shape, generator=rng) * (torch.rand(x.shape, generator=rng) < 0.03)
    delta[: rows // 2] = torch.randint(-50, 51, x[: rows // 2].shape, generator=rng)
    delta[0] = 0
    return parents.child((x.int() + delta).clamp(0, 255).to(torch.uint8)), parents


def read(x: Tensor) -> Tensor:
    """Three classes, by fixed weights; whole numbers in float64, so that no sum is rounded."""
    weights = torch.randint(-9, 10, (108, 3), generator=generator(5)).double()
    return x.flatten(1).double() @ weights / 1000


def score(x: Tensor) -> Tensor:
    return read(x)[:, 0]


SEEDS = family(60)[1]
VALIDITIES = {
    "L0Linf": L0Linf(),
    "Differs": Differs(),
    "RelativeL2": RelativeL2(0.2),
    "AllOf": AllOf((L0Linf(), Differs())),
    "Guarded": Guarded.of(read, SEEDS, threshold=0.9),
    "Faithful": Faithful.of(score, SEEDS),
    "Calibrated": Calibrated.of(score, SEEDS.x, share=0.3),
    "Consistent": Consistent.of(read, SEEDS),
    "Similar": Similar.of(SEEDS, threshold=0.95),
    "Alike": Alike.of(read, SEEDS, threshold=0.98),
}


@pytest.mark.parametrize("valid", VALIDITIES.values(), ids=VALIDITIES)
def test_one_bool_a_row_whoever_the_neighbours_are(valid: Validity) -> None:
    children, parents = family(60)
    together = valid(children, parents)
    assert together.dtype == torch.bool
    alone = torch.cat([valid(children[i : i + 1], parents[i : i + 1]) for i in range(60)])
    assert (together == alone).all()
    assert 0 < together.sum() < 60
    assert valid(children[:0], parents[:0]).shape == (0,)


def test_equation_1() -> None:
    children, parents = family(200)
    got = L0Linf(alpha=0.02, beta=0.2)(children, parents)
    for row in range(200):
        apart = (children.x[row].int() - parents.x[row].int()).abs().flatten()
        few = (apart > 0).sum() < 0.02 * 108
        assert got[row] == (apart.max() <= 255 if few else apart.max() < 0.2 * 255)


def test_relative_l2() -> None:
    x = torch.tensor([[3, 4], [3, 4], [0, 0]], dtype=torch.uint8).view(3, 1, 1, 2)
    children = Batch.of_seeds(torch.tensor([[3, 5], [6, 8], [0, 1]], dtype=torch.uint8).view(3, 1, 1, 2), reference=x)
    assert RelativeL2(0.2)(children, children).tolist() == [True, False, False]
    assert RelativeL2(1.0)(children, children).tolist() == [True, True, True], "a black image: as if it were one long"


@pytest.mark.parametrize("by", [50, -50])
def test_differences_are_signed(by: int) -> None:
    x = torch.full((1, 1, 8, 8), 100, dtype=torch.uint8)
    parents = Batch.of_seeds(x, reference=x)
    children = parents.child((x.int() + by).to(torch.uint8))
    assert L0Linf()(children, parents).item(), "50 < 0.2 * 255, brighter as well as darker"


@pytest.mark.parametrize("size", [1, 7, 8, 28 * 28, 2040, 2041, 3 * 61 * 47])
def test_few_is_counted_exactly_whatever_the_size(size: int) -> None:
    moved = torch.tensor(sorted({0, 1, size // 2, size // 2 + 1, size}))
    x = 255 * (torch.arange(size) < moved[:, None]).to(torch.uint8)[:, None, None]
    children = Batch.of_seeds(x, reference=torch.zeros_like(x))
    few = (moved < 0.5 * size) | (moved == 0)
    assert L0Linf(alpha=0.5, beta=0.2)(children, children).tolist() == few.tolist()


def test_what_is_known_of_a_seed_is_found_by_its_row_in_the_data() -> None:
    seeds = replace(SEEDS[:3], seed=torch.tensor([7, 2, 40]))
    values = BySeed(seeds, torch.tensor([70, 20, 400]))
    assert values(torch.tensor([40, 40, 2, 7])).tolist() == [400, 400, 20, 70]
    assert values(torch.tensor([], dtype=torch.int64)).tolist() == []


def test_the_guard_asks_for_the_label_or_for_its_own_answer_on_the_seed() -> None:
    chance = read(SEEDS.x).softmax(1)
    for right in range(3):
        labelled = replace(SEEDS, label=torch.full((60,), right))
        assert (Guarded.of(read, SEEDS, 0.5)(labelled, labelled) == (chance[:, right] >= 0.5)).all()
    own = Guarded.of(read, SEEDS, 0.5)
    assert own(SEEDS, SEEDS).sum() >= 59
    assert (own.confidence(SEEDS) == chance.amax(1)).all()
    assert Guarded.of(read, SEEDS, 0.0)(*family(60)).all()


def test_the_bar_of_the_discriminator_is_the_seed_s_and_never_the_parent_s() -> None:
    children, parents = family(60)
    valid = Faithful.of(score, SEEDS)
    assert (valid(children, parents) == (score(children.x) >= score(SEEDS.x))).all()
    assert valid(SEEDS, SEEDS).all(), "a seed is as real as itself"
    assert (valid(children, children) == valid(children, parents)).all()
    strict, loose = Calibrated.of(score, SEEDS.x, 0.5), Calibrated.of(score, SEEDS.x, 0.1)
    assert strict(SEEDS, SEEDS).sum() == 30
    assert loose(SEEDS, SEEDS).sum() == 54


def test_consistent_is_right_on_every_copy() -> None:
    children, parents = family(60)
    for copies in (0, 3, len(JITTERS)):
        right = read(SEEDS.x).argmax(1)
        wanted = read(children.x).argmax(1) == right
        for jitter in JITTERS[:copies]:
            wanted &= read(jittered(children.x, jitter)).argmax(1) == right
        assert (Consistent.of(read, SEEDS, copies)(children, parents) == wanted).all()


def test_jitters_move_by_a_pixel() -> None:
    x = torch.zeros(1, 1, 5, 5, dtype=torch.uint8)
    x[0, 0, 2, 2] = 200
    assert jittered(x, (1, 0, 0, 1.0, 0))[0, 0, 2, 3] == 200
    assert jittered(x, (0, -1, 0, 1.0, 0))[0, 0, 1, 2] == 200
    assert jittered(x, (0, 0, 60, 1.0, 0))[0, 0, 2, 2] == 255
    assert jittered(x, (0, 0, 0, 0.5, 0))[0, 0, 2, 2] == 100
    assert (jittered(x, (0, 0, 0, 1.0, 8)) == jittered(x, (0, 0, 0, 1.0, 8))).all()


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 40), (1, 11, 13)])
def test_structural_similarity_is_that_of_scikit_image(shape: tuple[int, int, int]) -> None:
    rng = generator(1)
    x = torch.randint(0, 256, (6, *shape), dtype=torch.uint8, generator=rng)
    y = (x.int() + torch.randint(-90, 91, x.shape, generator=rng)).clamp(0, 255).to(torch.uint8)
    y[0], y[1] = x[0], 255 - x[1]
    wanted = [
        structural_similarity(
            a.numpy(),
            b.numpy(),
            gaussian_weights=True,
            sigma=1.5,
            use_sample_covariance=False,
            data_range=255,
            channel_axis=0,
        )
        for a, b in zip(x, y, strict=True)
    ]
    assert np.allclose(ssim(x, y), wanted, atol=1e-9)
    assert ssim(x, y)[0] == 1


def test_features_point_the_same_way() -> None:
    children, parents = family(60)
    a, b = read(children.x).numpy(), read(SEEDS.x).numpy()
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    assert Alike.of(read, SEEDS, 0.98)(children, parents).tolist() == (cosine >= 0.98).tolist()
