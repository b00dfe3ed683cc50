"""Gradient ascent against what the papers say, and row by row."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from nnfuzz.coverage import Times
from nnfuzz.errors import NnfuzzError
from nnfuzz.mutators import PROCESSES, Apart, Ascent, Neurons, NextLabels, check_gradients
from nnfuzz.mutators.gradient import uphill, walks
from nnfuzz.mutators.objectives import Aim, Objective
from nnfuzz.records import Batch, Model
from nnfuzz.target import Target
from tests.conftest import generator


class Other(nn.Module):
    """Another network for the same task; its last layer is all that is easy to follow by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.fc = nn.Conv2d(1, 5, 3), nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.conv(x).relu().mean((2, 3)))


@pytest.fixture
def pair(tiny: Model) -> list[Model]:
    with torch.random.fork_rng():
        torch.manual_seed(3)
        other = Other()
        for p in tiny.net.bn2.parameters():  # a normalisation that does something, to be folded into the convolution
            p.data.uniform_(0.5, 1.5)
        tiny.net.bn2.running_mean.uniform_(-0.1, 0.1)
        tiny.net.bn2.running_var.uniform_(0.5, 2)
    return [Model(tiny.net, "tiny", (0.4,), (0.3,)), Model(other, "other")]


def picking(target: Target, strategies: tuple[str, ...], m: int, groups: int = 1) -> Neurons:
    times = torch.arange(target.neurons) % 4
    return Neurons(strategies, m, 0.5, times, target.weights(), target.spans[:groups])


def opened(models: list[Model] | Model, images: Tensor) -> Target:
    read = range(1 if isinstance(models, Model) else len(models))
    return Target(models, images, dtype=torch.float64, features=("scaled",), read=read)


def test_equation_1_and_its_gradient(pair: list[Model], images: Tensor) -> None:
    """Against ten lines on the plain network: no target, no hooks, normalisation not folded."""
    target, net = opened(pair[0], images), pair[0].net.double().eval()
    x = images[:6].double().requires_grad_()
    aim = Aim(torch.tensor([[0, 1, 2], [1, 2, 0], [2, 0, 1]] * 2), torch.zeros(6, target.neurons, dtype=torch.float64))
    aim.push[:, [1, 9]] = 1.0  # a channel of conv1, one of conv2
    aim.push[:, 12] = -1.0
    objective = NextLabels(picking(target, ("often",), 1), weight=0.7)

    conv1 = net.relu1(net.conv1((x / 255 - 0.4) / 0.3))
    conv2 = net.relu2(net.bn2(net.conv2(net.pool(conv1))))
    logits = net.fc(net.flat(conv2))
    own, first, second = (logits[range(6), aim.classes[:, i]] for i in range(3))
    pushed = conv1[:, 1].mean((1, 2)) + conv2[:, 1].mean((1, 2)) - conv2[:, 4].mean((1, 2))
    value = first + second - own + 0.7 * pushed
    (gradient,) = torch.autograd.grad(value.sum(), x)

    pixels = images[:6].double().requires_grad_()
    ours = objective(aim, target(pixels, grad=True))
    assert torch.allclose(ours, value, rtol=1e-9)
    assert torch.allclose(uphill(ours, pixels), 255 * gradient, rtol=1e-7, atol=1e-10)


def test_on_probabilities(tiny: Model, images: Tensor) -> None:
    target = opened(tiny, images)
    seen = target(images[:5])
    objective = NextLabels(picking(target, ("often",), 1), k=2, weight=0.0, probabilities=True)
    aim = objective.aim(seen, torch.rand(5, target.neurons, dtype=torch.float64, generator=generator(0)))
    p = seen.logits[0].softmax(1)
    assert torch.allclose(objective(aim, seen), 1 - 2 * p.max(1).values)
    assert (aim.classes[:, 0] == seen.answer).all()


