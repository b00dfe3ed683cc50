"""Referees: a majority, and models that judge the same classes."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from nnfuzz import models
from nnfuzz.errors import NnfuzzError
from nnfuzz.referees import doubtful, referees


def saying(*answers: int) -> list[object]:
    return [lambda x, answer=answer: one_hot(torch.full((len(x),), answer), 3).float() for answer in answers]


@pytest.mark.parametrize(
    ("answers", "doubt"),
    [((1,), False), ((0,), True), ((1, 0), False), ((0, 2), True), ((1, 1, 0), False), ((0, 2, 1), True)],
)
def test_the_majority_no_longer_reads_the_label(answers: tuple[int, ...], doubt: bool) -> None:
    x, label = torch.zeros(4, 1, 2, 2, dtype=torch.uint8), torch.full((4,), 1)
    assert doubtful(saying(*answers), x, label).tolist() == [doubt] * 4  # type: ignore[arg-type]
    assert doubtful(saying(*answers), x[:0], label[:0]).shape == (0,)  # type: ignore[arg-type]


def test_named_by_a_file_or_by_what_it_is_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNFUZZ_DATA", str(tmp_path))
    judge = models.build("referee-residual", (1, 8, 8), 3, seed=1)
    path = tmp_path / "models" / "shapes-referee1.safetensors"
    models.save(judge, path)
    x = torch.randint(0, 256, (5, 1, 8, 8), dtype=torch.uint8)
    by_file, by_name = referees([str(path), "shapes-referee1"], x, classes=3)
    assert (by_file(x) == by_name(x)).all()
    assert not models.runs_code(str(path))
    assert not models.runs_code("shapes-referee1")
    assert models.runs_code("my.py:judge")
    with pytest.raises(NnfuzzError, match=r"10 classes apart and .* tells 3"):
        referees([str(path)], x, classes=10)


def test_weights_that_do_not_say_whose_they_are(tmp_path: Path, images: Tensor) -> None:
    path = tmp_path / "mine.safetensors"
    models.save(models.build("digits").net, path)
    with pytest.raises(NnfuzzError, match=r"the name of its network .* give NETWORK@"):
        referees([str(path)], images, classes=10)
