from __future__ import annotations

import cv2
import numpy as np
import pytest
import torch

from nnfuzz.mutators import DRFUZZ, brightness, contrast

EVERY = torch.arange(256, dtype=torch.uint8).view(1, 1, 16, 16)


def all_of(operator):
    params = torch.tensor(operator.draw.values, dtype=torch.float64)[:, None]
    return operator.apply(EVERY.expand(len(params), 3, 16, 16), params), params[:, 0].tolist()


def test_contrast_agrees_with_opencv():
    for image, factor in zip(*all_of(contrast()), strict=True):
        theirs = cv2.multiply(EVERY[0, 0].numpy(), np.array([factor, 0, 0, 0]))
        off = np.abs(image[1].numpy().astype(int) - theirs)
        assert off.max() <= 1
        # 0.7 · 85 is 59.5 and neither float32 nor float64 has 0.7: only such ties may differ.
        tie = np.abs(np.arange(256).reshape(16, 16) * factor % 1 - 0.5) < 1e-6
        assert not off[~tie].any()


def test_brightness_agrees_with_opencv():
    for image, shift in zip(*all_of(brightness()), strict=True):
        theirs = cv2.add(EVERY[0, 0].numpy(), np.array([shift, 0, 0, 0]))
        assert np.array_equal(image[2].numpy(), theirs)


def test_drfuzz_draws_are_continuous_and_brightness_moves_every_channel():
    factors, shifts = (operator.draw(2000, torch.Generator().manual_seed(0)) for operator in DRFUZZ[4:6])
    assert 0.5 <= factors.min() < 0.51 < 1.49 < factors.max() < 1.5
    assert -20 <= shifts.min() < -19.9 < 19.9 < shifts.max() < 20
    made = brightness().apply(torch.full((1, 3, 2, 2), 100, dtype=torch.uint8), torch.tensor([[-9.6]]))
    assert made.unique().tolist() == [90]


@pytest.mark.parametrize("shift", [-300, -256, -255, -1, 0, 0.4, 1, 255, 256, 300])
def test_brightness_saturates_and_never_wraps(shift):
    made = brightness([shift]).apply(EVERY, torch.tensor([[shift]], dtype=torch.float64))
    assert torch.equal(made.long(), (EVERY.long() + round(shift)).clamp(0, 255))


def test_contrast_saturates():
    bright = torch.full((1, 1, 2, 2), 250, dtype=torch.uint8)
    assert contrast().apply(bright, torch.tensor([[1.2]])).unique().tolist() == [255]
    assert contrast().apply(bright, torch.tensor([[200.0]])).unique().tolist() == [255]


def test_the_default_lists_are_those_of_the_code():
    assert contrast().draw.values == (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2)
    assert brightness().draw.values == tuple(range(-20, 20))
