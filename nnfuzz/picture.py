"""Pictures of findings: seed | input | difference, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torch import Tensor

if TYPE_CHECKING:
    from PIL.Image import Image

HEIGHT = 112  # of a tile; small images are enlarged by whole factors, so that pixels stay pixels
TEXT = 16
GAP = 6


def as_image(x: Tensor) -> Image:
    """[C,H,W] uint8, grey or RGB."""
    from PIL import Image

    pixels = x.permute(1, 2, 0).numpy()
    return Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)


def difference(before: Tensor, after: Tensor) -> Tensor:
    """What changed, around mid-grey and stretched to the full range, so that small changes can be seen."""
    apart = after.int() - before.int()
    most = max(1, int(apart.abs().max()))
    return (127 + apart * 127 // most).clamp(0, 255).to(before.dtype)


def _tile(x: Tensor) -> Image:
    from PIL import Image

    image = as_image(x)
    times = max(1, HEIGHT // image.height)
    return image.resize((image.width * times, image.height * times), Image.Resampling.NEAREST)


def sheet(rows: Sequence[tuple[Tensor, Tensor, str, str]], columns: int = 2) -> Image:
    """A page of findings: (seed, input, caption of the seed, caption of the input) each."""
    from PIL import Image, ImageDraw, ImageFont

    tiles = [([_tile(a), _tile(b), _tile(difference(a, b))], (said, says, "change")) for a, b, said, says in rows]
    width, height = tiles[0][0][0].size
    group = 3 * (width + GAP) + GAP
    page = Image.new("RGB", (columns * group, -(-len(rows) // columns) * (height + TEXT + GAP) + GAP), "white")
    draw, font = ImageDraw.Draw(page), ImageFont.load_default(12)
    for i, (images, captions) in enumerate(tiles):
        left, top = i % columns * group + GAP, i // columns * (height + TEXT + GAP) + GAP
        for j, (image, caption) in enumerate(zip(images, captions, strict=True)):
            at = left + j * (width + GAP)
            draw.text((at, top), caption[: int(width // 6)], fill="black", font=font)
            page.paste(image.convert("RGB"), (at, top + TEXT))
    return page
