"""A trained GAN in a file: under the digest of the images that it learned from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from torch import nn

from nnfuzz.errors import NnfuzzError
from nnfuzz.generative.dcgan import Gan, Shape, build
from nnfuzz.models import weights
from nnfuzz.records import Model

RECIPE = 1  # counted up whenever networks or training change, so that old ones are not taken
MIDDLE = 0.5  # (pixels / 255 - 0.5) / 0.5 is to_range, as a Model says it


def kept(digest: str, network: str = "auto") -> Path:
    """Where the GAN of these images lies, or would."""
    return weights.folder() / "gans" / f"{digest}-{network}-{RECIPE}.safetensors"


def critic(gan: Gan, shape: Shape) -> Model:
    """The discriminator as a model that is fed uint8 images."""
    return Model(gan.discriminator.eval(), f"discriminator-{gan.name}", (MIDDLE,), (MIDDLE,), shape=shape, classes=1)


def _both(gan: Gan) -> nn.ModuleDict:
    return nn.ModuleDict({"discriminator": gan.discriminator, "generator": gan.generator})


def save(gan: Gan, path: Path, about: Mapping[str, object]) -> None:
    weights.save(_both(gan), path, {"network": gan.name, **about})


def load(path: Path, shape: Shape, network: str = "auto") -> tuple[Gan, Mapping[str, str]]:
    """The pair, and what was written about it."""
    gan = build(shape, network)
    read = weights.read(path)
    if read.metadata.get("network") != gan.name:
        raise NnfuzzError(
            f"{path}: expected a GAN of the kind {gan.name} and came {read.metadata.get('network')!r}; train it again "
            "with nnfuzz train-gan"
        )
    weights.fit(_both(gan), read.state, str(path))
    for net in (gan.discriminator, gan.generator):
        net.eval()
    return gan, read.metadata
