"""The regression oracle over all cases, against what it says in words."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from nnfuzz.records import Batch, Kind, Seen
from nnfuzz.versions import Regressed, ahead, compared, sure_of_label

NOT = -1.0  # no note on the parent
SHARES = [NOT, 0.0, 0.11, 0.24, 0.42, 0.58, 0.73, 0.91, 1.0]


def seen(old: Tensor, new: Tensor) -> Seen:
    """From probabilities [B,K]."""
    return Seen(torch.stack([old, new]).log(), torch.zeros(len(old), 0))


def batch(label: list[int], **notes: Tensor) -> Batch:
    return Batch.of_seeds(torch.zeros(len(label), 1, 2, 2, dtype=torch.uint8), torch.tensor(label), **notes)


def of_label(share: float) -> list[float]:
    """Three classes, of which 0 has this share; the rest goes to class 2."""
    return [share, 0.0, 1 - share]


def said(old: float, new: float, before: float | None, border: float) -> int:
    """What the paper's release says of an input of class 0; `before` is old - new of the parent."""
    old_right, new_right, now = old >= 0.5, new >= 0.5, old - new
    if not new_right:
        return Kind.REGRESSION if old_right else Kind.BOTH_WRONG
    if not old_right:
        return Kind.FIXED
    if before is None:
        return Kind.NOTHING
    crossed, further = before > 0 > now, now < before < 0
    return Kind.FIXED if (crossed or further) and before - now > border else Kind.NOTHING


def test_every_case() -> None:
    cases = [(o, n, po, pn) for o, n, po, pn in itertools.product(SHARES[1:], SHARES[1:], SHARES, SHARES)
             if NOT not in (po, pn) and po != pn]  # fmt: skip
    parents = torch.tensor([(po, pn) for _, _, po, pn in cases], dtype=torch.float64)
    old, new = (torch.tensor([of_label(case[which]) for case in cases], dtype=torch.float64) for which in (0, 1))
    verdict = Regressed()(batch([0] * len(cases), sure=parents), seen(old, new)).tolist()
    expected = [said(o, n, po - pn, 0.15) for o, n, po, pn in cases]
    assert verdict == expected
    assert set(expected) == {Kind.REGRESSION, Kind.BOTH_WRONG, Kind.FIXED, Kind.NOTHING}


def test_without_a_parent_nobody_catches_up() -> None:
    shares = list(itertools.product(SHARES[1:], repeat=2))
    old, new = (torch.tensor([of_label(pair[which]) for pair in shares]) for which in (0, 1))
    verdict = Regressed()(batch([0] * len(shares)), seen(old, new)).tolist()
    assert verdict == [said(o, n, None, 0.15) for o, n in shares]


@pytest.mark.parametrize(
    ("parent", "child", "catching_up"),
    [
        ((0.9, 0.75), (0.75, 0.8), True),  # from behind to in front
        ((0.75, 0.8), (0.75, 0.96), True),  # from in front to further in front
        ((0.99, 0.51), (0.75, 0.65), False),  # still behind, however much was won
        ((0.99, 0.51), (0.75, 0.75), False),  # level is not in front
    ],
)
def test_at_the_border(parent: tuple[float, float], child: tuple[float, float], catching_up: bool) -> None:
    """Won by just as much as the border is too little."""
    before, now = (seen(*(torch.tensor([of_label(share)]) for share in pair)) for pair in (parent, child))
    children = compared(batch([0]), before)
    won = float(ahead(children.notes["sure"]) - ahead(sure_of_label(children, now)))
    assert won > 0.15
    assert Regressed(catching_up=won)(children, now).item() == Kind.NOTHING
    assert Regressed(catching_up=won - 1e-6)(children, now).item() == Kind.FIXED * catching_up


def test_what_has_no_label_cannot_regress() -> None:
    sure = torch.tensor([[0.5, 0.5]] * 2)
    both = torch.tensor([of_label(0.9), of_label(0.1)])
    verdict = Regressed()(batch([-1, -1], sure=sure), seen(both, both.flip(1)))
    assert verdict.tolist() == [Kind.BOTH_WRONG] * 2


def test_no_rows() -> None:
    nothing = batch([], sure=torch.zeros(0, 2))
    assert Regressed()(nothing, seen(torch.zeros(0, 3), torch.zeros(0, 3))).shape == (0,)
    assert compared(nothing, seen(torch.zeros(0, 3), torch.zeros(0, 3))).notes["sure"].shape == (0, 2)


def test_notes_on_both_versions() -> None:
    old = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4]])
    new = torch.tensor([[0.5, 0.2, 0.3], [0.3, 0.5, 0.2], [0.1, 0.1, 0.8]])
    given = batch([0, 1, 2], sure=torch.zeros(3, 2), mine=torch.arange(3))
    made = compared(given, seen(old, new))
    expected = torch.tensor([[0.7, 0.5], [0.8, 0.5], [0.4, 0.8]])
    assert torch.allclose(made.notes["sure"], expected)
    assert made.notes["tendency"].tolist()[:2] == [2, 0], "never the label, though row 2 gains nothing else"
    assert made.notes["tendency"][2] in (0, 1)
    assert made.notes["mine"].tolist() == [0, 1, 2]
    assert not given.notes["sure"].any(), "the batch that came in stays as it is"
    assert torch.equal(made.x, given.x)
