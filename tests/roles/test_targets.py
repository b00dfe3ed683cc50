"""The target: what it probes, what it shows, and how it leaves the model."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from torch import Tensor, nn

from nnfuzz.errors import NnfuzzError
from nnfuzz.records import Model
from nnfuzz.target import Target
from tests.conftest import generator


def names(target: Target) -> list[str]:
    return [str(layer) for layer in target.layers]


def test_a_layer_is_a_map_with_what_directly_follows_it(target: Target) -> None:
    assert names(target) == ["relu1", "pool", "relu2", "fc", "softmax"]
    assert [layer.neurons for layer in target.layers] == [4, 4, 6, 3, 3]


def test_every_layer_counts_each_module(tiny: Model, images: Tensor) -> None:
    every = Target(tiny, images, every_layer=True)
    assert names(every) == ["conv1", "relu1", "pool", "conv2", "bn2", "relu2", "fc", "softmax"]
    x = tiny.net.conv1(images.float() / 255)
    assert torch.allclose(every(images).neurons[:, :4], x.mean((2, 3)), atol=1e-6), "before the in-place ReLU"


def test_neurons_are_spatial_means_and_features_scaled_ones(target: Target, tiny: Model, images: Tensor) -> None:
    net = tiny.net
    with torch.no_grad():
        conv = net.pool(net.relu1(net.conv1(images.float() / 255)))
        conv2 = net.relu2(net.bn2(net.conv2(conv)))
        logits = net.fc(net.flat(conv2))
    seen = target(images)
    assert torch.allclose(seen.logits[0], logits, atol=1e-6)
    assert torch.allclose(seen.neurons[:, 8:14], conv2.mean((2, 3)), atol=1e-6)
    assert torch.allclose(seen.neurons[:, 14:17], logits, atol=1e-6)
    assert torch.allclose(seen.neurons[:, 17:], logits.softmax(1), atol=1e-6)
    low, high = conv2.flatten(1).min(1).values, conv2.flatten(1).max(1).values
    whole = (conv2 - low[:, None, None, None]) / (high - low)[:, None, None, None]
    assert torch.allclose(seen.features["scaled"][:, 8:14], whole.mean((2, 3)), atol=1e-5)


def test_a_constant_layer_is_scaled_to_nothing() -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
    nn.init.zeros_(net[1].weight)
    nn.init.ones_(net[1].bias)
    seen = Target(Model(net, "dead"), torch.zeros(1, 1, 2, 2), features=("scaled",))(torch.zeros(3, 1, 2, 2))
    assert (seen.features["scaled"] == 0).all()


def test_rows_do_not_depend_on_the_batch_in_float64(tiny: Model, images: Tensor) -> None:
    target = Target(tiny, images, dtype=torch.float64, features=("scaled",))
    together = target(images)
    target.batch_size = 1
    alone = target(images)
    assert torch.allclose(together.logits, alone.logits, rtol=1e-12, atol=1e-12)
    assert torch.allclose(together.neurons, alone.neurons, rtol=1e-12, atol=1e-12)
    assert next(tiny.net.parameters()).dtype == torch.float32, "the user's model is not moved, a copy is"


def test_an_empty_batch_has_the_right_shapes(target: Target, images: Tensor) -> None:
    seen = target(images[:0])
    assert seen.logits.shape == (1, 0, 3)
    assert seen.neurons.shape == (0, target.neurons)


def test_the_model_leaves_as_it_came(tiny: Model, images: Tensor) -> None:
    tiny.net.train()
    tiny.net.bn2.eval()
    before = {k: v.clone() for k, v in tiny.net.state_dict().items()}
    with Target(tiny, images, batch_size=16) as target:
        assert torch.equal(target(images).logits, target(images).logits), "run in evaluation mode"
        assert not tiny.net.training
    assert tiny.net.training
    assert not tiny.net.bn2.training
    assert all((v == before[k]).all() for k, v in tiny.net.state_dict().items())
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in tiny.net.modules())


def test_layers_can_be_named_and_excluded(tiny: Model, images: Tensor) -> None:
    assert names(Target(tiny, images, only=["relu*"])) == ["relu1", "relu2"]
    assert names(Target(tiny, images, exclude=["pool", "fc"])) == ["relu1", "relu2", "softmax"]
    assert names(Target(tiny, images, only=["conv*"])) == ["relu1", "relu2"], "by any module that a layer is made of"
    with pytest.raises(NnfuzzError, match="no layer is named like nothing"):
        Target(tiny, images, only=["nothing"])


class Reuser(nn.Module):
    """One activation used twice, and a residual added in place."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(1, 4, 1), nn.Conv2d(4, 4, 1)
        self.relu = nn.ReLU()
        self.head = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.a(x))
        z = self.b(y)
        z += y
        return self.head(self.relu(z).mean((2, 3)))


