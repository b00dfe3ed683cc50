"""What a GAN is worth: what its generator makes, and whether its discriminator can tell real images from others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from nnfuzz.errors import NnfuzzError
from nnfuzz.generative.dcgan import Gan
from nnfuzz.generative.keeping import critic
from nnfuzz.generative.training import forged
from nnfuzz.mutators import DRFUZZ, OneOf
from nnfuzz.picture import as_image
from nnfuzz.reader import Reader
from nnfuzz.records import Batch

if TYPE_CHECKING:
    from PIL.Image import Image

LEAST = 0.9  # of real images before noise, below which a discriminator is refused; a coin has 0.5
MOST = 1000  # images of each group
COLOURS = ("#1b7837", "#2166ac", "#e08214", "#b2182b")


def groups(gan: Gan, x: Tensor, seed: int = 0) -> dict[str, Tensor]:
    """Up to a thousand real images, as many mutated three times, as many forged, and as many of noise."""
    rng = torch.Generator().manual_seed(seed)
    real = x[:: max(1, len(x) // MOST)][:MOST]
    mutated = Batch.of_seeds(real)
    for _ in range(3):
        mutated = OneOf(DRFUZZ)(mutated, rng)
    noise = torch.randint(0, 256, real.shape, dtype=torch.uint8, generator=rng)
    return {"real": real, "mutated": mutated.x, "generated": forged(gan, len(real), seed), "noise": noise}


def judged(gan: Gan, images: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The discriminator's logit on every image, in double precision."""
    real = images["real"]
    read = Reader(critic(gan, (real.shape[1], real.shape[2], real.shape[3])), real, dtype=None)
    return {name: read(x)[:, 0].double() for name, x in images.items()}


def apart(real: Tensor, other: Tensor) -> float:
    """The chance that a real image scores above another one, ties counting half (the area under the ROC curve)."""
    return float((real[:, None] > other).double().mean() + (real[:, None] == other).double().mean() / 2)


def check(scores: Mapping[str, Tensor], name: str) -> float:
    """Refuse a discriminator to which noise looks as real as anything; else say how well it does."""
    share = apart(scores["real"], scores["noise"])
    if not share >= LEAST:
        raise NnfuzzError(
            f"expected a discriminator that scores real images above noise at least {LEAST:.0%} of the time and "
            f"{name} does {share:.1%}; train it longer with nnfuzz train-gan --seconds, or take --fidelity label"
        )
    return share


def sheet(x: Tensor, columns: int = 12, height: int = 56) -> Image:
    """Images side by side, enlarged by a whole factor."""
    from PIL import Image

    times = max(1, height // x.shape[2])
    wide, high = x.shape[3] * times + 2, x.shape[2] * times + 2
    page = Image.new("RGB", (columns * wide, -(-len(x) // columns) * high), "white")
    for i, one in enumerate(x):
        tile = as_image(one).resize((wide - 2, high - 2), Image.Resampling.NEAREST)
        page.paste(tile, (i % columns * wide + 1, i // columns * high + 1))
    return page


def plot(scores: Mapping[str, Tensor], title: str, bins: int = 60) -> Image:
    """A histogram of each group's scores, one below the other on one scale."""
    from PIL import Image, ImageDraw, ImageFont

    every = torch.cat(list(scores.values()))
    low, high = float(every.quantile(0.002)), float(every.quantile(0.998))
    page = Image.new("RGB", (720, 40 + 90 * len(scores) + 30), "white")
    draw, font = ImageDraw.Draw(page), ImageFont.load_default(13)
    draw.text((10, 10), title, "black", font)
    for row, (name, values) in enumerate(scores.items()):
        floor = 40 + 90 * (row + 1) - 10
        counts = torch.histc(values.clamp(low, high).float(), bins, low, high)
        draw.text((10, floor - 40), f"{name}\nmean {float(values.mean()):.2f}", "black", font)
        _bars(draw, (counts / counts.max().clamp_min(1)).tolist(), floor, COLOURS[row % len(COLOURS)])
    for share in (0.0, 0.5, 1.0):
        draw.text((120 + 560 * share, page.height - 24), f"{low + share * (high - low):.1f}", "black", font)
    return page


def _bars(draw: object, heights: Sequence[float], floor: int, colour: str) -> None:
    from PIL.ImageDraw import ImageDraw

    assert isinstance(draw, ImageDraw)
    width = 580 / len(heights)
    for i, height in enumerate(heights):
        left = 120 + i * width
        draw.rectangle((left, floor - 70 * height, left + width - 1, floor), colour)
    draw.line((120, floor, 700, floor), "#999999")
