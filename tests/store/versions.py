"""Two versions of a network, of which the new one is broken where images are bright or dark, and their images."""

from __future__ import annotations

from pathlib import Path

import numpy as np

CODE = """
import torch
from torch import nn

class Old(nn.Module):
    '''Which third of the image is the brightest?'''
    def __init__(self, classes=3):
        super().__init__()
        self.look, self.parts = nn.Conv2d(1, 1, 1), nn.AdaptiveAvgPool2d((1, classes))
        nn.init.ones_(self.look.weight)
        nn.init.zeros_(self.look.bias)

    def forward(self, x):
        seen = self.look(x)
        return self.change(20 * self.parts(seen).flatten(1), seen.mean((1, 2, 3))[:, None])

    def change(self, scores, light):
        return scores

class Apart(nn.Module):
    '''Another network with the same defect; what each computes is in no weight.'''
    def __init__(self, old):
        super().__init__()
        self.old, self.also = old, nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return self.change(self.old(x), x.mean((1, 2, 3))[:, None])

class New(Apart):
    def __init__(self):
        super().__init__(Old())

    def change(self, scores, light):
        return scores.roll(1, 1).where(light > 0.49, scores.roll(2, 1).where(light < 0.38, scores))

class Sound(Apart):
    def __init__(self):
        super().__init__(Old())

    def change(self, scores, light):
        return scores

class Blind(Apart):
    def __init__(self):
        super().__init__(Old())

    def change(self, scores, light):
        return scores.roll(1, 1)

class Worse(New):
    '''Wrong on some images as they are.'''
    def change(self, scores, light):
        return scores.roll(1, 1).where(light > 0.45, scores)

def wide():
    return Old(4)
"""


def lay_out(place: Path, images: int = 90) -> None:
    """Means of about .44, with one third brighter by an eighth: that one is the label."""
    (place / "two.py").write_text(CODE)
    rng = np.random.default_rng(0)
    label = np.arange(images) % 3
    x = rng.integers(95, 108, (images, 1, 1)) + rng.integers(0, 5, (images, 9, 9))
    x[np.arange(9)[None, None] // 3 + np.zeros((images, 9, 1), int) == label[:, None, None]] += 32
    np.savez(place / "thirds.npz", x=x.astype(np.uint8), y=label)
