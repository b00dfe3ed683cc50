"""ResNet-20 for 32x32 images, He et al. (CVPR 2016) section 4.2, with the parameter-free shortcuts (option A)."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn


class Add(nn.Module):
    """The residual addition, as a module that a hook can see."""

    def forward(self, x: Tensor, shortcut: Tensor) -> Tensor:
        return x + shortcut


class Shortcut(nn.Module):
    """Every second pixel, with empty channels on both sides."""

    def __init__(self, added: int) -> None:
        super().__init__()
        self.before, self.behind = added // 2, added - added // 2

    def forward(self, x: Tensor) -> Tensor:
        return F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.before, self.behind))


class Block(nn.Module):
    def __init__(self, channels: int, filters: int) -> None:
        super().__init__()
        narrower = filters != channels
        self.conv1 = nn.Conv2d(channels, filters, 3, stride=2 if narrower else 1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(filters)
        self.relu1 = nn.ReLU()
        self.conv2 = nn.Conv2d(filters, filters, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(filters)
        self.shortcut: nn.Module = Shortcut(filters - channels) if narrower else nn.Identity()
        self.add = Add()
        self.relu2 = nn.ReLU()

    def forward(self, x: Tensor) -> Tensor:
        inner = self.relu1(self.bn1(self.conv1(x)))
        out: Tensor = self.relu2(self.add(self.bn2(self.conv2(inner)), self.shortcut(x)))
        return out


class ResNet20(nn.Module):
    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.relu = nn.ReLU()
        self.layer1 = nn.Sequential(Block(16, 16), Block(16, 16), Block(16, 16))
        self.layer2 = nn.Sequential(Block(16, 32), Block(32, 32), Block(32, 32))
        self.layer3 = nn.Sequential(Block(32, 64), Block(64, 64), Block(64, 64))
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten()
        self.linear = nn.Linear(64, classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d | nn.Linear):
                nn.init.kaiming_normal_(module.weight)

    def forward(self, x: Tensor) -> Tensor:
        x = self.layer3(self.layer2(self.layer1(self.relu(self.bn1(self.conv1(x))))))
        out: Tensor = self.linear(self.flatten(self.pool(x)))
        return out
