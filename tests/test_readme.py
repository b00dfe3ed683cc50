"""What the README shows in Python runs as it stands."""

from __future__ import annotations

import pathlib
import re

import pytest
import torch

from nnfuzz.coverage import Cover
from nnfuzz.records import Model
from nnfuzz.target import Target

README = pathlib.Path(__file__).parent.parent / "README.md"
HUNT, CRITERION = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_a_criterion_of_ones_own(tiny: Model, images: torch.Tensor) -> None:
    from dataclasses import dataclass

    from torch import Tensor

    from nnfuzz.records import Seen

    names = {"dataclass": dataclass, "Seen": Seen, "Tensor": Tensor, "torch": torch, "__name__": __name__}
    exec(compile(CRITERION, "README.md", "exec", dont_inherit=True), names)  # type: ignore[arg-type]
    target = Target(tiny, images, features=("scaled",))
    cover = Cover(names["Halves"](target.neurons))  # type: ignore[operator]
    cover.update(cover.criterion(target(images)))
    assert 0 < cover.coverage < 1


@pytest.mark.slow
def test_the_loop_by_hand() -> None:
    names: dict[str, object] = {}
    exec(HUNT, names)
    assert len(names["wrong"])  # type: ignore[arg-type]
