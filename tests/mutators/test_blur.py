from __future__ import annotations

import cv2
import numpy as np
import pytest
import torch

from nnfuzz.mutators import blur

SIZES = [(1, 28, 28), (3, 32, 32), (1, 17, 22), (3, 9, 8), (1, 3, 3)]
THEIRS = {
    1: lambda image: cv2.blur(image, (3, 3)),
    2: lambda image: cv2.blur(image, (4, 4)),
    3: lambda image: cv2.blur(image, (5, 5)),
    4: lambda image: cv2.GaussianBlur(image, (3, 3), 0),
    5: lambda image: cv2.GaussianBlur(image, (5, 5), 0),
    6: lambda image: cv2.GaussianBlur(image, (7, 7), 0),
    7: lambda image: cv2.medianBlur(image, 3),
    8: lambda image: cv2.medianBlur(image, 5),
    9: lambda image: cv2.bilateralFilter(image, 6, 50, 50),
}


def some(shape, rows=6):
    rng = torch.Generator().manual_seed(sum(shape))
    x = torch.randint(0, 256, (rows, *shape), dtype=torch.uint8, generator=rng)
    x[rows // 2 :] //= 8  # low contrast, where the bilateral filter has something to average
    return x


def apply(x, kind):
    return blur().apply(x, torch.full((len(x), 1), float(kind), dtype=torch.float64))


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize("kind", THEIRS)
def test_agrees_with_opencv(kind, shape):
    x = some(shape)
    ours = apply(x, kind).permute(0, 2, 3, 1).numpy()
    for image, mine in zip(x.permute(0, 2, 3, 1).numpy(), ours, strict=True):
        off = np.abs(mine.astype(int) - THEIRS[kind](np.ascontiguousarray(image)).reshape(image.shape))
        # OpenCV divides the box of 4 in fixed point; the bilateral's floats may be summed in another order.
        assert off.max() <= (1 if kind in (2, 9) else 0)
        assert (off > 0).mean() < (0.2 if kind == 2 else 0.005)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 1, 5), (1, 2, 2), (2, 5, 1)])
def test_tiny_images_and_other_channel_counts(shape):
    x = some(shape)
    for kind in THEIRS:
        assert apply(x, kind).shape == x.shape


def test_flat_images_stay_flat():
    x = torch.tensor([0, 1, 128, 254, 255], dtype=torch.uint8).view(-1, 1, 1, 1).repeat(1, 3, 9, 9)
    for kind in THEIRS:
        assert torch.equal(apply(x, kind), x)


@pytest.mark.parametrize("kind", THEIRS)
def test_nothing_wraps_around_the_border(kind):
    x = torch.zeros(1, 1, 12, 12, dtype=torch.uint8)
    x[..., 0] = 255
    assert apply(x, kind)[..., 6:].sum() == 0
    assert apply(x.transpose(2, 3).contiguous(), kind)[..., 6:, :].sum() == 0


def test_median_against_torch():
    x = some((2, 13, 10))
    for kind, size in ((7, 3), (8, 5)):
        r = size // 2
        wide = torch.nn.functional.pad(x.float(), (r, r, r, r), mode="replicate")
        windows = wide.unfold(2, size, 1).unfold(3, size, 1).flatten(4)
        assert torch.equal(apply(x, kind).float(), windows.median(-1).values)