def test_deepxplores_objective(pair: list[Model], images: Tensor) -> None:
    target = opened(pair, images)
    seen = target(images[:5])
    neurons = picking(target, ("uncovered",), 1, 2)
    objective = Apart(neurons, lambda1=2.0, lambda2=0.5, against=1)
    aim = objective.aim(seen, torch.rand(5, target.neurons, dtype=torch.float64, generator=generator(0)))
    c = seen.answer
    first, second = (seen.logits[i, range(5), c] for i in range(2))
    picked = (seen.neurons * aim.push).sum(1)
    assert torch.allclose(objective(aim, seen), first - 2 * second + 0.5 * picked)
    for span in target.spans:
        assert (aim.push[:, span] == 1).sum(1).tolist() == [1] * 5, "one neuron of each model"
    assert (objective.reached(aim, seen) == (seen.logits[0].argmax(1) != seen.logits[1].argmax(1))).all()


def objectives(target: Target, recipe: str) -> Objective:
    if recipe == "dlfuzz":
        return NextLabels(picking(target, ("often", "near"), 4), k=2)
    return Apart(picking(target, ("uncovered",), 1, 2))


@pytest.mark.parametrize("process", PROCESSES)
@pytest.mark.parametrize("recipe", ["dlfuzz", "deepxplore"])
def test_twenty_together_are_twenty_of_one(recipe: str, process: str, pair: list[Model], images: Tensor) -> None:
    """The table of coverage stands still, and the random numbers come in the order of the rows."""
    target = opened(pair if recipe == "deepxplore" else pair[0], images)
    climb = Ascent(target, objectives(target, recipe), process, size=40.0, steps=3, stop=process != "sign", at_once=7)
    ids = torch.arange(20).repeat_interleave(3)
    seeds = Batch.of_seeds(images[:20])[ids]
    parents = Batch(seeds.x, seeds.label, seeds.seed, ids)
    together, rng = climb(parents, generator(0)), generator(0)
    alone = [climb(parents[slice(3 * i, 3 * i + 3)], rng).x for i in range(20)]
    assert torch.equal(torch.cat(alone), together.x)
    assert (together.x != parents.x).flatten(1).any(1).double().mean() > 0.2


def test_a_walk_goes_on_unrounded_and_ends_when_the_answer_changes(tiny: Model, images: Tensor) -> None:
    target = opened(tiny, images)
    ids = torch.arange(64).repeat_interleave(12)
    parents = Batch.of_seeds(images)[ids]
    parents = Batch(parents.x, parents.label, parents.seed, ids)
    climb = Ascent(target, NextLabels(picking(target, ("often",), 2), k=2), size=0.3, steps=12)
    children = climb(parents, generator(0))
    far = (children.x.int() - parents.x.int()).abs().flatten(1).amax(1).view(64, 12)
    assert far.max() >= 2, "steps far below a grey level add up"
    changed = (target(children.x).answer != target(parents.x).answer).view(64, 12)
    same = (children.x == parents.x).flatten(1).all(1).view(64, 12)
    ended = changed.any(1).nonzero().flatten().tolist()
    assert len(ended) > 3
    for row in ended:
        first = int(changed[row].long().argmax())
        assert same[row, first + 1 :].all(), "what would come after is the parent over again"
    going_on = Ascent(target, climb.objective, size=0.3, steps=12, stop=False)(parents, generator(0))
    assert (going_on.x != parents.x).flatten(1).any(1).view(64, 12)[ended, -1].all()


def test_rows_of_one_parent_are_one_walk() -> None:
    parent = torch.tensor([4, 4, 4, 4, 4, 9, 2, 2, 2, 2])
    batch = Batch(torch.zeros(10, 1, 2, 2), parent, parent, parent)
    walk, number = walks(batch, 3)
    assert walk.tolist() == [0, 0, 0, 1, 1, 2, 3, 3, 3, 4]
    assert number.tolist() == [0, 1, 2, 0, 1, 0, 0, 1, 2, 0]


GRADIENT = torch.linspace(-3, 5, 2 * 3 * 20 * 20).view(2, 3, 20, 20)
HERE = torch.tensor([[0.0, 0.0], [0.999, 0.5]])


def test_root_mean_square_and_sign() -> None:
    assert torch.allclose(PROCESSES["rms"](GRADIENT, HERE, HERE).square().mean((1, 2, 3)), torch.ones(2), atol=1e-4)
    assert torch.equal(PROCESSES["sign"](GRADIENT, HERE, HERE), GRADIENT.sign())
    assert not PROCESSES["rms"](torch.zeros(2, 1, 4, 4), HERE, HERE).any(), "no slope, no step"


