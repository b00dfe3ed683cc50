"""A paper is a function that picks the callables."""

from collections.abc import Callable

from nnfuzz.campaign import Campaign
from nnfuzz.recipes.deephunter import deephunter
from nnfuzz.recipes.random import random

RECIPES: dict[str, Callable[..., Campaign]] = {"deephunter": deephunter, "random": random}

__all__ = ["RECIPES", "deephunter", "random"]
