"""Networks that judge whether an image still shows its label; each unlike the others, and unlike the LeNets."""

from __future__ import annotations

from collections import OrderedDict
from math import ceil, log2

import torch
from torch import Tensor, nn

from nnfuzz.models.resnet import Add

Shape = tuple[int, int, int]


def _head(features: int, classes: int) -> list[tuple[str, nn.Module]]:
    return [("pool", nn.AdaptiveAvgPool2d(1)), ("flatten", nn.Flatten()), ("linear", nn.Linear(features, classes))]


def _conv(inside: int, filters: int, stride: int = 1, kernel: int = 3) -> nn.Conv2d:
    return nn.Conv2d(inside, filters, kernel, stride=stride, padding=kernel // 2, bias=False)


def guard(shape: Shape, classes: int, width: int = 24) -> nn.Sequential:
    """Strided 3x3 convolutions down to a map of about 4x4, one more there, and its mean: made to judge fast."""
    layers: list[tuple[str, nn.Module]] = []
    channels, halvings = shape[0], max(1, ceil(log2(min(shape[1:]) / 4)))
    for number in range(1, halvings + 2):
        filters = min(width << (number - 1), 4 * width)
        layers += [
            (f"conv{number}", _conv(channels, filters, 1 if number > halvings else 2)),
            (f"bn{number}", nn.BatchNorm2d(filters)),
            (f"relu{number}", nn.ReLU()),
        ]
        channels = filters
    return nn.Sequential(OrderedDict(layers + _head(channels, classes)))


def stacked(shape: Shape, classes: int, width: int = 16) -> nn.Sequential:
    """Pairs of 3x3 convolutions with batch normalisation and GELU, and maxima between them, in the manner of VGG."""
    layers: list[tuple[str, nn.Module]] = []
    channels, halvings = shape[0], max(1, ceil(log2(min(shape[1:]) / 7)))
    for block in range(halvings + 1):
        filters = min(width << block, 4 * width)
        for half in "ab":
            name = f"{block + 1}{half}"
            layers += [
                (f"conv{name}", _conv(channels, filters)),
                (f"bn{name}", nn.BatchNorm2d(filters)),
                (f"gelu{name}", nn.GELU()),
            ]
            channels = filters
        if block < halvings:
            layers.append((f"max{block + 1}", nn.MaxPool2d(2)))
    return nn.Sequential(OrderedDict(layers + _head(channels, classes)))


class Residual(nn.Module):
    """Normalise first, add last (He et al., ECCV 2016); halves the map where it widens."""

    def __init__(self, channels: int, filters: int, stride: int) -> None:
        super().__init__()
        self.bn1, self.relu1 = nn.BatchNorm2d(channels), nn.ReLU()
        self.conv1 = _conv(channels, filters, stride)
        self.bn2, self.relu2 = nn.BatchNorm2d(filters), nn.ReLU()
        self.conv2 = _conv(filters, filters)
        same = channels == filters and stride == 1
        self.shortcut = nn.Identity() if same else _conv(channels, filters, stride, kernel=1)
        self.add = Add()

    def forward(self, x: Tensor) -> Tensor:
        inner = self.conv2(self.relu2(self.bn2(self.conv1(self.relu1(self.bn1(x))))))
        out: Tensor = self.add(inner, self.shortcut(x))
        return out


def residual(shape: Shape, classes: int, width: int = 32) -> nn.Sequential:
    """A 5x5 convolution of stride 2 and residual blocks."""
    layers: list[tuple[str, nn.Module]] = [("stem", _conv(shape[0], width, 2, kernel=5))]
    channels = width
    for number in range(1, 2 + max(1, ceil(log2(min(shape[1:]) / 14)))):
        filters = min(width << (number - 1), 4 * width)
        layers += [
            (f"block{number}a", Residual(channels, filters, 1 if number == 1 else 2)),
            (f"block{number}b", Residual(filters, filters, 1)),
        ]
        channels = filters
    layers += [("bn", nn.BatchNorm2d(channels)), ("relu", nn.ReLU())]
    return nn.Sequential(OrderedDict(layers + _head(channels, classes)))


class Mixing(nn.Module):
    """What stands at each place is mixed over the places, then over the channels (Tolstikhin et al., NeurIPS 2021)."""

    def __init__(self, places: int, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.places = nn.Sequential(nn.Linear(places, 2 * places), nn.GELU(), nn.Linear(2 * places, places))
        self.channels = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.add1, self.add2 = Add(), Add()

    def forward(self, x: Tensor) -> Tensor:  # [B,P,width]
        x = self.add1(self.places(self.norm1(x).transpose(1, 2)).transpose(1, 2), x)
        out: Tensor = self.add2(self.channels(self.norm2(x)), x)
        return out


class Mixer(nn.Module):
    """Overlapping patches, and blocks that mix them; no convolution after the first layer, so no built-in shifts."""

    def __init__(self, shape: Shape, classes: int, width: int = 64, depth: int = 4) -> None:
        super().__init__()
        stride = max(2, min(shape[1:]) // 7)
        self.patches = nn.Conv2d(shape[0], width, 2 * stride, stride=stride, padding=stride // 2)
        with torch.device("meta"):
            probe = nn.Conv2d(1, 1, 2 * stride, stride=stride, padding=stride // 2)(torch.empty(1, 1, *shape[1:]))
        self.flatten = nn.Flatten(2)
        self.blocks = nn.Sequential(*(Mixing(probe[0, 0].numel(), width) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.linear(self.norm(self.blocks(self.flatten(self.patches(x)).transpose(1, 2))).mean(1))
        return out
