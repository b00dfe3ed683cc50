"""Two networks against each other: how a GAN is trained, the same under the same seed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from nnfuzz.errors import NnfuzzError
from nnfuzz.generative.dcgan import Gan
from nnfuzz.layout import quick

FEWEST = 500  # images, below which a discriminator learns them by heart
BATCH = 128


@dataclass(frozen=True)
class Progress:
    """Where a training stands, over the batches since the last report."""

    epochs: float
    seconds: float
    critic: float  # the discriminator's loss; ln 2 = it guesses
    forger: float  # the generator's
    real: float  # mean logit of real images
    fake: float


@dataclass
class _Clock:
    """Until so many epochs or seconds, whichever comes first."""

    batches: int  # of an epoch
    epochs: float | None
    seconds: float | None
    every: float
    taken: int = 0
    begun: float = field(default_factory=time.monotonic)
    told: float = 0.0

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.begun

    @property
    def over(self) -> bool:
        late = self.seconds is not None and self.elapsed >= self.seconds
        done = self.epochs is not None and self.taken >= self.epochs * self.batches
        return self.taken > 0 and (late or done)

    @property
    def due(self) -> bool:
        if not self.over and self.elapsed - self.told < self.every:
            return False
        self.told = self.elapsed
        return True


def to_range(x: Tensor) -> Tensor:
    """uint8 to [-1, 1]: real images, forged ones and queries all live there."""
    return x.float() / 127.5 - 1


def enough(count: int, name: str) -> None:
    if count < FEWEST:
        raise NnfuzzError(
            f"{name}: expected at least {FEWEST} images to train a discriminator and came {count}; take another "
            "fidelity (label, consistent, ssim), or name training data that has more"
        )


def train(
    gan: Gan, x: Tensor, *, epochs: float | None = None, seconds: float | None = None, seed: int = 0,
    every: float = 10.0, on_progress: Callable[[Progress], None] | None = None,
) -> Progress:  # fmt: skip
    """Train the pair in place on uint8 images; say how it goes every so many seconds; return where it ended."""
    rng = torch.Generator().manual_seed(seed)
    nets = (gan.discriminator, gan.generator)
    updates = [gan.optimizer(net.parameters()) for net in nets]
    clock = _Clock(-(-len(x) // BATCH), epochs, seconds, every)
    sums, last = torch.zeros(4, dtype=torch.float64), 0
    # Dropout can only draw from the global generator, which is put back afterwards. Casts are not cached: weights move.
    with (
        torch.random.fork_rng(devices=[]), _training(*nets),
        torch.autocast("cpu", torch.bfloat16, enabled=quick("cpu") == torch.bfloat16, cache_enabled=False),
    ):  # fmt: skip
        torch.default_generator.manual_seed(seed)
        while True:
            for rows in torch.split(torch.randperm(len(x), generator=rng), BATCH):
                sums += _step(gan, updates, to_range(x[rows]), rng)
                clock.taken += 1
                if not clock.due:
                    continue
                progress = Progress(clock.taken / clock.batches, clock.elapsed, *(sums / (clock.taken - last)).tolist())
                sums, last = torch.zeros_like(sums), clock.taken
                if on_progress:
                    on_progress(progress)
                if clock.over:
                    return progress


def _step(gan: Gan, updates: list[torch.optim.Optimizer], real: Tensor, rng: Generator) -> Tensor:
    """One update of each; [4] both losses, and the mean logit of real and of forged images."""
    fake = gan.generator(_noise(gan, len(real), rng)).float()
    logits = gan.discriminator(torch.cat([real, fake.detach()])).float()[:, 0]
    truth = (torch.arange(len(logits)) < len(real)).float()
    critic = F.binary_cross_entropy_with_logits(logits, truth)
    _update(updates[0], critic, gan.discriminator, gan.clip)
    with _frozen(gan.discriminator):
        fooled = gan.discriminator(gan.generator(_noise(gan, len(real), rng))).float()
        forger = F.binary_cross_entropy_with_logits(fooled, torch.ones_like(fooled))
        _update(updates[1], forger, gan.generator, gan.clip)
    return torch.stack([critic, forger, logits[: len(real)].mean(), logits[len(real) :].mean()]).detach().double()


def _noise(gan: Gan, rows: int, rng: Generator) -> Tensor:
    return torch.rand(rows, gan.noise, generator=rng) * 2 - 1


def _update(optimizer: torch.optim.Optimizer, loss: Tensor, net: nn.Module, clip: float | None) -> None:
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    if clip is not None:
        nn.utils.clip_grad_value_(net.parameters(), clip)
    optimizer.step()


@contextmanager
def _frozen(net: nn.Module) -> Iterator[None]:
    """Neither weights nor running means move: the generator's step must not teach it that forgeries are real."""
    net.requires_grad_(False).eval()
    try:
        yield
    finally:
        net.requires_grad_(True).train()


@contextmanager
def _training(*nets: nn.Module) -> Iterator[None]:
    for net in nets:
        net.to(memory_format=torch.channels_last).train()  # type: ignore[call-overload]
    try:
        yield
    finally:
        for net in nets:
            net.eval()


def forged(gan: Gan, count: int, seed: int = 0) -> Tensor:
    """Images of the generator's, uint8."""
    noise = _noise(gan, count, torch.Generator().manual_seed(seed))
    with torch.inference_mode():
        made: Tensor = gan.generator.eval()(noise)
    return ((made + 1) * 127.5).round().clamp(0, 255).to(torch.uint8)
