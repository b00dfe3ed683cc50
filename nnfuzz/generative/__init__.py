"""The networks that papers train to make images, and to tell made ones from real ones."""

from nnfuzz.generative.dcgan import Gan, build
from nnfuzz.generative.keeping import critic, kept, load, save
from nnfuzz.generative.making import SECONDS, Made, make, once
from nnfuzz.generative.proof import apart, check, groups, judged, plot, sheet
from nnfuzz.generative.training import Progress, enough, forged, train

__all__ = [
    "SECONDS",
    "Gan",
    "Made",
    "Progress",
    "apart",
    "build",
    "check",
    "critic",
    "enough",
    "forged",
    "groups",
    "judged",
    "kept",
    "load",
    "make",
    "once",
    "plot",
    "save",
    "sheet",
    "train",
]
