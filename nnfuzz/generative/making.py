"""A GAN for a set of images, with what shows its worth beside it: weights, a sheet of samples, a plot of its scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nnfuzz import data
from nnfuzz.generative.dcgan import Gan, build
from nnfuzz.generative.keeping import kept, load, save
from nnfuzz.generative.proof import apart, groups, judged, plot, sheet
from nnfuzz.generative.training import Progress, enough, forged, train

Say = Callable[[str, str], None]
SECONDS = 180.0


@dataclass(frozen=True, eq=False)
class Made:
    """A trained GAN and what it reached."""

    gan: Gan
    path: Path
    epochs: float
    seconds: float
    told_apart: dict[str, float]  # how often a real image scores above a mutated, a generated, a noise image

    @property
    def pictures(self) -> dict[str, str]:
        return {name: str(self.path.with_name(f"{self.path.stem}-{name}.png")) for name in ("samples", "scores")}


def make(
    images: data.Images, test: data.Images | None = None, *, network: str = "auto", epochs: float | None = None,
    seconds: float | None = SECONDS, seed: int = 0, say: Say = lambda name, text: None,
) -> Made:  # fmt: skip
    """Train one, as long as was asked for, and keep it under the digest of its images."""
    enough(len(images), images.name)
    _, channels, height, width = images.x.shape
    gan = build((channels, height, width), network, seed)
    end = train(gan, images.x, epochs=epochs, seconds=seconds, seed=seed, on_progress=lambda p: say("gan", in_words(p)))
    scores = judged(gan, groups(gan, (test or images).x, seed))
    reached = {name: apart(scores["real"], other) for name, other in scores.items() if name != "real"}
    made = Made(gan, kept(data.digest(images), network), end.epochs, end.seconds, reached)
    about = {"dataset": images.name, "epochs": f"{end.epochs:.2f}", "seconds": f"{end.seconds:.0f}", "seed": seed}
    save(gan, made.path, about)
    sheet(forged(gan, 60, seed)).save(made.pictures["samples"])
    plot(scores, f"discriminator of {images.name}, {end.epochs:.1f} epochs").save(made.pictures["scores"])
    return made


def in_words(p: Progress) -> str:
    return (
        f"epoch {p.epochs:.2f}, {p.seconds:.0f} s, loss of the discriminator {p.critic:.3f}, of the generator "
        f"{p.forger:.3f}, score of real images {p.real:.2f}, of generated ones {p.fake:.2f}"
    )


def once(images: data.Images, *, network: str = "auto", seed: int = 0, say: Say = lambda name, text: None) -> Gan:
    """The GAN that belongs to these images: looked up, else made."""
    path = kept(data.digest(images), network)
    _, channels, height, width = images.x.shape
    if path.is_file():
        gan, about = load(path, (channels, height, width), network)
        say("gan", f"trained for {about.get('epochs', '?')} epochs of {images.name}, from {path}")
        return gan
    say("gan", f"to be trained once for {SECONDS:.0f} s, on {len(images):,} images of {images.name}")
    made = make(images, network=network, seed=seed, say=say)
    say("gan", f"trained for {made.epochs:.2f} epochs, kept in {path}, with {', '.join(made.pictures.values())}")
    return made.gan