def test_a_module_called_twice_is_two_layers_and_a_residual_is_its_own() -> None:
    x = torch.randint(0, 256, (5, 1, 3, 3), dtype=torch.uint8)
    net = Reuser()
    target = Target(Model(net, "reuser"), x)
    assert names(target) == ["relu", "b", "relu#2", "head", "softmax"]
    with torch.no_grad():
        y = net.relu(net.a(x / 255))
        b = net.b(y)
    neurons = target(x).neurons
    assert torch.allclose(neurons[:, 4:8], b.mean((2, 3)), atol=1e-6), "read before the sum rewrote it"
    assert torch.allclose(neurons[:, 8:12], (b + y).relu().mean((2, 3)), atol=1e-6)


class Tokens(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.norm, self.head = nn.Linear(8, 5), nn.LayerNorm(5), nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.norm(self.embed(x[:, 0])).mean(1))


def test_in_token_models_the_last_dimension_is_the_neurons(images: Tensor) -> None:
    target = Target(Model(Tokens(), "tokens"), images)
    assert [(layer.name, layer.neurons) for layer in target.layers] == [("norm", 5), ("head", 3), ("softmax", 3)]
    assert target(images).neurons.shape == (64, 11)


def test_normalisation_is_the_targets() -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(3, 2, bias=False))
    model = Model(net, "n", mean=(0.1, 0.2, 0.3), std=(0.5, 0.4, 0.2))
    x = torch.randint(0, 256, (7, 3, 1, 1), dtype=torch.uint8)
    expected = (x.flatten(1) / 255 - torch.tensor(model.mean)) / torch.tensor(model.std) @ net[1].weight.T
    assert torch.allclose(Target(model, x)(x).logits[0], expected, atol=1e-6)


def test_probabilities_become_logits(images: Tensor) -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 3), nn.Softmax(1))
    target = Target(Model(net, "p", output="probabilities"), images)
    seen = target(images)
    assert torch.allclose(seen.logits[0].exp().sum(1), torch.ones(64), atol=1e-5)
    assert names(target)[-1] == "2", "its own softmax is the last layer, none is added"


def test_several_models_in_one_row_each(tiny: Model, images: Tensor) -> None:
    other = Model(nn.Sequential(nn.Flatten(), nn.Linear(64, 3)), "other")
    seen = Target([tiny, other], images)(images)
    assert seen.logits.shape == (2, 64, 3)
    assert torch.allclose(seen.logits[1], other.net(images / 255), atol=1e-6)


def test_the_neurons_of_several_models_side_by_side(tiny: Model, images: Tensor) -> None:
    other = Model(nn.Sequential(nn.Conv2d(1, 5, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 3)), "other")
    both = Target([tiny, other], images, read=(0, 1), features=("scaled",))
    seen = both(images[:9])
    first, second = (Target(m, images, features=("scaled",)) for m in (tiny, other))
    assert both.spans == (slice(0, first.neurons), slice(first.neurons, first.neurons + second.neurons))
    for span, alone in zip(both.spans, (first, second), strict=True):
        assert torch.allclose(seen.neurons[:, span], alone(images[:9]).neurons, atol=1e-6)
        assert torch.allclose(seen.features["scaled"][:, span], alone(images[:9]).features["scaled"], atol=1e-6)
        assert torch.equal(both.weights()[span].nan_to_num(7), alone.weights().nan_to_num(7))
    assert names(both)[len(first.layers) :] == [f"other:{name}" for name in names(second)]
    assert both.penultimate == first.penultimate
    assert both.neurons == first.neurons + second.neurons
    assert Target([tiny, other], images).neurons == first.neurons, "only if they are asked for"


def test_the_mean_weight_of_what_comes_in(tiny: Model, images: Tensor) -> None:
    weights = Target(tiny, images).weights()
    assert torch.allclose(weights[:4], tiny.net.conv1.weight.mean((1, 2, 3)))
    assert weights[4:8].isnan().all(), "a pooling weighs nothing"
    norm = tiny.net.bn2.weight / (tiny.net.bn2.running_var + tiny.net.bn2.eps).sqrt()
    assert torch.allclose(weights[8:14], tiny.net.conv2.weight.mean((1, 2, 3)) * norm, rtol=1e-4), "as it is run"
    assert torch.allclose(weights[14:17], tiny.net.fc.weight.mean(1))
    assert weights[17:].isnan().all()


def test_a_gradient_does_not_wake_what_hangs(tiny: Model, images: Tensor) -> None:
    target, guarded = Target(tiny, images), []
    target.guard = lambda x: guarded.append(x) or nullcontext()  # type: ignore[func-returns-value]
    target.refused = lambda x: (x == images[2]).flatten(1).all(1)
    x = images[:4].float().requires_grad_()
    seen = target(x, grad=True)
    assert seen.raised.tolist() == [0, 0, -1, 0]
    (slope,) = torch.autograd.grad(seen.logits[0, [0, 1, 3]].sum(), x)
    assert slope.flatten(1).any(1).tolist() == [True, True, False, True]
    assert all(batch.dtype == torch.uint8 for batch in guarded), "a watchdog stores pixels"


