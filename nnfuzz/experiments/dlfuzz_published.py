"""DLFuzz's printed figures (Guo et al., ESEC/FSE 2018, Table 1), digit by digit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """Each pair is DeepXplore's figure and DLFuzz's."""

    name: str
    neurons: int
    gain: float  # of neuron coverage, DLFuzz over DeepXplore, in points
    l2: tuple[float, float]
    found: tuple[int, int]
    seconds: tuple[float, float]  # for each input found


TABLE1: dict[str, Row] = {
    "lenet1": Row("LeNet-1", 52, 2.45, (8.2637, 0.2708), (20, 53), (0.7078, 0.5623)),
    "lenet4": Row("LeNet-4", 148, 5.59, (8.2637, 0.2812), (20, 47), (0.7078, 0.6344)),
    "lenet5": Row("LeNet-5", 268, 2.23, (8.2637, 0.2670), (20, 54), (0.7078, 0.5870)),
    "vgg16": Row("VGG-16", 14888, 3.52, (0.0817, 0.0167), (13, 89), (10.473, 3.4537)),
    "vgg19": Row("VGG-19", 16168, 2.28, (0.0817, 0.0154), (13, 81), (10.473, 3.6606)),
    "resnet50": Row("ResNet-50", 94056, 1.10, (0.0817, 0.0097), (13, 72), (10.473, 16.6958)),
}
IMAGES = 20  # picked at random for each network
RETRAINED = 114  # adversarial inputs added to the training set
GAIN = 1.8  # points of accuracy at most, within 5 epochs
