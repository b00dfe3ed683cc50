"""Networks: small reference ones, the user's own, and torchvision's; and how the small ones are trained."""

from nnfuzz.models.augment import crop, crop_flip
from nnfuzz.models.digest import digest
from nnfuzz.models.distort import distort
from nnfuzz.models.guard import train_judge
from nnfuzz.models.loading import load, runs_code
from nnfuzz.models.train import Epoch, Trained, accuracy, one_cycle, three_stages, train
from nnfuzz.models.weights import save
from nnfuzz.models.zoo import REFEREES, ZOO, build

__all__ = [
    "REFEREES",
    "ZOO",
    "Epoch",
    "Trained",
    "accuracy",
    "build",
    "crop",
    "crop_flip",
    "digest",
    "distort",
    "load",
    "one_cycle",
    "runs_code",
    "save",
    "three_stages",
    "train",
    "train_judge",
]
