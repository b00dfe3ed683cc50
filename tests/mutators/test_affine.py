"""Warps against OpenCV and, tightly, against the definition in floats."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from nnfuzz.mutators import DRFUZZ, rotation, scale, shear, shear_from_the_top, translation

SIZES = [(1, 28, 28), (3, 32, 32), (1, 17, 23), (3, 15, 20)]


def smooth(shape: tuple[int, int, int], rows: int = 6, seed: int = 0) -> Tensor:
    """Images without hard edges, on which a fraction of a pixel is worth little."""
    x = torch.rand(rows, *shape, generator=torch.Generator().manual_seed(seed))
    for _ in range(4):
        x = torch.nn.functional.avg_pool2d(x, 3, 1, 1, count_include_pad=False)
    low, high = x.amin((1, 2, 3), keepdim=True), x.amax((1, 2, 3), keepdim=True)
    return ((x - low) / (high - low) * 255).to(torch.uint8)


def forward(name: str, p: float, height: int, width: int) -> np.ndarray:
    middle = (width / 2 - 0.5, height / 2 - 0.5)
    if name == "translation":
        return np.array([[1, 0, p], [0, 1, p]], dtype=np.float64)
    if name == "shear_from_the_top":
        return np.array([[1, -p, 0], [0, 1, 0]], dtype=np.float64)
    if name == "shear":
        return np.array([[1, -p, p * middle[1]], [0, 1, 0]], dtype=np.float64)
    angle, factor = (p, 1.0) if name == "rotation" else (0.0, p)
    return cv2.getRotationMatrix2D(middle, angle, factor)


def by_definition(image: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Bilinear in float64, black outside; image [H,W,C]."""
    height, width = image.shape[:2]
    v, u = np.mgrid[:height, :width]
    back = np.linalg.inv(np.vstack([matrix, [0, 0, 1]]))[:2]
    x, y = np.einsum("ij,jhw->ihw", back, np.stack([u, v, np.ones_like(u)]))
    x0, y0 = np.floor(x).astype(int), np.floor(y).astype(int)
    black = np.pad(image.astype(float), ((1, 1), (1, 1), (0, 0)))
    total = np.zeros(image.shape)
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weight = (1 - abs(y - y0 - i)) * (1 - abs(x - x0 - j))
        total += weight[..., None] * black[(y0 + i + 1).clip(0, height + 1), (x0 + j + 1).clip(0, width + 1)]
    return total


CASES = [
    (translation, (-3, 0, 2)),
    (scale, (0.7, 0.8, 0.9, 1.0, 1.1)),
    (shear, (-0.6, -0.1, 0.0, 0.3, 0.5)),
    (shear_from_the_top, (-0.6, -0.123, 0.0, 0.6)),
    (scale, (1.2, 0.777)),
    (rotation, (-50, -17, 0, 1, 49)),
]


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize(("factory", "params"), CASES)
def test_agrees_with_opencv_and_with_the_definition(factory, params, shape):
    operator = factory()
    x = smooth(shape)
    for p in params:
        ours = operator.apply(x, torch.full((len(x), 1), p, dtype=torch.float64)).permute(0, 2, 3, 1).numpy()
        matrix = forward(operator.name, p, *shape[1:])
        for image, mine in zip(x.permute(0, 2, 3, 1).numpy(), ours, strict=True):
            exact = by_definition(image, matrix)
            assert np.abs(mine - exact).max() < 0.51  # rounding, and float32 coordinates
            theirs = cv2.warpAffine(image, matrix, shape[:0:-1]).reshape(image.shape)
            # OpenCV 5 differs by 1 at most; OpenCV 4 works in 1/32 of a pixel.
            assert np.abs(mine.astype(int) - theirs).max() <= 10
            assert np.abs(mine.astype(int) - theirs).mean() < 0.6


@pytest.mark.parametrize("shape", SIZES)
@pytest.mark.parametrize(("dx", "dy"), [(-3, 2), (0, 0), (5, -5), (1, 0), (-40, 3)])
def test_whole_translation_is_exact_and_nothing_comes_in_at_the_other_side(shape, dx, dy):
    x = torch.randint(1, 256, (4, *shape), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    moved = translation([(dx, dy)]).apply(x, torch.tensor([[dx, dy]], dtype=torch.float64).expand(4, 2))
    height, width = shape[1:]
    expected = torch.zeros_like(x)
    for v in range(height):
        for u in range(width):
            if 0 <= v - dy < height and 0 <= u - dx < width:
                expected[:, :, v, u] = x[:, :, v - dy, u - dx]
    assert torch.equal(moved, expected)


def test_one_number_moves_along_both_axes():
    x = torch.zeros(1, 1, 8, 8, dtype=torch.uint8)
    x[0, 0, 2, 3] = 255
    moved = translation().apply(x, torch.tensor([[2.0]], dtype=torch.float64))
    assert moved[0, 0, 4, 5] == 255
    assert moved.sum() == 255


def test_neutral_parameters_change_nothing():
    x = torch.randint(0, 256, (5, 3, 224, 224), dtype=torch.uint8, generator=torch.Generator().manual_seed(2))
    for operator, p in ((translation(), 0.0), (scale(), 1.0), (shear(), 0.0), (rotation(), 0.0)):
        assert torch.equal(operator.apply(x, torch.full((5, 1), p, dtype=torch.float64)), x)


def test_drfuzz_moves_both_ways_apart():
    offsets = DRFUZZ[0].draw.values
    assert (len(offsets), min(offsets), max(offsets)) == (36, (-3, -3), (2, 2))


def test_a_continuous_draw_fills_its_interval():
    drawn = DRFUZZ[3].draw(10_000, torch.Generator().manual_seed(0))
    assert stats.kstest(drawn[:, 0].numpy(), "uniform", (-50, 100)).pvalue > 0.01


def test_the_default_lists_are_those_of_the_code():
    assert translation().draw.values == (-3, -2, -1, 0, 1, 2)
    assert scale().draw.values == (0.7, 0.8, 0.9, 1.0, 1.1)
    assert shear().draw.values == (-0.6, -0.5, -0.4, -0.3, -0.2, -0.1, 0, 0.1, 0.2, 0.3, 0.4, 0.5)
    assert rotation().draw.values == tuple(range(-50, 50))
