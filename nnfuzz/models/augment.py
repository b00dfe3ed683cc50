"""Random changes to training images, a whole batch at once."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Generator, Tensor


def crop(x: Tensor, rng: Generator) -> Tensor:
    """Each image moved by up to an eighth of its height, with black where nothing was."""
    count, _, height, width = x.shape
    pad = max(1, height // 8)
    wide = F.pad(x, (pad, pad, pad, pad))
    down = torch.randint(0, 2 * pad + 1, (count, 1), generator=rng) + torch.arange(height)
    right = torch.randint(0, 2 * pad + 1, (count, 1), generator=rng) + torch.arange(width)
    rows = torch.arange(count)[:, None, None]
    # Three index tensors with the channels' slice between them give [B,H,W,C].
    return wide[rows, :, down[:, :, None], right[:, None, :]].permute(0, 3, 1, 2)


def crop_flip(x: Tensor, rng: Generator) -> Tensor:
    """`crop`, and half of the images left to right: for CIFAR-10, not for digits."""
    flip = torch.rand(len(x), generator=rng) < 0.5
    return crop(torch.where(flip[:, None, None, None], x.flip(3), x), rng)
