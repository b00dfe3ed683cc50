"""What the README shows in Python runs as it stands, and no command or room is left out of the documents."""

from __future__ import annotations

import pathlib
import re

import pytest
import torch

import nnfuzz
from nnfuzz.cli import app
from nnfuzz.coverage import Cover
from nnfuzz.records import Model
from nnfuzz.target import Target

README = pathlib.Path(__file__).parent.parent / "README.md"
MAP = README.parent / "docs" / "architecture.md"
ROOMS = [p for p in pathlib.Path(nnfuzz.__file__).parent.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()]
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


def test_every_command_is_in_the_readme() -> None:
    text = README.read_text(encoding="utf-8")
    names = [
        command.name or command.callback.__name__.replace("_", "-")
        for command in app.registered_commands
        if command.callback
    ]
    assert [name for name in names if f"`nnfuzz {name}" not in text] == []


def test_every_room_is_on_the_map() -> None:
    text = MAP.read_text(encoding="utf-8")
    rooms = [f"{room.name}/"[: None if room.is_dir() else -1] for room in ROOMS if not room.name.startswith("__")]
    assert sorted(room for room in rooms if f"`{room}`" not in text) == []


@pytest.mark.slow
def test_the_loop_by_hand() -> None:
    names: dict[str, object] = {}
    exec(HUNT, names)
    assert len(names["wrong"])  # type: ignore[arg-type]