def test_light_moves_all_pixels_alike() -> None:
    direction = PROCESSES["light"](GRADIENT, HERE, HERE)
    assert torch.equal(direction, direction[:, :1, :1, :1].expand_as(direction))
    assert torch.equal(direction[:, 0, 0, 0].sign(), GRADIENT.mean((1, 2, 3)).sign())


def test_occlusion_stays_in_its_rectangle() -> None:
    inside = PROCESSES["occlusion"](GRADIENT, HERE, HERE.flip(0)) != 0
    assert inside[0, :, :10, :10].float().mean() > 0.99
    assert inside[0].sum() <= 3 * 100
    assert inside[1, :, 10:, 5:15].float().mean() > 0.99, "the walk's place: at the lower end, in the middle"


def test_photographs_have_larger_squares() -> None:
    large, here = -torch.ones(1, 3, 100, 100), HERE[:1]
    sizes = {name: int((PROCESSES[name](large, here, here) != 0).sum()) for name in ("occlusion", "blackout")}
    assert sizes == {"occlusion": 3 * 50 * 50, "blackout": 3 * 10 * 10}


def test_blackout_only_darkens() -> None:
    direction = PROCESSES["blackout"](GRADIENT, HERE.flip(0), HERE)
    assert set(direction.unique().tolist()) <= {-1.0, 0.0}
    assert (direction[0, :, :6, :6] == -1).all(), "downhill there"
    assert not direction[1].any(), "uphill there"


class Frozen(nn.Module):
    """A network whose answers no gradient leads back from, like one that runs in another library."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            out: Tensor = self.net(x)
            return out


class Elsewhere(Frozen):
    """One that hands its input over as an array, which a tensor with a gradient refuses."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(torch.from_numpy(x.numpy()))


class Cut(Frozen):
    """Its weights have gradients, its input has none."""

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.net(x.detach())
        return out


@pytest.mark.parametrize("kind", [Frozen, Elsewhere, Cut])
def test_a_model_without_gradients_is_told_in_one_sentence(kind: type[Frozen], tiny: Model, images: Tensor) -> None:
    target = Target(Model(kind(tiny.net), "frozen"), images, features=("scaled",))
    with pytest.raises(NnfuzzError, match="dlfuzz follows gradients and expected a model that gives them"):
        check_gradients(target, images[:1], "dlfuzz")
    check_gradients(Target(tiny, images), images[:1], "dlfuzz")


def test_a_model_that_raises_ends_the_walk(tiny: Model, images: Tensor) -> None:
    class Raises(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = tiny.net

        def forward(self, x: Tensor) -> Tensor:
            if x.mean((1, 2, 3)).max() > 0.5:
                raise ValueError("too bright")
            out: Tensor = self.net(x)
            return out

    target = Target(Model(Raises(), "raises"), images[:1] // 4, features=("scaled",))
    climb = Ascent(target, NextLabels(picking(target, ("often",), 1), k=2), size=9.0, steps=1)
    bright = images.flatten(1).float().mean(1) > 127.5
    children = climb(Batch.of_seeds(images), generator(0))
    unmoved = (children.x == images).flatten(1).all(1)
    assert 0 < int(bright.sum()) < 64
    assert torch.equal(unmoved, bright)


RECIPE_TABLE: dict[str, Callable[[Target], Objective]] = {
    "dlfuzz": lambda target: objectives(target, "dlfuzz"),
    "deepxplore": lambda target: objectives(target, "deepxplore"),
}


@pytest.mark.parametrize("recipe", RECIPE_TABLE)
def test_the_table_is_only_looked_at(recipe: str, pair: list[Model], images: Tensor) -> None:
    target = opened(pair, images)
    table = Times(target.neurons)
    table(Batch.of_seeds(images), target(images))
    before = table.times.clone()
    neurons = Neurons(("uncovered",), 1, 0.5, table.times, target.weights(), target.spans)
    objective = Apart(neurons) if recipe == "deepxplore" else NextLabels(neurons)
    Ascent(target, objective)(Batch.of_seeds(images), generator(0))
    assert torch.equal(table.times, before)
