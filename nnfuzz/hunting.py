"""One hunt from start to end: open, look, profile, admit, fuzz, and the numbers that come out."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch

import nnfuzz
from nnfuzz import budget, data
from nnfuzz.campaign import Campaign, seeded
from nnfuzz.coverage import Cover
from nnfuzz.errors import NnfuzzError
from nnfuzz.feedback import Together
from nnfuzz.gallery import Gallery
from nnfuzz.opening import Settings, Subject, check_criteria, covers, open_subject, training_set
from nnfuzz.oracles import FirstOf, changed, misclassified, not_finite
from nnfuzz.recipes import RECIPES
from nnfuzz.records import Batch, Step
from nnfuzz.roles import Oracle
from nnfuzz.store import RunFolder, vacant
from nnfuzz.tally import Tally

ORACLES: dict[str, Oracle] = {
    "misclassified": FirstOf((not_finite, misclassified)),
    "changed": FirstOf((not_finite, changed)),
}
# What one turn of the loop costs the model at most: a second or so on two cores. Not measured but
# counted, so that the same seed gives the same run on every machine.
TURN_WORK, TURN_ACTIVATIONS, TURN_ROWS = 2**37, 2**28, 4096


@dataclass(frozen=True)
class Hunt:
    """What was asked for; stored with the run."""

    model: str
    data: str
    recipe: str = "deephunter"
    criteria: tuple[str, ...] = ("kmnc",)
    oracle: str = "auto"
    seconds: float | None = None
    tries: int | None = None
    seeds: int = 1000
    seed: int = 0
    profile: str | None = None
    out: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)  # of the recipe
    settings: Settings = field(default_factory=Settings)


class Watch(Protocol):
    """Who looks on while a hunt runs."""

    def say(self, name: str, text: str) -> None: ...
    def tick(self, snapshot: Mapping[str, Any]) -> None: ...


@dataclass(frozen=True, eq=False)
class Prepared:
    """A campaign whose seeds are admitted, and what measures it."""

    campaign: Campaign
    covers: Sequence[Cover]
    before: Sequence[float]
    aside: Batch


def choose(x: torch.Tensor, label: torch.Tensor, count: int, seed: int) -> Batch:
    """`count` inputs picked at random, each under its own row number in the data."""
    rows = torch.randperm(len(x), generator=seeded(seed))[:count].sort().values
    every = Batch.of_seeds(x[rows], label[rows])
    return Batch(every.x, every.label, rows, every.parent)


def prepare(
    subject: Subject, covers: Sequence[Cover], seeds: Batch, recipe: str = "deephunter", oracle: str = "auto",
    seed: int = 0, parameters: Mapping[str, Any] | None = None, tries: int | None = None,
) -> Prepared:  # fmt: skip
    """The recipe's campaign on an opened subject, with its seeds admitted; no turn makes more than `tries`."""
    if oracle == "auto":
        oracle = "misclassified" if (seeds.label >= 0).all() else "changed"
    _known("recipe", recipe, RECIPES)
    _known("oracle", oracle, ORACLES)
    make = RECIPES[recipe]
    target = subject.target
    rows = max(16, min(TURN_ROWS, TURN_WORK // target.work, TURN_ACTIVATIONS // target.activations))
    rows = min(rows, tries or rows)
    parameters = _fitting(make, recipe, {"rows": rows, "rng": seed, **(parameters or {})})
    feedback = covers[0] if len(covers) == 1 else Together(covers)
    campaign = make(seeds, subject.target, feedback, ORACLES[oracle], **parameters)
    aside = campaign.admit()
    if not len(campaign.corpus):
        raise NnfuzzError(
            f"none of {len(seeds)} seeds is answered right, so there is nothing to start from; check --mean/--std and"
            " the order of the classes, or use --oracle changed"
        )
    return Prepared(campaign, covers, [cover.coverage for cover in covers], aside)


def _known(kind: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise NnfuzzError(f"expected {kind} to be one of {', '.join(known)}, and came {name!r}")


def _fitting(make: Callable[..., Campaign], recipe: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters in the types of the recipe's defaults; one it does not have is refused with those it has."""
    known = {n: p.default for n, p in inspect.signature(make).parameters.items() if p.kind is p.KEYWORD_ONLY}
    simple = {name: default for name, default in known.items() if isinstance(default, int | float | str)}
    fitting = {}
    for name, value in given.items():
        try:
            fitting[name] = type(simple[name])(value)
        except (KeyError, ValueError):
            listed = ", ".join(f"{n}={d}" for n, d in simple.items())
            raise NnfuzzError(f"expected a parameter of {recipe} ({listed}), and came {name}={value}") from None
    return fitting


def limited(steps: Iterator[Step], seconds: float | None, tries: int | None) -> Iterator[Step]:
    """The steps until a limit is reached."""
    if seconds is not None:
        steps = budget.seconds(steps, seconds)
    return steps if tries is None else budget.tries(steps, tries)


def hunt(ask: Hunt, watch: Watch) -> dict[str, Any]:
    """Do it, tell `watch` how it goes, leave a run folder if one was asked for, and return the result."""
    started = time.monotonic()
    check(ask)
    subject = open_subject(ask.model, ask.data, ask.settings, ask.criteria)
    with subject.target:
        for line in subject.lines():
            watch.say(*line)
        train = training_set(ask.profile or ask.data, ask.settings)
        if train is None and ask.profile:
            train = data.load(ask.profile, size=ask.settings.resize)
        held = covers(subject, ask.criteria, train, ask.settings.sigma, watch.say)
        seeds = choose(subject.images.x, subject.images.label, ask.seeds, ask.seed)
        prey = prepare(subject, held, seeds, ask.recipe, ask.oracle, ask.seed, ask.parameters, ask.tries)
        watch.say("seeds", f"{len(prey.campaign.corpus):,}, and {len(prey.aside):,} already wrong, set aside")
        return _search(ask, subject, prey, time.monotonic() - started, watch)


def check(ask: Hunt) -> None:
    """Refuse at once what would only be refused after everything is loaded."""
    _known("recipe", ask.recipe, RECIPES)
    _known("oracle", ask.oracle, ("auto", *ORACLES))
    check_criteria(ask.criteria)
    _fitting(RECIPES[ask.recipe], ask.recipe, ask.parameters)
    if ask.out:
        vacant(Path(ask.out))


def _search(ask: Hunt, subject: Subject, prey: Prepared, setup: float, watch: Watch) -> dict[str, Any]:
    """Fuzz; whatever ends it, what was found until then is in the run folder."""
    gallery, tally, ended = Gallery(subject.images.x), Tally(), "interrupted"
    with budget.interruptible() as stopped:
        folder = RunFolder(Path(ask.out), _operators(prey.campaign)) if ask.out else None
        if folder:
            folder.describe({"asked": asdict(ask), **_origin(subject, prey), "setup_seconds": round(setup, 2)})
        try:
            ended = _turns(ask, prey, tally, gallery, folder, watch, stopped)
        except Exception as error:
            ended = f"error: {error}"
            if folder and isinstance(error, NnfuzzError):
                raise NnfuzzError(f"{error}; what was found until then is in {folder.path}") from error
            raise
        finally:
            result = _result(prey, tally, ask, setup, ended)
            if folder:
                folder.tick(snapshot(prey, tally))
                folder.summarise(result)
                folder.close()
                gallery.save(folder.path / "findings.png", subject.images.classes)
    return result


def _turns(
    ask: Hunt, prey: Prepared, tally: Tally, gallery: Gallery, folder: RunFolder | None, watch: Watch,
    stopped: Callable[[], bool],
) -> str:  # fmt: skip
    """Read the steps until they end; say why they did."""
    ticked = 0.0
    for step in budget.until(limited(prey.campaign.steps(), ask.seconds, ask.tries), stopped):
        new = tally.read(step)
        first = bool(len(new)) and not gallery.count
        gallery.add(step, new)
        images = folder.add(step, new) if folder else []
        if first:
            watch.say("first finding", f"after {tally.first_finding_seconds:.1f} s: {gallery.first(images)}")
        if tally.seconds - ticked >= 1:
            ticked = tally.seconds
            now = snapshot(prey, tally)
            watch.tick(now)
            if folder:
                folder.tick(now)
    if stopped():
        return "interrupted"
    return "tries" if ask.tries is not None and tally.tries >= ask.tries else "time"


def snapshot(prey: Prepared, tally: Tally) -> dict[str, Any]:
    """Where a run stands, in plain numbers."""
    return {
        "seconds": round(tally.seconds, 2),
        "tries": tally.tries,
        "executed": tally.executed,
        "tries_per_second": round(tally.tries / max(tally.seconds, 1e-9), 1),
        "findings": tally.findings,
        "distinct_findings": tally.distinct,
        "seeds_hit": tally.seeds_hit,
        "corpus": len(prey.campaign.corpus),
        **{cover.criterion.name: round(cover.coverage, 6) for cover in prey.covers},
    }


def _result(prey: Prepared, tally: Tally, ask: Hunt, setup: float, ended: str) -> dict[str, Any]:
    names = {cover.criterion.name for cover in prey.covers}
    first = tally.first_finding_seconds
    return {
        **{name: value for name, value in snapshot(prey, tally).items() if name not in names},
        "coverage": {
            cover.criterion.name: {"before": round(before, 6), "after": round(cover.coverage, 6)}
            for cover, before in zip(prey.covers, prey.before, strict=True)
        },
        "kinds": tally.kinds,
        "first_finding_seconds": None if first is None else round(first, 3),
        "seeds": len(prey.campaign.seeds),
        "seeds_set_aside": len(prey.aside),
        "setup_seconds": round(setup, 2),
        "ended": ended,
        "run": ask.out,
    }


def _origin(subject: Subject, prey: Prepared) -> dict[str, Any]:
    """What the run was made of: enough to know later whether it is the same again."""
    target = subject.target
    return {
        "campaign": repr(prey.campaign),
        "model_digest": subject.digest,
        "data_digest": data.digest(subject.images),
        "skipped": subject.images.skipped,
        "preflight": asdict(subject.preflight),
        "layers": {str(layer): layer.neurons for layer in target.layers},
        "batch_size": target.batch_size,
        "threads": torch.get_num_threads(),
        "versions": {"nnfuzz": nnfuzz.__version__, "torch": torch.__version__},
    }


def _operators(campaign: Campaign) -> tuple[tuple[str, int], ...]:
    return tuple((operator.name, operator.width) for operator in getattr(campaign.mutate, "operators", ()))
