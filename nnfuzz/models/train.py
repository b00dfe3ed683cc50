"""A plain training loop, the same under the same seed, that leaves the global generator alone."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from nnfuzz.errors import NnfuzzError
from nnfuzz.models.zoo import build
from nnfuzz.records import Model

Schedule = Callable[[float], float]  # how far the training is, 0 to 1 -> share of the learning rate
Augment = Callable[[Tensor, Generator], Tensor]


class Labelled(Protocol):
    """What is needed of a set of images."""

    @property
    def x(self) -> Tensor: ...  # uint8 [N,C,H,W]
    @property
    def label(self) -> Tensor: ...  # [N]
    @property
    def classes(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Epoch:
    number: int  # from 1
    loss: float
    accuracy: float  # on the training images as they were seen, so augmented and while learning
    test: float | None  # None = no test images were given
    seconds: float  # since the training began


@dataclass(frozen=True, eq=False)
class Trained:
    model: Model
    history: tuple[Epoch, ...]
    stages: Mapping[int, dict[str, Tensor]] = field(default_factory=dict)  # epoch -> the weights after it


def one_cycle(done: float) -> float:
    """Up for the first quarter, then down to nothing along a cosine (Smith and Topin, 2018)."""
    return 0.04 + 3.84 * done if done < 0.25 else 0.5 + 0.5 * math.cos(math.pi * (done - 0.25) / 0.75)


def three_stages(done: float) -> float:
    """Larger at first, smaller later: a tenth after half of the way, a hundredth after three quarters."""
    return 1.0 if done < 0.5 else 0.1 if done < 0.75 else 0.01


def train(
    net: str | Model | nn.Module,
    images: Labelled,
    test: Labelled | None = None,
    *,
    epochs: int,
    seconds: float | None = None,
    batch: int = 128,
    lr: float = 0.05,
    seed: int = 0,
    optimizer: str = "sgd",
    weight_decay: float = 5e-4,
    schedule: Schedule = one_cycle,
    augment: Augment | None = None,
    stages: tuple[int, ...] = (),
    on_epoch: Callable[[Epoch], None] | None = None,
) -> Trained:
    """Train a network (by name, or one's own, in place) where it lies, for so many epochs or seconds."""
    model = _model(net, images, seed)
    update = _optimizer(optimizer, model.net, lr, weight_decay)
    clock = _Clock(epochs * -(-len(images.label) // batch), seconds)
    rng = torch.Generator().manual_seed(seed)
    history: list[Epoch] = []
    saved: dict[int, dict[str, Tensor]] = {}
    with _own_chance(seed, _device(model.net)), _mode(model.net, True):
        while len(history) < epochs and not clock.over:
            loss = right = rows = 0.0
            for x, label in _batches(images, batch, rng, augment):
                for group in update.param_groups:
                    group["lr"] = lr * schedule(clock.done)
                total, hits = _step(model, update, x, label)
                loss, right, rows = loss + total, right + hits, rows + len(label)
                clock.taken += 1
                if clock.over:
                    break
            tested = None if test is None else accuracy(model, test)
            history.append(Epoch(len(history) + 1, loss / rows, right / rows, tested, clock.elapsed))
            _report(history[-1], model, stages, saved, on_epoch)
    return Trained(model, tuple(history), saved)


def accuracy(model: Model, images: Labelled, batch: int = 500) -> float:
    """The share of images whose label is the model's first answer."""
    right = 0
    with _mode(model.net, False), torch.no_grad():
        for x, label in zip(torch.split(images.x, batch), torch.split(images.label, batch), strict=True):
            right += int((_forward(model, x).argmax(1).cpu() == label).sum())
    return right / max(1, len(images.label))


@dataclass
class _Clock:
    """How far the training is, by steps or by time, whichever is further."""

    steps: int
    seconds: float | None
    taken: int = 0
    begun: float = field(default_factory=time.monotonic)

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.begun

    @property
    def done(self) -> float:
        by_time = self.elapsed / self.seconds if self.seconds else 0.0
        return min(1.0, max(self.taken / self.steps, by_time))

    @property
    def over(self) -> bool:
        return self.taken > 0 and self.done >= 1


def _model(net: str | Model | nn.Module, images: Labelled, seed: int) -> Model:
    if not len(images.label) or bool((images.label < 0).any()):
        raise NnfuzzError("expected a label for every training image and came some without; leave those out")
    if isinstance(net, str):
        _, channels, height, width = images.x.shape
        return build(net, (channels, height, width), len(images.classes), seed=seed)
    return net if isinstance(net, Model) else Model(net, type(net).__name__)


def _optimizer(name: str, net: nn.Module, lr: float, weight_decay: float) -> torch.optim.Optimizer:
    if name == "sgd":
        return torch.optim.SGD(net.parameters(), lr, momentum=0.9, nesterov=True, weight_decay=weight_decay)
    if name == "adamw":
        return torch.optim.AdamW(net.parameters(), lr, weight_decay=weight_decay)
    raise NnfuzzError(f"expected the optimizer sgd or adamw and came {name!r}; give one of the two")


def _batches(images: Labelled, batch: int, rng: Generator, augment: Augment | None) -> Iterator[tuple[Tensor, Tensor]]:
    for rows in torch.split(torch.randperm(len(images.label), generator=rng), batch):
        x = images.x[rows]
        yield augment(x, rng) if augment else x, images.label[rows]


def _step(model: Model, update: torch.optim.Optimizer, x: Tensor, label: Tensor) -> tuple[float, int]:
    """One update: the batch's summed loss, and how many it had right before."""
    out = _forward(model, x)
    label = label.to(out.device)
    if int(label.max()) >= out.shape[1]:
        raise NnfuzzError(
            f"{model.name}: expected labels below {out.shape[1]}, the number of its answers, and came "
            f"{int(label.max())}; take a network with more answers"
        )
    logs = out.clamp_min(1e-12).log() if model.output == "probabilities" else F.log_softmax(out, 1)
    loss = F.nll_loss(logs, label)
    update.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    update.step()
    return float(loss.detach()) * len(label), int((out.argmax(1) == label).sum())


def _forward(model: Model, x: Tensor) -> Tensor:
    device = _device(model.net)
    mean, std = (torch.tensor(v, device=device).view(-1, 1, 1) for v in (model.mean, model.std))
    out: Tensor = model.net((x.to(device).float() / 255 - mean) / std)
    return out


def _report(
    epoch: Epoch,
    model: Model,
    stages: tuple[int, ...],
    saved: dict[int, dict[str, Tensor]],
    on_epoch: Callable[[Epoch], None] | None,
) -> None:
    if not math.isfinite(epoch.loss):
        raise NnfuzzError(
            f"{model.name}: expected the loss to fall and it is {epoch.loss} after epoch {epoch.number}; give a "
            "smaller learning rate"
        )
    if epoch.number in stages:
        saved[epoch.number] = {k: v.detach().cpu().clone() for k, v in model.net.state_dict().items()}
    if on_epoch:
        on_epoch(epoch)


def _device(net: nn.Module) -> torch.device:
    return next((p.device for p in net.parameters()), torch.device("cpu"))


@contextmanager
def _mode(net: nn.Module, training: bool) -> Iterator[None]:
    before = net.training
    net.train(training)
    try:
        yield
    finally:
        net.train(before)


@contextmanager
def _own_chance(seed: int, device: torch.device) -> Iterator[None]:
    """Dropout can only draw from the global generators: they are seeded for it and put back."""
    cuda = device.type == "cuda"
    with torch.random.fork_rng(devices=[device] if cuda else []):
        torch.default_generator.manual_seed(seed)
        if cuda:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        yield
