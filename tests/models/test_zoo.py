"""The reference networks: sizes, names, and that hooks can see every activation."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from nnfuzz import models
from nnfuzz.errors import NnfuzzError
from nnfuzz.models.resnet import Add, Shortcut


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("lenet1", 7_206), ("lenet4", 69_362), ("lenet5", 107_786), ("lenet5-valid", 44_426), ("resnet20", 269_722)],
)
def test_sizes_are_the_published_ones(name: str, parameters: int) -> None:
    assert sum(p.numel() for p in models.build(name).net.parameters()) == parameters


@pytest.mark.parametrize("name", models.ZOO)
def test_logits_for_every_input_shape(name: str) -> None:
    own = models.build(name)
    other = models.build(name, (3, 40, 36), classes=7)
    assert own.shape
    with torch.no_grad():
        assert own.net(torch.rand(2, *own.shape)).shape == (2, 10)
        out = other.net(torch.rand(2, 3, 40, 36))
    assert out.shape == (2, 7)
    assert (out < 0).any()
    assert not own.net.training


@pytest.mark.parametrize("name", models.ZOO)
def test_every_layer_runs_once(name: str) -> None:
    model = models.build(name)
    assert model.shape
    calls: dict[nn.Module, int] = {}
    leaves = [m for m in model.net.modules() if not list(m.children())]
    for leaf in leaves:
        leaf.register_forward_hook(lambda m, _i, _o: calls.update({m: calls.get(m, 0) + 1}))
    with torch.no_grad():
        model.net(torch.rand(1, *model.shape))
    assert [calls.get(leaf) for leaf in leaves] == [1] * len(leaves)
    added = {"resnet20": 9, "referee-residual": 4, "referee-mixer": 8}
    assert sum(isinstance(m, Add) for m in leaves) == added.get(name, 0)
    assert not any(getattr(m, "inplace", False) for m in leaves)


def test_vgg16_has_thirteen_convolutions_with_batch_norm() -> None:
    leaves = list(models.build("vgg16").net.modules())
    assert sum(isinstance(m, nn.Conv2d) for m in leaves) == 13
    assert sum(isinstance(m, nn.BatchNorm2d) for m in leaves) == 13


def test_the_shortcut_subsamples_and_pads_on_both_sides() -> None:
    x = torch.rand(2, 16, 8, 8)
    out = Shortcut(16)(x)
    assert out.shape == (2, 32, 4, 4)
    assert (out[:, 8:24] == x[:, :, ::2, ::2]).all()
    assert not out[:, :8].any()
    assert not out[:, 24:].any()


def test_the_seed_decides_and_the_global_generator_is_left_alone() -> None:
    before = torch.get_rng_state()
    digests = [models.digest(models.build("digits", seed=seed).net) for seed in (0, 0, 1)]
    assert digests[0] == digests[1] != digests[2]
    assert (torch.get_rng_state() == before).all()


def test_grey_images_get_one_mean() -> None:
    model = models.build("resnet20", (1, 32, 32))
    assert len(model.mean) == len(model.std) == 1


def test_unknown_names_and_small_images() -> None:
    with pytest.raises(NnfuzzError, match="lenet1, lenet4"):
        models.build("lenet6")
    with pytest.raises(NnfuzzError, match=r"at least 1x32x32 .* and came 1x28x28"):
        models.build("vgg16", (1, 28, 28))


def test_the_digest_sees_weights_names_and_layers() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    before = models.digest(net)
    assert models.digest(nn.Sequential(net[0], nn.ReLU6())) != before
    assert models.digest(nn.Sequential(net[0], nn.ReLU())) == before
    net[0].weight.data[0, 0] += 1e-6
    assert models.digest(net) != before


def test_the_digest_takes_half_and_empty_and_hidden_addresses() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.tensor(3))
            self.register_buffer("short", torch.ones(2, dtype=torch.bfloat16))
            self.register_buffer("none", torch.empty(0))

        def extra_repr(self) -> str:
            return repr(object())

    assert models.digest(Odd()) == models.digest(Odd())
