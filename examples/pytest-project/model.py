"""Which half of a picture is brighter? Two networks that need no training; one of them has a bug."""

import torch
from torch import Tensor, nn


class BrighterHalf(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.look = nn.Conv2d(1, 1, 1)  # passes the pixels on
        self.halves = nn.AdaptiveAvgPool2d((1, 2))
        nn.init.ones_(self.look.weight)
        nn.init.zeros_(self.look.bias)

    def forward(self, x: Tensor) -> Tensor:
        return 20 * self.halves(self.look(x)).flatten(1)


class WithABug(BrighterHalf):
    def forward(self, x: Tensor) -> Tensor:
        answer, brightness = super().forward(x), x.mean((1, 2, 3))
        bug = (brightness > 0.09) & (brightness < 0.13)
        return torch.where(bug[:, None], answer.flip(1), answer)


def good() -> nn.Module:
    return BrighterHalf()


def planted() -> nn.Module:
    return WithABug()
