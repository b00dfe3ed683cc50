"""Each criterion against a reference written from its definition, one row and one neuron at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from nnfuzz.coverage import BKNC, KMNC, NBC, NC, SNAC, TKNC, Cover
from nnfuzz.coverage.ranges import Ranges, load, profile, save
from nnfuzz.records import Seen
from tests.conftest import generator

LAYERS = (3, 4)


def ranges() -> Ranges:
    low = torch.tensor([0.0, -1.0, 0.5, 0.0, 0.0, 2.0, -3.0])
    high = torch.tensor([1.0, 1.0, 0.5, 2.0, 10.0, 2.5, 3.0])  # the third neuron never moved
    return Ranges(low, high, (low + high) / 2, (high - low) / 4, 10)


def seen(rows: int = 50) -> Seen:
    neurons = torch.randn(rows, 7, generator=generator(0)) * 3
    neurons[0], neurons[1] = ranges().low, ranges().high
    neurons[2, 3] = float("nan")
    scaled = torch.rand(rows, 7, generator=generator(1))
    scaled[0, 0], scaled[0, 1] = 0.75, 1.0
    return Seen(torch.zeros(1, rows, 3), neurons, {"scaled": scaled})


def kmnc(v: np.ndarray, r: Ranges) -> set[int]:
    """DeepGauge: section i of k when low + i*w <= v < low + (i+1)*w, the upper end in the last."""
    hit = set()
    for n, value in enumerate(v):
        low, high = r.low[n].item(), r.high[n].item()
        if high > low and low <= value <= high:
            hit.add(n * 10 + min(9, int((value - low) / (high - low) * 10)))
    return hit


def nbc(v: np.ndarray, r: Ranges, sigma: float, lower: bool) -> set[int]:
    hit = set()
    for n, value in enumerate(v):
        low, high, std = r.low[n].item(), r.high[n].item(), r.std[n].item()
        width = (high - low) / 10 or 0.05
        beyond = [(n, value - (high + sigma * std))] + [(7 + n, (low - sigma * std) - value)] * lower
        hit |= {g * 10 + min(9, int(far / width)) for g, far in beyond if far > 0}
    return hit


def nc(v: np.ndarray) -> set[int]:
    return {n * 10 + min(9, int((value - 0.75) / 0.025)) for n, value in enumerate(v) if value > 0.75}


def topk(v: np.ndarray, k: int, sign: int) -> set[int]:
    hit, first = set(), 0
    for size in LAYERS:
        order = np.argsort(sign * v[first : first + size], kind="stable")
        hit |= {(first + int(n)) * k + rank for rank, n in enumerate(order[:k])}
        first += size
    return hit


CASES: dict[str, tuple[object, Callable[[np.ndarray, np.ndarray], set[int]]]] = {
    "nc": (NC(7), lambda v, s: nc(s)),
    "kmnc": (KMNC(ranges(), k=10), lambda v, s: kmnc(v, ranges())),
    "nbc": (NBC(ranges()), lambda v, s: nbc(v, ranges(), 0, True)),
    "nbc sigma": (NBC(ranges(), sigma=0.5), lambda v, s: nbc(v, ranges(), 0.5, True)),
    "snac": (SNAC(ranges(), sigma=1.0), lambda v, s: nbc(v, ranges(), 1.0, False)),
    "tknc": (TKNC(LAYERS, k=2), lambda v, s: topk(v, 2, -1)),
    "bknc": (BKNC(LAYERS, k=2), lambda v, s: topk(v, 2, 1)),
    "tknc larger than the layer": (TKNC(LAYERS, k=10), lambda v, s: topk(v, 10, -1)),
}


@pytest.mark.parametrize(("criterion", "reference"), CASES.values(), ids=CASES)
def test_against_the_definition(criterion: Callable[[Seen], Tensor], reference) -> None:
    data = seen()
    if "tknc" in criterion.name or "bknc" in criterion.name:
        data.neurons.nan_to_num_(0)
    ids = criterion(data)
    for row in range(len(ids)):
        ours = {i for i in ids[row].tolist() if i >= 0}
        assert ours == reference(data.neurons[row].double().numpy(), data.features["scaled"][row].double().numpy())
        assert all(i < criterion.units for i in ours)


@pytest.mark.parametrize("criterion", [case[0] for case in CASES.values()], ids=CASES)
def test_rows_alone_equal_rows_together_and_empty_is_fine(criterion: Callable[[Seen], Tensor]) -> None:
    data = seen()
    together = criterion(data)
    alone = torch.cat([criterion(data[i : i + 1]) for i in range(50)])
    assert (together == alone).all()
    assert len(criterion(data[:0])) == 0


def test_raw_neuron_coverage_compares_raw_values() -> None:
    data = Seen(torch.zeros(1, 1, 2), torch.tensor([[0.7, 0.76, 5.0, float("nan")]]))
    ids = NC(4, scaled=False, buckets=1)(data)
    assert ids.tolist() == [[-1, 1, 2, -1]]


def test_gain_counts_as_if_rows_came_one_by_one() -> None:
    rng = generator(0)
    ids = torch.randint(-1, 40, (300, 6), generator=rng)
    cover, covered = Cover(NC(4, buckets=10)), set[int]()
    expected = []
    for row in ids.tolist():
        new = {i for i in row if i >= 0} - covered
        covered |= new
        expected.append(len(new))
    gains = torch.cat([cover.update(part) for part in ids.split([1, 0, 7, 200, 92])])
    assert gains.tolist() == expected
    groups = {i // 10 for i in covered}
    assert cover.coverage == pytest.approx(len(groups) / 4)


def test_cells_are_counted_one_by_one_and_groups_once() -> None:
    cover = Cover(NC(4, buckets=5))
    assert (cover.cells, cover.coverage) == (0.0, 0.0)
    cover.update(torch.tensor([[0, 1, -1], [19, 19, -1]]))
    assert cover.cells == pytest.approx(3 / 20)
    assert cover.coverage == pytest.approx(2 / 4)


def test_a_cover_goes_on_from_its_state() -> None:
    one, other = Cover(NC(4, buckets=10)), Cover(NC(4, buckets=10))
    one.update(torch.tensor([[3, 7]]))
    other.load_state_dict(one.state_dict())
    assert other.update(torch.tensor([[3, 8]])).tolist() == [1]
    with pytest.raises(ValueError, match="units"):
        Cover(NC(5)).load_state_dict(one.state_dict())


def test_profile_in_pieces_equals_numpy_over_all(tmp_path) -> None:
    values = torch.randn(1000, 5, generator=generator(0)) * torch.tensor([1, 10, 0.1, 0, 1000.0]) + 100
    ragged = list(values.split([1, 99, 500, 400]))
    ragged.insert(2, torch.full((3, 5), float("nan")))
    found = profile(ragged)
    wide = values.double().numpy()
    assert found.count == 1000
    np.testing.assert_array_equal(found.low, values.numpy().min(0))
    np.testing.assert_array_equal(found.high, values.numpy().max(0))
    np.testing.assert_allclose(found.mean, wide.mean(0), rtol=1e-12)
    np.testing.assert_allclose(found.std, wide.std(0), rtol=1e-9, atol=1e-9)
    save(found, tmp_path / "deep" / "profile.safetensors")
    again = load(tmp_path / "deep" / "profile.safetensors", 5)
    assert again is not None
    assert (again.std == found.std).all()
    assert again.count == 1000
    assert load(tmp_path / "none", 5) is None
    assert load(tmp_path / "deep" / "profile.safetensors", 6) is None


def test_a_profile_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one"):
        profile([torch.full((3, 5), float("nan"))])
