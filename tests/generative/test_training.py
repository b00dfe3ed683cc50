"""Training a GAN: who moves when, in which range, for how long; and what it is worth afterwards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from PIL import Image
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

from nnfuzz import data, generative, models
from nnfuzz.errors import NnfuzzError
from nnfuzz.generative.dcgan import Gan
from nnfuzz.generative.training import _frozen, to_range
from tests.conftest import generator

SHAPE = (1, 8, 8)


@pytest.fixture
def blobs() -> data.Images:
    coarse = torch.rand(512, 1, 3, 3, generator=generator(1))
    x = (nn.functional.interpolate(coarse, size=(8, 8), mode="bilinear") * 255).to(torch.uint8)
    return data.Images(x, torch.full((512,), -1), (), "blobs")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NNFUZZ_DATA", str(tmp_path))
    return tmp_path


def small(seed: int = 0) -> Gan:
    return generative.build(SHAPE, seed=seed)


def test_both_learn_and_the_same_seed_gives_the_same(blobs: data.Images) -> None:
    state = torch.get_rng_state()

    def trained(seed: int) -> tuple[str, str]:
        gan = small()
        generative.train(gan, blobs.x, epochs=1, seed=seed)
        assert not gan.discriminator.training
        return models.digest(gan.discriminator), models.digest(gan.generator)

    first = trained(0)
    assert first == trained(0)
    assert all(one != other for one, other in zip(first, trained(1), strict=True))
    assert (torch.get_rng_state() == state).all()


def test_frozen_means_neither_weights_nor_running_means() -> None:
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Dropout())
    net.train()
    before, x = models.digest(net), torch.rand(4, 1, 8, 8, requires_grad=True)
    with _frozen(net):
        net(x).sum().backward()
    assert models.digest(net) == before
    assert all(p.grad is None and p.requires_grad for p in net.parameters())
    assert x.grad is not None
    assert net.training


def test_real_images_and_queries_have_one_range(blobs: data.Images) -> None:
    ends = torch.tensor([0, 255, 51], dtype=torch.uint8)
    assert to_range(ends).tolist() == pytest.approx([-1, 1, -0.6])
    gan = small()
    with torch.no_grad():
        wanted = gan.discriminator.eval()(to_range(blobs.x[:20]))[:, 0]
    scores = generative.judged(gan, {"real": blobs.x[:20]})["real"]
    assert torch.allclose(scores.float(), wanted, atol=0.02)
    forged = generative.forged(gan, 9)
    assert forged.dtype == torch.uint8
    assert forged.shape == (9, *SHAPE)
    assert (forged == generative.forged(gan, 9)).all()


def test_it_stops_when_told_to(blobs: data.Images) -> None:
    told: list[generative.Progress] = []
    end = generative.train(small(), blobs.x, epochs=2.5, every=0, on_progress=told.append)
    assert end.epochs == 2.5
    assert len(told) == 10, "four batches an epoch"
    assert told[-1] == end
    assert all(p.critic > 0 and p.forger > 0 for p in told)
    assert generative.train(small(), blobs.x, seconds=1e-9).epochs == 0.25
    assert generative.train(small(), blobs.x, epochs=0).epochs == 0.25, "at least one step"


def test_how_well_scores_tell_apart() -> None:
    rng = generator(0)
    real, other = torch.randint(0, 20, (90,), generator=rng), torch.randint(0, 15, (70,), generator=rng)
    truth = [1] * 90 + [0] * 70
    assert generative.apart(real, other) == pytest.approx(roc_auc_score(truth, torch.cat([real, other])))


def test_one_that_takes_noise_for_real_is_refused() -> None:
    real, noise = torch.linspace(0, 1, 100), torch.linspace(-0.2, 0.9, 100)
    with pytest.raises(NnfuzzError, match=r"above noise at least 90% of the time and mine does \d\d\.\d%; .*label"):
        generative.check({"real": real, "noise": noise}, "mine")
    assert generative.check({"real": real + 2, "noise": noise}, "mine") == 1
    with pytest.raises(NnfuzzError, match=r"does 0\.0%"):
        generative.check({"real": real * torch.nan, "noise": noise}, "mine")


def test_a_gan_is_kept_with_its_pictures(blobs: data.Images, home: Path) -> None:
    said: list[tuple[str, str]] = []
    made = generative.make(blobs, epochs=1, seconds=None, say=lambda *line: said.append(line))
    assert made.path.parent == home / "gans"
    assert set(made.told_apart) == {"mutated", "generated", "noise"}
    assert "epoch 1.00" in said[-1][1]
    for file in made.pictures.values():
        assert Image.open(file).convert("L").getextrema() != (255, 255)
    again = generative.once(blobs, say=lambda *line: said.append(line))
    assert models.digest(again.discriminator) == models.digest(made.gan.discriminator)
    assert "trained for 1.00 epochs" in said[-1][1]
    with pytest.raises(NnfuzzError, match="of the kind grey and came 'growing'"):
        generative.load(made.path, (1, 28, 28))


def test_too_few_images(blobs: data.Images, home: Path) -> None:
    with pytest.raises(NnfuzzError, match=r"at least 500 images to train a discriminator and came 40; take another"):
        generative.make(replace(blobs, x=blobs.x[:40], label=blobs.label[:40]))
    assert not (home / "gans").exists()


@pytest.mark.slow
def test_a_discriminator_learns_what_is_real(blobs: data.Images) -> None:
    gan = small()
    generative.train(gan, blobs.x, epochs=60)
    scores: dict[str, Tensor] = generative.judged(gan, generative.groups(gan, blobs.x))
    assert generative.check(scores, "trained") > 0.95
