"""A paper is a function that picks the callables."""

from collections.abc import Callable

from nnfuzz.campaign import Campaign
from nnfuzz.recipes.deephunter import deephunter
from nnfuzz.recipes.deepxplore import deepxplore
from nnfuzz.recipes.dlfuzz import dlfuzz
from nnfuzz.recipes.drfuzz import drfuzz
from nnfuzz.recipes.elites import elites
from nnfuzz.recipes.random import random

RECIPES: dict[str, Callable[..., Campaign]] = {
    "deephunter": deephunter, "random": random, "dlfuzz": dlfuzz, "deepxplore": deepxplore,
    "drfuzz": drfuzz, "elites": elites,
}  # fmt: skip
SCALED = ("dlfuzz", "deepxplore")  # those that pick neurons by values scaled per input and layer

__all__ = ["RECIPES", "SCALED", "deephunter", "deepxplore", "dlfuzz", "drfuzz", "elites", "random"]
