"""Every validity: one bool a row, no row depends on another; and Equation 1 against its definition."""

from __future__ import annotations

import pytest
import torch

from nnfuzz.records import Batch
from nnfuzz.roles import Validity
from nnfuzz.validity import AllOf, Differs, L0Linf, RelativeL2
from tests.conftest import generator

VALIDITIES = {
    "L0Linf": L0Linf(),
    "Differs": Differs(),
    "RelativeL2": RelativeL2(0.2),
    "AllOf": AllOf((L0Linf(), Differs())),
}


def family(rows: int) -> tuple[Batch, Batch]:
    rng = generator(0)
    x = torch.randint(0, 256, (rows, 3, 6, 6), dtype=torch.uint8, generator=rng)
    parents = Batch.of_seeds(x, reference=x)
    delta = torch.randint(-60, 60, x.shape, generator=rng) * (torch.rand(x.shape, generator=rng) < 0.03)
    delta[: rows // 2] = torch.randint(-50, 51, x[: rows // 2].shape, generator=rng)
    delta[0] = 0
    return parents.child((x.int() + delta).clamp(0, 255).to(torch.uint8)), parents


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
