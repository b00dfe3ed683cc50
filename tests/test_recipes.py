"""Parameters of the gradient recipes that make no sense are refused in one sentence, before anything is searched."""

from __future__ import annotations

import pytest
from torch import Tensor

from nnfuzz.coverage import NC, Cover
from nnfuzz.errors import NnfuzzError
from nnfuzz.hunting import ORACLES
from nnfuzz.recipes import RECIPES
from nnfuzz.records import Batch, Model
from nnfuzz.target import Target

NAN = float("nan")


@pytest.mark.parametrize(("recipe", "given", "said"), [
    ("dlfuzz", {"scores": "logit"}, "expected scores to be one of logits, probabilities, and came 'logit'"),
    ("dlfuzz", {"stop": "second"}, "expected stop to be one of first, never, and came 'second'"),
    ("dlfuzz", {"max_l2": NAN}, "expected max_l2 above 0, and came nan"),
    ("dlfuzz", {"max_l2": 0.0}, "expected max_l2 above 0, and came 0.0"),
    ("dlfuzz", {"near": -0.1}, "expected near from 0 up, and came -0.1"),
    ("dlfuzz", {"weight": NAN}, "expected weight from 0 up, and came nan"),
    ("dlfuzz", {"threshold": 1.5}, "expected threshold from 0 to 1, and came 1.5"),
    ("dlfuzz", {"m": 0}, "expected m above 0, and came 0"),
    ("dlfuzz", {"k": 0}, "expected k above 0, and came 0"),
    ("dlfuzz", {"step": NAN}, "expected step above 0, and came nan"),
    ("dlfuzz", {"iterations": 0}, "expected iterations above 0, and came 0"),
    ("deepxplore", {"against": 2}, "expected against from 0 to 1, a model's place, and came 2"),
    ("deepxplore", {"against": -1}, "expected against from 0 to 1, a model's place, and came -1"),
    ("deepxplore", {"lambda2": NAN}, "expected lambda2 from 0 up, and came nan"),
    ("deepxplore", {"step": -1.0}, "expected step above 0, and came -1.0"),
])  # fmt: skip
def test_refused(recipe: str, given: dict[str, object], said: str, tiny: Model, images: Tensor) -> None:
    target = Target([tiny, tiny], images, features=("scaled",), read=range(2))
    seeds, cover = Batch.of_seeds(images[:2]), Cover(NC(target.neurons))
    with pytest.raises(NnfuzzError, match=f"^{said}$"):
        RECIPES[recipe](seeds, target, cover, ORACLES["changed"], **given)
