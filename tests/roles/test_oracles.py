"""Every oracle and keep: one Kind or bool a row, whatever the neighbours."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from nnfuzz.feedback import Together, new_batches, new_rows, nothing
from nnfuzz.oracles import FirstOf, changed, disagreeing, misclassified, not_finite
from nnfuzz.records import Batch, Kind, Seen

NAN = float("nan")
LOGITS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [NAN, 1.0], [1.0, float("inf")]])
CHILDREN = Batch.of_seeds(
    torch.zeros(5, 1, 2, 2, dtype=torch.uint8), torch.tensor([0, 0, -1, 1, 1]), answer=torch.tensor([1, 1, 1, 1, 1])
)
SEEN = Seen(LOGITS[None], torch.zeros(5, 3))
M, C, N = Kind.MISCLASSIFIED, Kind.CHANGED, Kind.NOT_FINITE
ORACLES = {
    "misclassified": (misclassified, [0, M, 0, M, 0]),  # argmax of a row with NaN is the NaN
    "changed": (changed, [C, 0, 0, C, 0]),
    "not finite": (not_finite, [0, 0, 0, N, N]),
    "first of": (FirstOf((not_finite, misclassified)), [0, M, 0, N, N]),
}


@pytest.mark.parametrize(("oracle", "verdict"), ORACLES.values(), ids=ORACLES)
def test_verdicts(oracle: Callable[[Batch, Seen], Tensor], verdict: list[int]) -> None:
    assert oracle(CHILDREN, SEEN).tolist() == verdict
    rows = [slice(i, i + 1) for i in range(5)]
    assert [oracle(CHILDREN[r], SEEN[r]).item() for r in rows] == verdict
    assert oracle(CHILDREN[:0], SEEN[:0]).shape == (0,)


def test_what_is_kept() -> None:
    gain, verdict = torch.tensor([0, 2, 3, 0]), torch.tensor([0, 0, M, N])
    assert new_rows(gain, verdict).tolist() == [False, True, False, False]
    assert new_batches(gain, verdict).tolist() == [True, True, False, False]
    assert new_batches(torch.tensor([0, 0, 3, 0]), verdict).tolist() == [False] * 4, "findings do not count"
    assert new_batches(gain[:0], verdict[:0]).shape == (0,)
    assert not nothing(gain, verdict).any()


def test_gains_add_up() -> None:
    ones = lambda children, seen: torch.ones(len(children), dtype=torch.int64)  # noqa: E731
    assert Together([ones, ones])(CHILDREN, SEEN).tolist() == [2] * 5


def test_models_that_disagree() -> None:
    answers = torch.tensor([[0, 1, 2, 1], [0, 1, 2, 2], [0, 0, 2, 0]])
    seen = Seen(torch.nn.functional.one_hot(answers, 3).float(), torch.zeros(4, 1))
    children = CHILDREN[:4]
    assert disagreeing(children, seen).tolist() == [0, Kind.DISAGREEING, 0, Kind.DISAGREEING]
    assert not disagreeing(children, Seen(seen.logits[:1], seen.neurons)).any(), "one model agrees with itself"
