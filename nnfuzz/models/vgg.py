"""VGG-16 (Simonyan and Zisserman, 2015) as it is used for 32x32 images: batch norm, one hidden dense layer."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

BLOCKS = ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512))


def vgg16(shape: tuple[int, int, int], classes: int) -> nn.Sequential:
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    channels, height, width = shape
    for block, widths in enumerate(BLOCKS, 1):
        for number, filters in enumerate(widths, 1):
            layers[f"conv{block}_{number}"] = nn.Conv2d(channels, filters, 3, padding=1, bias=False)
            layers[f"bn{block}_{number}"] = nn.BatchNorm2d(filters)
            layers[f"relu{block}_{number}"] = nn.ReLU()
            channels = filters
        layers[f"pool{block}"] = nn.MaxPool2d(2)
        height, width = height // 2, width // 2
    layers["flatten"] = nn.Flatten()
    layers["drop1"] = nn.Dropout(0.5)
    layers["fc1"] = nn.Linear(channels * height * width, 512)
    layers["relu_fc1"] = nn.ReLU()
    layers["drop2"] = nn.Dropout(0.5)
    layers["fc2"] = nn.Linear(512, classes)
    net = nn.Sequential(layers)
    for module in net.modules():
        if isinstance(module, nn.Conv2d):
            # Thirteen convolutions deep, PyTorch's default start lets the signal fade.
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    return net
