"""The loop as a whole, on a tiny network: what it promises whatever the parts."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from nnfuzz import budget
from nnfuzz.campaign import Campaign
from nnfuzz.coverage import KMNC, NC, TKNC, Cover
from nnfuzz.coverage.ranges import profile
from nnfuzz.feedback import Together
from nnfuzz.oracles import FirstOf, changed, not_finite
from nnfuzz.recipes import RECIPES
from nnfuzz.records import Batch, Kind, Model, Step
from nnfuzz.tally import Tally, fingerprints
from nnfuzz.target import Target

ORACLE = FirstOf((not_finite, changed))


def campaign(model: Model, images: Tensor, recipe: str = "deephunter", batch_size: int = 64, **options) -> Campaign:
    target = Target(model, images, dtype=torch.float64, batch_size=batch_size, features=("scaled",))
    ranges = profile([target(images[:32]).neurons])
    sizes = [layer.neurons for layer in target.layers]
    feedback = Together([Cover(KMNC(ranges)), Cover(NC(target.neurons)), Cover(TKNC(sizes))])
    options = {"rows": 64, "power": 16, "batch": 10, **options} if recipe == "deephunter" else {"rows": 64, **options}
    return RECIPES[recipe](Batch.of_seeds(images), target, feedback, ORACLE, **options)


def run(parts: Campaign, turns: int) -> list[Step]:
    parts.admit()
    return list(itertools.islice(parts.steps(), turns))


def same(a: list[Step], b: list[Step]) -> bool:
    return len(a) == len(b) and all(
        torch.equal(p.children.x, q.children.x)
        and torch.equal(p.verdict, q.verdict)
        and torch.equal(p.gain, q.gain)
        and torch.equal(p.kept, q.kept)
        for p, q in zip(a, b, strict=True)
    )


@pytest.mark.parametrize("options", [{}, {"select": "recent"}, {"select": "probabilistic"}, {"keep": "batches"}])
def test_the_same_seed_gives_the_same_run_byte_for_byte(tiny: Model, images: Tensor, options: dict[str, str]) -> None:
    one, two = (run(campaign(tiny, images, **options), 15) for _ in range(2))
    assert same(one, two)
    assert not same(one, run(campaign(tiny, images, rng=1, **options), 15))


def test_the_batch_size_changes_nothing(tiny: Model, images: Tensor) -> None:
    assert same(run(campaign(tiny, images), 15), run(campaign(tiny, images, batch_size=7), 15))


def test_it_goes_on_where_it_stopped(tiny: Model, images: Tensor) -> None:
    whole = run(campaign(tiny, images), 20)
    first, second = campaign(tiny, images), campaign(tiny, images)
    run(first, 12)
    second.load_state_dict(first.state_dict())
    assert same(whole[12:], list(itertools.islice(second.steps(), 8)))


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_every_recipe_promises(recipe: str, tiny: Model, images: Tensor) -> None:
    before = torch.get_rng_state()
    parts = campaign(tiny, images, recipe)
    parts.admit()
    for step in itertools.islice(parts.steps(), 10):
        assert len(step.tried) == len(step.parents) == 64
        assert len(step.children) == len(step.gain) == len(step.verdict) == step.seen.logits.shape[1]
        assert step.children.x.dtype == torch.uint8
        assert (parts.corpus.note("seed", step.children.parent) == step.children.seed).all(), "lineage holds"
        answers = ORACLE(step.children, parts.target(step.children.x))
        assert (answers == step.verdict).all(), "the verdict is that of the stored pixels"
        mutate = parts.mutate
        replayed = mutate.replay(step.parents, step.tried.notes["op"], step.tried.notes["param"])  # type: ignore[attr-defined]
        assert torch.equal(replayed, step.tried.x), "the notes give the same pixels again"
        kept = parts.corpus[step.kept]
        assert not (ORACLE(kept, parts.target(kept.x)) != Kind.NOTHING).any(), "findings are not mutated further"
    assert (torch.get_rng_state() == before).all()


def test_deephunter_keeps_its_rules(tiny: Model, images: Tensor) -> None:
    parts = campaign(tiny, images)
    steps = run(parts, 40)
    assert len(parts.corpus) > len(images)
    affine = len(parts.mutate.affine)  # type: ignore[attr-defined]
    for step in steps:
        moved_before = step.parents.notes["moved"]
        op = step.tried.notes["op"]
        assert not (moved_before & (op >= 0) & (op < affine)).any(), "affine at most once in a lineage"
        assert parts.mutate.satisfied(step.children, step.children).all()  # type: ignore[attr-defined]
        reference = step.children.notes["reference"].int()
        spent = (step.children.x.int() - reference).abs().flatten(1).sum(1)
        assert (spent == step.children.notes["spent"]).all()


def test_seeds_that_are_wrong_are_set_aside(tiny: Model, images: Tensor) -> None:
    target = Target(tiny, images)
    label = target(images).answer.clone()
    label[::4] = (label[::4] + 1) % 3
    cover = Cover(NC(target.neurons, scaled=False))
    from nnfuzz.oracles import misclassified

    parts = RECIPES["random"](Batch.of_seeds(images, label), target, cover, misclassified)
    aside = parts.admit()
    assert aside.seed.tolist() == list(range(0, 64, 4))
    assert (aside.notes["verdict"] == Kind.MISCLASSIFIED).all()
    assert len(parts.corpus) == 48
    alone = Cover(NC(target.neurons, scaled=False))
    alone.update(alone.criterion(target(images[[i for i in range(64) if i % 4]])))
    assert cover.coverage == alone.coverage, "what is set aside is not covered"


def test_budgets_stop_between_steps(tiny: Model, images: Tensor) -> None:
    parts = campaign(tiny, images)
    parts.admit()
    assert sum(len(s.tried) for s in budget.tries(parts.steps(), 100)) == 128
    now = iter([0.0, 1.0, 2.5, 9.0])
    assert len(list(budget.seconds(parts.steps(), 2.0, clock=lambda: next(now)))) == 2
    asked = iter([False, False, True])
    assert len(list(budget.until(parts.steps(), lambda: next(asked)))) == 3


def test_a_tally_counts_inputs_and_distinct_ones(tiny: Model, images: Tensor) -> None:
    parts = campaign(tiny, images)
    tally, found, seeds = Tally(), [], set()
    for step in run(parts, 30):
        rows = step.verdict.nonzero().flatten()
        new = tally.read(step)
        fresh = [x.numpy().tobytes() for x in step.children.x[new]]
        assert not set(fresh) & set(found)
        found += fresh
        seeds |= set(step.children.seed[rows].tolist())
    every = [x.numpy().tobytes() for step in run(campaign(tiny, images), 30)
             for x in step.children.x[step.verdict != 0]]  # fmt: skip
    assert tally.findings == len(every) > 0
    assert tally.distinct == len(set(every)) == len(found)
    assert tally.seeds_hit == len(seeds)
    assert tally.tries == 30 * 64


def test_fingerprints_tell_single_bits_apart() -> None:
    x = torch.zeros(300, 1, 28, 28, dtype=torch.uint8)
    x.flatten(1)[torch.arange(1, 300), torch.arange(299)] = 2 ** (torch.arange(299) % 8).to(torch.uint8)
    assert len(set(fingerprints(x).tolist())) == 300
    assert torch.equal(fingerprints(x), torch.cat([fingerprints(row) for row in x.split(7)]))
