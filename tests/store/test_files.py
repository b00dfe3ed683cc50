"""Inputs as files: lossless, whole, and readable by everybody else's tools."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from nnfuzz.store import inputs, png


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 32, 32), (1, 1, 1), (3, 1, 7), (3, 224, 224), (1, 9, 2)])
def test_pillow_reads_every_pixel(shape: tuple[int, int, int]) -> None:
    noise = torch.randint(0, 256, shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    for x in (noise, torch.zeros_like(noise), noise.transpose(0, 2).contiguous().transpose(0, 2)):
        with Image.open(io.BytesIO(png.encode(x))) as image:
            image.load()
            assert image.mode == ("L" if shape[0] == 1 else "RGB")
            assert (np.asarray(image).reshape(shape[1], shape[2], shape[0]) == x.permute(1, 2, 0).numpy()).all()


@pytest.mark.parametrize(
    "x",
    [
        torch.arange(64, dtype=torch.uint8).view(1, 8, 8), torch.arange(192, dtype=torch.uint8).view(3, 8, 8),
        torch.arange(64, dtype=torch.int16).view(1, 8, 8) * 500, torch.arange(128, dtype=torch.uint8).view(2, 8, 8),
    ],
)  # fmt: skip
def test_what_is_saved_is_what_is_loaded(tmp_path: Path, x: torch.Tensor) -> None:
    (tmp_path / "findings").mkdir()
    name = f"findings/000007-misclassified.{inputs.ending(x)}"
    inputs.save(x, tmp_path / name)
    assert torch.equal(inputs.load(tmp_path, name), x)
    assert [file.name for file in (tmp_path / "findings").iterdir()] == [Path(name).name]


def test_half_a_file_never_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(inputs.os, "replace", killed)
    with pytest.raises(KeyboardInterrupt):
        inputs.save(torch.zeros(1, 8, 8, dtype=torch.uint8), tmp_path / "000000-misclassified.png")
    assert [file.name for file in tmp_path.iterdir()] == [".000000-misclassified.png.part"]