def test_gradients_reach_the_input(tiny: Model, images: Tensor) -> None:
    x = images[:4].float().requires_grad_()
    seen = Target(tiny, images)(x, grad=True)
    seen.neurons.sum().backward()
    assert x.grad is not None
    assert x.grad.abs().sum() > 0
    assert not Target(tiny, images)(images).neurons.requires_grad


class Greedy(nn.Module):
    """Refuses more than 5 rows, as a full device does."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(64, 3)

    def forward(self, x: Tensor) -> Tensor:
        if len(x) > 5:
            raise torch.cuda.OutOfMemoryError("out of memory")
        return self.fc(x.flatten(1))


def test_out_of_memory_halves_the_batch_and_remembers(images: Tensor) -> None:
    model = Model(Greedy(), "greedy")
    target = Target(model, images, batch_size=64)
    seen = target(images)
    assert torch.allclose(seen.logits[0], model.net.fc(images.flatten(1) / 255), atol=1e-6)
    assert target.batch_size == 4


class Raises(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        raise KeyError("weights")


@pytest.mark.parametrize(
    ("models", "says"),
    [
        ([Raises()], "model m raised KeyError"),
        ([nn.Conv2d(1, 2, 3)], "one row of class scores per image"),
        ([nn.Conv2d(3, 2, 3)], "raised RuntimeError"),
        ([nn.Sequential(nn.Flatten(), nn.Linear(64, k)) for k in (2, 3)], "must agree"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_sentence(models: list[nn.Module], says: str, images: Tensor) -> None:
    with pytest.raises(NnfuzzError, match=says):
        Target([Model(net, "m") for net in models], images)


class Viewer(nn.Module):
    """`view` on the maps of a convolution fails when these lie channels-last."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.fc = nn.Conv2d(2, 3, 3, padding=1), nn.Linear(48, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.conv(x).view(len(x), -1))


def test_a_network_that_needs_its_layout_keeps_it() -> None:
    x = torch.randint(0, 256, (5, 2, 4, 4), dtype=torch.uint8)
    net = Viewer()
    seen = Target(Model(net, "viewer"), x)(x)
    assert torch.allclose(seen.logits[0], net(x / 255), atol=1e-6)
    strides = nn.Conv2d(2, 3, 3).weight.stride()
    Target(Model(nn.Sequential(net.conv, nn.Flatten(), net.fc), "flat"), x)
    assert net.conv.weight.stride() == strides, "the user's own weights stay as they lie"


class Normalised(nn.Module):
    """Normalisations that can be folded (one ends a layer, one goes on to an activation), and one used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c, self.d = (nn.Conv2d(2, 2, 3, padding=1) for _ in range(4))
        self.ends, self.goes_on, self.twice = (nn.BatchNorm2d(2) for _ in range(3))
        self.relu, self.fc = nn.ReLU(), nn.Linear(2, 3)
        for norm in (self.ends, self.goes_on, self.twice):
            norm.running_mean.uniform_(-1, 1, generator=generator(1))
            norm.running_var.uniform_(0.1, 2, generator=generator(2))

    def forward(self, x: Tensor) -> Tensor:
        y = self.ends(self.a(x))
        y = self.relu(self.goes_on(self.b(y))) + y
        y = self.twice(self.c(y)) + self.twice(self.d(y))
        return self.fc(y.mean((2, 3)))


@pytest.mark.parametrize(("every", "left"), [(False, 1), (True, 3)])
def test_folded_normalisations_change_no_neuron(every: bool, left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.randint(0, 256, (6, 2, 5, 5), dtype=torch.uint8, generator=generator(0))
    net = Normalised().train()
    folded = Target(Model(net, "normalised"), x, dtype=torch.float64, every_layer=every)
    monkeypatch.setattr("nnfuzz.target.swift", lambda net, x, chains: net)
    plain = Target(Model(net, "normalised"), x, dtype=torch.float64, every_layer=every)
    assert names(folded) == names(plain)
    assert every or names(folded) == ["ends", "relu", "twice", "twice#2", "fc", "softmax"]
    assert sum(type(m) is nn.BatchNorm2d for m in folded._nets[0].modules()) == left, "one used twice has to stay"
    assert torch.allclose(folded(x).neurons, plain(x).neurons, atol=1e-12)
    assert torch.allclose(folded(x).logits, plain(x).logits, atol=1e-12)
    assert type(net.ends) is nn.BatchNorm2d, "the user's own network stays as it is"
