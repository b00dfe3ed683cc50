"""DeepHunter's printed figures (Xie et al., arXiv 1809.01266v1), digit by digit.

Table 4, BKNC: the header of the text version has a stray 35.4 where D.H. should stand. LN-1 is read as 49.8 and
49.8, as its own row says: with these, and not with 35.4, the column's two printed averages (28.2, 32.2) come out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

CRITERIA = ("nc", "kmnc", "nbc", "snac", "tknc", "bknc")  # in the order of the paper's columns
HOURS = 24.0  # of search behind each figure


@dataclass(frozen=True)
class Subject:
    """A row of Table 2, with the epochs of instances A, B and C of Table 3."""

    name: str
    neurons: int
    layers: int
    accuracy: float  # top 5 for the two ImageNet models
    epochs: tuple[int, int, int] | None = None


SUBJECTS: dict[str, Subject] = {
    "lenet1": Subject("LN-1", 52, 7, 0.976, (10, 30, 45)),
    "lenet4": Subject("LN-4", 148, 8, 0.989, (10, 25, 50)),
    "lenet5": Subject("LN-5", 268, 9, 0.990, (10, 30, 45)),
    "resnet20": Subject("RN-20", 2570, 70, 0.917, (40, 55, 95)),
    "vgg16": Subject("VGG16", 12426, 17, 0.928, (30, 55, 95)),
    "mobilenet": Subject("MN", 38904, 87, 0.871),
    "resnet50": Subject("RN-50", 94059, 176, 0.929),
}

Row = tuple[float, ...]

# Initial seeds and after 24 hours, in percent: NC, NC, KMNC, KMNC, ...
TABLE4: dict[str, Row] = {
    "lenet1": (22.9, 31.3, 31.4, 92.2, 1.2, 24.4, 0.3, 22.1, 49.7, 49.8, 49.8, 49.8),
    "lenet4": (56.3, 61.1, 21.9, 75.9, 0.4, 15.1, 0.2, 20.2, 69.5, 72.7, 27.2, 31.1),
    "lenet5": (58.0, 70.8, 20.6, 78.4, 0.3, 11.3, 0.2, 19.2, 76.3, 83.2, 24.6, 30.5),
    "resnet20": (7.5, 10.8, 36.0, 75.1, 0.1, 8.1, 0.1, 8.11, 62.3, 68.0, 63.3, 68.7),
    "vgg16": (41.9, 46.2, 41.1, 84.1, 0.04, 3.1, 0.1, 3.1, 13.3, 15.1, 13.9, 16.2),
    "mobilenet": (7.0, 7.8, 26.9, 73.4, 0.7, 10.3, 0.4, 9.5, 4.9, 7.9, 5.2, 8.5),
    "resnet50": (4.8, 9.4, 23.9, 51.6, 0.1, 3.2, 0.1, 3.8, 14.1, 22.9, 13.7, 20.6),
}
TABLE4_AVERAGE: Row = (28.3, 33.9, 28.8, 75.8, 0.4, 10.8, 0.2, 12.3, 41.4, 45.6, 28.2, 32.2)

# Accuracy of instances A and B on the tests that C answers right, in percent.
TABLE5: dict[str, Row] = {
    "lenet1": (99.0, 99.5, 92.8, 97.5, 93.0, 96.5, 90.1, 96.0, 91.5, 98.5, 95.4, 98.7),
    "lenet4": (98.1, 99.6, 92.7, 97.3, 87.1, 95.5, 91.0, 95.4, 91.5, 95.7, 89.3, 95.9),
    "lenet5": (95.4, 97.7, 91.3, 94.1, 88.4, 96.9, 91.1, 97.0, 92.4, 97.0, 91.3, 96.7),
    "resnet20": (92.6, 93.9, 81.7, 87.2, 83.8, 87.4, 83.8, 86.3, 81.9, 87.1, 85.3, 87.8),
    "vgg16": (86.0, 87.7, 78.0, 83.3, 80.0, 81.3, 82.9, 83.9, 82.8, 83.3, 84.1, 85.2),
}
TABLE5_AVERAGE: Row = (94.2, 95.7, 87.3, 91.9, 86.4, 91.5, 87.8, 91.7, 88.0, 92.3, 89.1, 92.9)

# Unique error-triggering tests, in thousands.
TABLE6: dict[str, Row] = {
    "lenet1": (6.9, 1.1, 6.7, 8, 6.8, 8.6),
    "lenet4": (4.7, 0.6, 2.9, 3.3, 2.2, 4.5),
    "lenet5": (2.9, 0.7, 3.1, 3.3, 1.3, 3.2),
    "resnet20": (0, 7.0, 7.8, 7.9, 6.1, 7.2),
    "vgg16": (2.2, 6.3, 8.1, 8.5, 6.8, 8.3),
    "mobilenet": (1.5, 10.8, 11.6, 9.6, 16.6, 13.8),
    "resnet50": (1.3, 8.1, 8.8, 8.8, 9.7, 8.6),
}
TABLE6_SUM: Row = (19.5, 34.6, 49, 49.4, 49.5, 54.2)

# Inputs whose answer changes when this share of the weights, in percent, is truncated to 16 bits.
TABLE7: dict[str, dict[int, Row]] = {
    "lenet1": {1: (9, 17, 61, 63, 18, 21), 50: (43, 79, 111, 141, 75, 67), 100: (36, 77, 107, 164, 82, 62)},
    "lenet4": {1: (17, 10, 9, 16, 11, 39), 50: (31, 43, 38, 84, 33, 65), 100: (25, 45, 43, 85, 31, 55)},
    "lenet5": {1: (2, 7, 16, 16, 13, 7), 50: (22, 46, 91, 45, 51, 24), 100: (23, 49, 100, 46, 53, 28)},
    "resnet20": {1: (0, 14, 8, 6, 6, 15), 50: (0, 58, 62, 40, 44, 57), 100: (0, 64, 68, 42, 46, 71)},
    "vgg16": {1: (1, 5, 7, 7, 11, 9), 50: (3, 48, 36, 34, 39, 44), 100: (5, 44, 38, 41, 38, 52)},
    "mobilenet": {
        1: (89, 46, 64, 33, 84, 53),
        50: (400, 783, 880, 709, 1198, 872),
        100: (435, 819, 751, 569, 1113, 830),
    },
    "resnet50": {
        1: (7, 11, 11, 6, 22, 15),
        50: (11805, 41217, 37822, 30009, 58796, 47703),
        100: (11793, 41132, 37810, 29979, 58747, 47712),
    },
}


def pair(table: Mapping[str, Row], subject: str | None, criterion: str) -> tuple[float, float] | None:
    """The two figures of a subject and criterion in Table 4 or 5, or None where none was printed."""
    row = table.get(subject or "")
    column = 2 * CRITERIA.index(criterion) if criterion in CRITERIA else -1
    return None if row is None or column < 0 else (row[column], row[column + 1])


def single(row: Row | None, criterion: str) -> float | None:
    """The one figure of a criterion in a row of Table 6 or 7, or None where none was printed."""
    return None if row is None or criterion not in CRITERIA else row[CRITERIA.index(criterion)]
