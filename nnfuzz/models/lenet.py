"""The LeNets of the papers, and one for 8x8 digits: convolution, ReLU, 2x2 max-pool, then dense layers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from torch import nn


def lenet(
    shape: tuple[int, int, int],
    classes: int,
    convs: Sequence[int],
    dense: Sequence[int] = (),
    kernel: int = 5,
    same: bool = True,
) -> nn.Sequential:
    """Every activation and pool is a module of its own, so that a hook can see each."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    channels, height, width = shape
    for number, filters in enumerate(convs, 1):
        layers[f"conv{number}"] = nn.Conv2d(channels, filters, kernel, padding=kernel // 2 if same else 0)
        layers[f"relu{number}"] = nn.ReLU()
        layers[f"pool{number}"] = nn.MaxPool2d(2)
        lost = 0 if same else kernel - 1
        channels, height, width = filters, (height - lost) // 2, (width - lost) // 2
    layers["flatten"] = nn.Flatten()
    features = channels * height * width
    for number, wide in enumerate(dense, 1):
        layers[f"fc{number}"] = nn.Linear(features, wide)
        layers[f"relu{len(convs) + number}"] = nn.ReLU()
        features = wide
    layers[f"fc{len(dense) + 1}"] = nn.Linear(features, classes)
    return nn.Sequential(layers)
