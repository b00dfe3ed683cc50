"""Networks: small reference ones, the user's own, and torchvision's; and how the small ones are trained."""

from nnfuzz.models.augment import crop, crop_flip
from nnfuzz.models.digest import digest
from nnfuzz.models.loading import load, runs_code
from nnfuzz.models.train import Epoch, Trained, accuracy, one_cycle, three_stages, train
from nnfuzz.models.weights import save
from nnfuzz.models.zoo import ZOO, build

__all__ = [
    "ZOO",
    "Epoch",
    "Trained",
    "accuracy",
    "build",
    "crop",
    "crop_flip",
    "digest",
    "load",
    "one_cycle",
    "runs_code",
    "save",
    "three_stages",
    "train",
]
