"""Every corpus: ids are rows, what goes in comes out, lineage holds."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nnfuzz.corpus import Pool
from nnfuzz.records import Batch

CORPORA = [Pool]


def batch(rows: int, first: int = 0) -> Batch:
    x = (torch.arange(first, first + rows)[:, None, None, None] % 256).to(torch.uint8).expand(-1, 1, 4, 4)
    return Batch.of_seeds(x, torch.arange(first, first + rows), spent=torch.arange(first, first + rows))


@pytest.mark.parametrize("make", CORPORA)
def test_rows_come_back_as_they_went_in(make: type[Pool]) -> None:
    corpus = make()
    given = [batch(3), batch(0, 3), batch(5, 3), batch(200, 8)]
    ids = torch.cat([corpus.add(b) for b in given])
    assert ids.tolist() == list(range(208))
    assert len(corpus) == 208
    picked = torch.tensor([207, 0, 5, 5])
    out = corpus[picked]
    assert out.label.tolist() == [207, 0, 5, 5]
    assert out.x.flatten(1)[:, 0].tolist() == [207, 0, 5, 5]
    assert out.notes["spent"].tolist() == [207, 0, 5, 5]
    assert out.parent.tolist() == picked.tolist(), "a row handed out names itself as the parent of what follows"
    assert corpus.note("parent", picked).tolist() == [-1] * 4


@pytest.mark.parametrize("make", CORPORA)
def test_a_copy_is_handed_out(make: type[Pool]) -> None:
    corpus = make()
    corpus.add(batch(2))
    corpus[torch.tensor([0])].x.fill_(99)
    assert corpus[torch.tensor([0])].x.max() == 0


@pytest.mark.parametrize("make", CORPORA)
def test_lineage_is_ids(make: type[Pool]) -> None:
    corpus = make()
    corpus.add(batch(4))
    parents = corpus[torch.tensor([2, 3])]
    ids = corpus.add(parents.child(parents.x + 1))
    assert corpus.note("parent", ids).tolist() == [2, 3]
    assert corpus.note("seed", ids).tolist() == [2, 3]


@pytest.mark.parametrize("make", CORPORA)
@pytest.mark.parametrize("wrong", [torch.tensor([4]), torch.tensor([0, 1000])])
def test_an_id_it_does_not_hold_is_an_error(make: type[Pool], wrong: Tensor) -> None:
    corpus = make()
    corpus.add(batch(4))
    with pytest.raises(IndexError):
        corpus[wrong]


@pytest.mark.parametrize("make", CORPORA)
def test_state_goes_round(make: type[Pool]) -> None:
    corpus, other = make(), make()
    corpus.add(batch(5))
    other.load_state_dict(corpus.state_dict())
    assert (other.add(batch(3)) == corpus.add(batch(3))).all()
    everything = torch.arange(8)
    assert (other[everything].x == corpus[everything].x).all()


def test_different_notes_are_refused() -> None:
    corpus = Pool()
    corpus.add(batch(1))
    with pytest.raises(ValueError, match="columns"):
        corpus.add(Batch.of_seeds(torch.zeros(1, 1, 4, 4, dtype=torch.uint8)))
