"""Training: it learns, it is the same under a seed, and it stops when it is told to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from nnfuzz import data, models
from nnfuzz.errors import NnfuzzError
from nnfuzz.models.augment import crop, crop_flip
from nnfuzz.records import Model


@pytest.fixture
def stripes() -> data.Images:
    """Two classes: bright above, bright below."""
    rng = torch.Generator().manual_seed(0)
    x = torch.randint(0, 100, (60, 1, 8, 8), generator=rng)
    x[:30, :, :4] += 150
    x[30:, :, 4:] += 150
    return data.Images(x.to(torch.uint8), torch.arange(60) // 30, ("above", "below"), "stripes")


def test_it_learns_and_tells(stripes: data.Images) -> None:
    told: list[models.Epoch] = []
    done = models.train("digits", stripes, stripes, epochs=4, batch=16, on_epoch=told.append)
    assert done.history == tuple(told)
    assert [e.number for e in told] == [1, 2, 3, 4]
    assert told[-1].loss < told[0].loss
    assert told[-1].test == 1 == models.accuracy(done.model, stripes)
    assert done.model.classes == 2
    assert done.model.shape == (1, 8, 8)
    assert not done.model.net.training


def test_the_same_seed_gives_the_same_weights(stripes: data.Images) -> None:
    before = torch.get_rng_state()

    def weights(seed: int) -> str:
        net = nn.Sequential(models.build("digits", classes=2).net, nn.Dropout())
        return models.digest(models.train(net, stripes, epochs=2, batch=16, seed=seed, augment=crop).model.net)

    assert weights(1) == weights(1) != weights(2)
    assert (torch.get_rng_state() == before).all()


def test_stages_are_the_weights_on_the_way(stripes: data.Images, tmp_path: Path) -> None:
    done = models.train("digits", stripes, epochs=3, batch=16, stages=(1, 3), schedule=models.three_stages)
    assert sorted(done.stages) == [1, 3]
    last = done.model.net.state_dict()
    assert all((done.stages[3][name] == last[name]).all() for name in last)
    assert not all((done.stages[1][name] == last[name]).all() for name in last)
    assert done.history[0].test is None


def test_the_time_is_kept(stripes: data.Images) -> None:
    done = models.train("digits", stripes, epochs=10_000_000, seconds=0.2)
    assert 0.2 <= done.history[-1].seconds < 2
    done = models.train("digits", stripes, epochs=10_000_000, seconds=1e-9)
    assert len(done.history) == 1


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
@pytest.mark.parametrize("output", ["logits", "probabilities"])
def test_ones_own_model(stripes: data.Images, optimizer: str, output: str) -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 2))
    if output == "probabilities":
        net.append(nn.Softmax(1))
    net.train()
    model = Model(net, "mine", (0.5,), (0.5,), output=output)  # type: ignore[arg-type]
    done = models.train(model, stripes, epochs=8, batch=16, lr=0.02, optimizer=optimizer)
    assert done.model is model
    assert net.training
    assert models.accuracy(model, stripes) == 1
    assert net.training


def test_what_cannot_be_trained(stripes: data.Images) -> None:
    with pytest.raises(NnfuzzError, match="a label for every"):
        models.train("digits", replace(stripes, label=stripes.label - 1), epochs=1)
    with pytest.raises(NnfuzzError, match="labels below 1"):
        models.train(nn.Sequential(nn.Flatten(), nn.Linear(64, 1)), stripes, epochs=1)
    with pytest.raises(NnfuzzError, match="sgd or adamw"):
        models.train("digits", stripes, epochs=1, optimizer="lion")
    with pytest.raises(NnfuzzError, match="smaller learning rate"):
        models.train("digits", stripes, epochs=3, lr=1e30)


def test_schedules_rise_and_fall() -> None:
    assert models.one_cycle(0) < 0.05
    assert models.one_cycle(0.25) == 1
    assert models.one_cycle(1) < 1e-9
    assert abs(models.one_cycle(0.2499999) - 1) < 1e-3
    assert [models.three_stages(d) for d in (0, 0.5, 0.75, 1)] == [1, 0.1, 0.01, 0.01]


def test_cropping_moves_whole_images() -> None:
    x = torch.zeros(200, 2, 16, 16, dtype=torch.uint8)
    x[:, 0, 8, 8], x[:, 1, 8, 8] = 1, 2
    out = crop(x, torch.Generator().manual_seed(0))
    assert out.dtype == torch.uint8
    assert (out.flatten(2).argmax(2)[:, 0] == out.flatten(2).argmax(2)[:, 1]).all()
    assert (out.sum((2, 3)) == torch.tensor([1, 2])).all()
    assert len(out[:, 0].flatten(1).argmax(1).unique()) == 25
    assert (crop(x, torch.Generator().manual_seed(0)) == out).all()
    assert crop(x[:0], torch.Generator()).shape == (0, 2, 16, 16)


def test_flipping_half_of_them() -> None:
    x = torch.arange(16, dtype=torch.uint8).expand(200, 3, 16, 16)
    falling = (crop_flip(x, torch.Generator().manual_seed(0))[:, 0, 8].diff()[:, 6:9] > 99).all(1)
    assert 70 < int(falling.sum()) < 130


@pytest.mark.slow
def test_digits_in_seconds() -> None:
    done = models.train("digits", data.load("digits:train"), data.load("digits"), epochs=20, batch=64, lr=0.1)
    last = done.history[-1]
    assert last.test is not None
    assert last.test >= 0.97
