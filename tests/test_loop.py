"""The loop as a whole, on a tiny network: what it promises whatever the parts."""

from __future__ import annotations

import copy
import itertools

import pytest
import torch
from torch import Tensor

from nnfuzz import budget
from nnfuzz.campaign import Campaign
from nnfuzz.coverage import KMNC, NC, TKNC, Cover
from nnfuzz.coverage.ranges import profile
from nnfuzz.errors import NnfuzzError
from nnfuzz.feedback import Together
from nnfuzz.oracles import FirstOf, changed, disagreeing, not_finite
from nnfuzz.recipes import RECIPES
from nnfuzz.records import Batch, Kind, Model, Step
from nnfuzz.tally import Tally, fingerprints
from nnfuzz.target import Target
from nnfuzz.validity import relative_l2
from nnfuzz.versions import Regressed
from tests.conftest import generator

ORACLE = FirstOf((not_finite, changed))


OWN = {
    "deephunter": {"power": 16, "batch": 10},
    "dlfuzz": {"iterations": 4, "step": 3.0, "k": 2, "strategies": "rarely,near", "near": 0.2},
    "deepxplore": {"iterations": 4, "step": 30.0, "process": "occlusion"},
    "drfuzz": {"energy": 5},
    "elites": {"energy": 2},
}
VERSIONS = ("drfuzz", "elites")  # test a new version against an old one
ORACLES = {
    "deepxplore": FirstOf((not_finite, disagreeing)),
    **dict.fromkeys(VERSIONS, FirstOf((not_finite, Regressed()))),
}


def twin(model: Model) -> Model:
    """Another opinion on the same task."""
    net = copy.deepcopy(model.net)
    with torch.no_grad():
        net.fc.weight.add_(0.2 * net.fc.weight.std() * torch.randn(net.fc.weight.shape, generator=generator(5)))
    return Model(net, "twin")


def campaign(model: Model, images: Tensor, recipe: str = "deephunter", batch_size: int = 64, **options) -> Campaign:
    if recipe in VERSIONS:
        return versions(model, images, recipe, batch_size, **options)
    models = [model, twin(model)] if recipe == "deepxplore" else [model]
    target = Target(models, images, dtype=torch.float64, batch_size=batch_size, features=("scaled",),
                    read=range(len(models)))  # fmt: skip
    ranges = profile([target(images[:32]).neurons])
    sizes = [layer.neurons for layer in target.layers]
    feedback = Together([Cover(KMNC(ranges)), Cover(NC(target.neurons)), Cover(TKNC(sizes))])
    options = {"rows": 64, **OWN.get(recipe, {}), **options}
    return RECIPES[recipe](Batch.of_seeds(images), target, feedback, ORACLES.get(recipe, ORACLE), **options)


def versions(model: Model, images: Tensor, recipe: str, batch_size: int, **options) -> Campaign:
    """The twin is the new version; what the old one answers is right."""
    target = Target([model, twin(model)], images, dtype=torch.float64, batch_size=batch_size, read=(1,))
    label = target(images).answer
    options = {"rows": 64, **OWN[recipe], **options}
    return RECIPES[recipe](Batch.of_seeds(images, label), target, None, ORACLES[recipe], **options)


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


@pytest.mark.parametrize("recipe", VERSIONS)
def test_the_same_seed_gives_the_same_run_on_two_versions(recipe: str, tiny: Model, images: Tensor) -> None:
    one, two = (run(campaign(tiny, images, recipe), 15) for _ in range(2))
    assert same(one, two)
    assert not same(one, run(campaign(tiny, images, recipe, rng=1), 15))
    assert len({int(kind) for step in one for kind in step.verdict}) > 2, "much happens in it"


@pytest.mark.parametrize("recipe", OWN)
def test_the_batch_size_changes_nothing(recipe: str, tiny: Model, images: Tensor) -> None:
    assert same(run(campaign(tiny, images, recipe), 15), run(campaign(tiny, images, recipe, batch_size=7), 15))


@pytest.mark.parametrize("recipe", OWN)
def test_it_goes_on_where_it_stopped(recipe: str, tiny: Model, images: Tensor) -> None:
    whole = run(campaign(tiny, images, recipe), 20)
    first, second = campaign(tiny, images, recipe), campaign(tiny, images, recipe)
    run(first, 12)
    second.load_state_dict(first.state_dict())
    assert same(whole[12:], list(itertools.islice(second.steps(), 8)))


@pytest.mark.parametrize("recipe", RECIPES)
def test_what_every_recipe_promises(recipe: str, tiny: Model, images: Tensor) -> None:
    before = torch.get_rng_state()
    parts = campaign(tiny, images, recipe)
    parts.admit()
    oracle = ORACLES.get(recipe, ORACLE)
    for step in itertools.islice(parts.steps(), 10):
        assert len(step.tried) == len(step.parents) == 64
        assert len(step.children) == len(step.gain) == len(step.verdict) == step.seen.logits.shape[1]
        assert step.children.x.dtype == torch.uint8
        assert (parts.corpus.note("seed", step.children.parent) == step.children.seed).all(), "lineage holds"
        asked = step.tried[step.valid][step.fair]  # with what was noted of their parents
        assert torch.equal(asked.x, step.children.x)
        answers = oracle(asked, parts.target(asked.x))
        assert (answers == step.verdict).all(), "the verdict is that of the stored pixels"
        if hasattr(parts.mutate, "replay"):
            replayed = parts.mutate.replay(step.parents, step.tried.notes["op"], step.tried.notes["param"])
            assert torch.equal(replayed, step.tried.x), "the notes give the same pixels again"
        kept = parts.corpus[step.kept]
        assert not (oracle(kept, parts.target(kept.x)) != Kind.NOTHING).any(), "findings are not mutated further"
    assert (torch.get_rng_state() == before).all()


def test_dlfuzz_keeps_its_rules(tiny: Model, images: Tensor) -> None:
    near = {"near": 0.1, "max_l2": 0.2, "threshold": 0.8, "share": 0.0, "strategies": "uncovered"}
    parts = campaign(tiny, images[:1], "dlfuzz", **near)
    kept = 0
    for step in run(parts, 30):
        assert relative_l2(step.children.x, step.children.notes["reference"]).le(0.2).all(), "binds what is executed"
        seeds = parts.corpus[step.kept]
        kept += len(seeds)
        assert relative_l2(seeds.x, seeds.notes["reference"]).le(0.1).all()
        assert torch.equal(seeds.notes["reference"], images[seeds.seed])
    assert kept > 0


def test_dlfuzz_ends_when_its_lists_are_empty(tiny: Model, images: Tensor) -> None:
    parts = campaign(tiny, images, "dlfuzz", rounds=1, near=0.0)
    steps = run(parts, 50)
    assert len(steps) == 4, "64 images, 16 a turn, nothing kept"
    parents = torch.cat([step.parents.parent for step in steps])
    assert parents.tolist() == torch.arange(64).repeat_interleave(4).tolist()


def test_deepxplore_wants_several_models(tiny: Model, images: Tensor) -> None:
    target = Target(tiny, images, features=("scaled",))
    with pytest.raises(NnfuzzError, match="expected several models to compare, and came one"):
        RECIPES["deepxplore"](Batch.of_seeds(images), target, Cover(NC(target.neurons)), ORACLE)


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


def test_what_follows_the_search_takes_none_of_its_time() -> None:
    now = [10.0]
    tally = Tally(clock=lambda: now[0])
    now[0] = 13.0
    tally.rest()
    now[0] = 20.0
    assert tally.seconds == 3
    tally.resume(3.0)
    now[0] = 21.0
    assert tally.seconds == 4
