"""Which neurons are pushed, on a network where the right ones are known."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from nnfuzz.coverage import Times
from nnfuzz.mutators import STRATEGIES, Neurons
from nnfuzz.mutators.neurons import drawn, shares
from nnfuzz.records import Batch, Model, Seen
from nnfuzz.target import Target
from tests.conftest import generator

VALUES = [0.0, 0.2, 0.4, 0.45, 0.55, 0.8, 1.0, 0.5]
TIMES = [0, 0, 3, 9, 9, 50, 100, 1]


class Ladder(nn.Module):
    """A 1x1 convolution whose channels are known shares of the brightness; their weights are what they sum with."""

    def __init__(self) -> None:
        super().__init__()
        self.look = nn.Conv2d(1, len(VALUES), 1, bias=False)
        self.head = nn.Linear(len(VALUES), 2)
        with torch.no_grad():
            self.look.weight.copy_(torch.tensor(VALUES).view(-1, 1, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.look(x).mean((2, 3)))


@pytest.fixture
def target() -> Target:
    return Target(Model(Ladder(), "ladder"), white(1), only=("look",), features=("scaled",))


def white(rows: int) -> Tensor:
    return torch.full((rows, 1, 4, 4), 255, dtype=torch.uint8)


def push(target: Target, *strategies: str, m: int, rows: int = 400, times: list[int] | None = None) -> Tensor:
    neurons = Neurons(strategies, m, 0.5, torch.tensor(times or TIMES), target.weights(), target.spans)
    return neurons(target(white(rows)), torch.rand(rows, len(VALUES), dtype=torch.float64, generator=generator(0)))


def test_the_ladder(target: Target) -> None:
    assert target(white(1)).features["scaled"][0].tolist() == pytest.approx(VALUES, abs=1e-6)
    assert target.weights().tolist() == pytest.approx(VALUES)


def test_covered_often(target: Target) -> None:
    share = push(target, "often", m=1).mean(0)
    assert share.tolist() == pytest.approx([t / sum(TIMES) for t in TIMES], abs=0.06)


def test_covered_rarely(target: Target) -> None:
    share = push(target, "rarely", m=1).mean(0)
    away = [max(TIMES) - t for t in TIMES]
    assert share.tolist() == pytest.approx([a / sum(away) for a in away], abs=0.06)


def test_top_weights(target: Target) -> None:
    assert push(target, "heavy", m=3).mean(0).tolist() == [0, 0, 0, 0, 0, 0, 1, 0], "a tenth of eight is one"


def test_near_the_threshold_with_the_papers_sign(target: Target) -> None:
    """Just below is activated, just above deactivated; what is far is left alone."""
    signs = push(target, "near", m=8).mean(0)
    assert signs.tolist() == [0, 0, 1, 1, -1, 0, 0, 1]


def test_never_covered_and_any_where_none_is_left(target: Target) -> None:
    assert (push(target, "uncovered", m=1).mean(0) > 0).tolist() == [True, True, *[False] * 6]
    assert (push(target, "uncovered", m=1, times=[5] * 8).mean(0) > 0).all()


def test_a_mixture_splits_m_and_picks_no_neuron_twice(target: Target) -> None:
    picked = push(target, "often", "rarely", "near", m=5).abs()
    assert (picked <= 1).all()
    assert (picked.sum(1) == 5).all()
    assert [shares(5, 3), shares(10, 4), shares(2, 3)] == [[2, 2, 1], [3, 3, 2, 2], [1, 1, 0]]


def test_fewer_where_fewer_have_a_chance(target: Target) -> None:
    assert push(target, "often", m=8).sum(1).tolist() == [6.0] * 400, "two were never covered"


def test_each_model_has_its_own() -> None:
    times, value = torch.arange(1, 11), torch.zeros(50, 10)
    seen = Seen(torch.zeros(1, 50, 2), value, {"scaled": value})
    neurons = Neurons(("often",), 2, 0.5, times, value[0], (slice(0, 4), slice(4, 10)))
    picked = neurons(seen, torch.rand(50, 10, dtype=torch.float64, generator=generator(0)))
    assert (picked[:, :4].sum(1) == 2).all()
    assert (picked[:, 4:].sum(1) == 2).all()


def test_what_is_left_in_one_model_does_not_depend_on_another() -> None:
    """The first is covered whole, so any of its neurons will do; of the second only the one that never was."""
    times, value = torch.tensor([5, 1, 1, 7, 0, 7]), torch.zeros(300, 6)
    seen = Seen(torch.zeros(1, 300, 2), value, {"scaled": value})

    def share(strategy: str) -> list[bool]:
        neurons = Neurons((strategy,), 1, 0.5, times, value[0], (slice(0, 3), slice(3, 6)))
        picked = neurons(seen, torch.rand(300, 6, dtype=torch.float64, generator=generator(0)))
        return (picked.sum(0) > 0).tolist()

    assert share("uncovered") == [True, True, True, False, True, False]
    assert share("rarely") == [False, True, True, False, True, False], "rarer than the model's own most covered"


def test_drawn_without_replacement_in_proportion() -> None:
    """The first of two is drawn by its weight; the pair's chance follows."""
    chances = torch.tensor([[1.0, 2.0, 3.0]], dtype=torch.float64).expand(20_000, 3)
    chance = torch.rand(20_000, 3, dtype=torch.float64, generator=generator(0))
    assert drawn(chances, chance, 1).double().mean(0).tolist() == pytest.approx([1 / 6, 1 / 3, 1 / 2], abs=0.012)
    left_out = 1 - drawn(chances, chance, 2).double().mean(0)
    expected = 2 / 6 * 3 / 4 + 3 / 6 * 2 / 3  # the first is left out: 2 then 3, or 3 then 2
    assert left_out[0].item() == pytest.approx(expected, abs=0.012)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_row_does_not_know_its_neighbours(strategy: str, target: Target) -> None:
    neurons = Neurons((strategy,), 2, 0.5, torch.tensor(TIMES), target.weights(), target.spans)
    x = torch.randint(0, 256, (30, 1, 4, 4), dtype=torch.uint8, generator=generator(1))
    chance = torch.rand(30, len(VALUES), dtype=torch.float64, generator=generator(2))
    alone = [neurons(target(x[i : i + 1]), chance[i : i + 1]) for i in range(30)]
    assert torch.equal(torch.cat(alone), neurons(target(x), chance))


def test_the_table_counts_and_its_gain_is_of_a_snapshot(target: Target) -> None:
    table, batch = Times(len(VALUES)), Batch.of_seeds(white(3))
    assert table(batch, target(white(3))).tolist() == [3, 3, 3], "each row by itself, as the table stood"
    assert table.times.tolist() == [3 * (v > 0.5) for v in VALUES]
    assert table(batch, target(white(3))).tolist() == [0, 0, 0]
    held = table.times
    other = Times(len(VALUES))
    other(batch, target(white(3)))
    table.load_state_dict(other.state_dict())
    assert table.times is held
    assert held.tolist() == other.times.tolist()
