"""DeepHunter's experiments: one run for each model and criterion, and every table reads it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

import nnfuzz
from nnfuzz import budget
from nnfuzz.errors import NnfuzzError
from nnfuzz.experiments import definitions, table4, table5, table6, table7
from nnfuzz.experiments.answers import asked
from nnfuzz.experiments.published import CRITERIA
from nnfuzz.experiments.runs import Limits, Run, guided
from nnfuzz.experiments.subjects import Studied, right_seeds, stages_of, study
from nnfuzz.experiments.table import Table
from nnfuzz.hunting import Watch
from nnfuzz.opening import Settings, Subject, covers, open_subject, profile
from nnfuzz.records import Batch
from nnfuzz.target import Target

TABLES: dict[str, Callable[[Sequence[dict[str, Any]]], Table]] = {
    "4": table4.table, "5": table5.table, "6": table6.table, "7": table7.table, "seeds": definitions.table,
}  # fmt: skip
HELD = 128 << 20  # bytes of generated tests that are held of one run
SETUP = {False: (1000, 100), True: (500, 25)}  # is it ImageNet? -> seeds, and how many in a batch (section 4.2)


@dataclass(frozen=True)
class Ask:
    """What was asked for; stored with the results."""

    tables: tuple[str, ...] = ("4",)
    models: tuple[str, ...] = ("lenet1", "lenet4", "lenet5")
    criteria: tuple[str, ...] = CRITERIA
    minutes: float = 3.0  # a model, divided evenly among the criteria
    tries: int | None = None  # a run, instead of minutes
    seeds: int | None = None
    seed: int = 0
    data: str | None = None
    stages: tuple[int, ...] = ()
    epochs_scale: float = 0.1
    tests: int = 20_000
    settings: Settings = field(default_factory=Settings)


def paper(ask: Ask, watch: Watch) -> tuple[dict[str, Any], list[Table]]:
    """Run it: plain values, and the tables; an interruption leaves those of what was done."""
    for option, given, known in (("--table", ask.tables, (*TABLES,)), ("--criterion", ask.criteria, CRITERIA)):
        if not given or not set(given) <= set(known):
            raise NnfuzzError(f"expected {option} among {', '.join(known)}, and came {','.join(given)!r}")
    if not ask.models:
        raise NnfuzzError("expected --models as names with commas, like lenet1,lenet4, and came none")
    started, results, readings = time.monotonic(), list[dict[str, Any]](), list[dict[str, Any]]()
    with budget.interruptible() as stopped:
        for name in ask.models:
            if not stopped():
                results += _model(name, ask, readings, watch, stopped)
        ended = "interrupted" if stopped() else "done"
    tables = [TABLES[n](rows) for n in ask.tables if (rows := readings if n == "seeds" else results)]
    result = {
        "paper": "deephunter", "asked": asdict(ask), "runs": results, "readings": readings, "ended": ended,
        "tables": {table.number: table.plain() for table in tables}, "seconds": round(time.monotonic() - started, 1),
        "threads": torch.get_num_threads(),
        "versions": {"nnfuzz": nnfuzz.__version__, "torch": torch.__version__},
    }  # fmt: skip
    return result, tables


def _model(
    name: str, ask: Ask, readings: list[dict[str, Any]], watch: Watch, stopped: Callable[[], bool]
) -> list[dict[str, Any]]:
    """All runs of one model."""
    stages = stages_of(name, ask.stages, ask.epochs_scale) if "5" in ask.tables else ()
    watch.say("model", name)
    studied = study(name, ask.data, ask.settings, stages, ask.seed, watch.say)
    results = []
    with ExitStack() as stack:
        x, settings = studied.images.x, ask.settings
        earlier = [stack.enter_context(asked(m, x, settings.device)) for m in studied.earlier]
        with open_subject(studied.model, studied.images, settings, ("nc",)).target as target:
            count = ask.seeds or _setup(studied)[0]
            seeds = right_seeds((target, *earlier), studied.images, count, ask.seed)
            watch.say("seeds", f"{len(seeds):,} of {len(studied.images):,}, answered right by every instance")
            if "seeds" in ask.tables:
                readings += _readings(studied, seeds, ask, watch)
        for criterion in ask.criteria if set(ask.tables) != {"seeds"} else ():
            if not stopped():
                results.append(_measured(studied, criterion, seeds, earlier, ask, watch, stopped))
    return results


def _setup(studied: Studied) -> tuple[int, int]:
    return SETUP[studied.model.classes == 1000]


def _readings(studied: Studied, seeds: Batch, ask: Ask, watch: Watch) -> list[dict[str, Any]]:
    with (subject := open_subject(studied.model, studied.images, ask.settings, ("nc",))).target as target:
        ranges = profile(subject, studied.train, watch.say)
        about = {"model": studied.name, "published": studied.published}
        return [{**about, **row} for row in definitions.measure(target, ranges, seeds)]


def _measured(
    studied: Studied, criterion: str, seeds: Batch, earlier: Sequence[Target], ask: Ask, watch: Watch,
    stopped: Callable[[], bool],
) -> dict[str, Any]:  # fmt: skip
    """One run, and what every table that was asked for wants to know of it."""
    subject = open_subject(studied.model, studied.images, ask.settings, (criterion,))
    with subject.target:
        run = _run(studied, subject, criterion, seeds, ask, watch, stopped)
    found = {**run.plain(), "published": studied.published}
    if "5" in ask.tables:
        found |= {**table5.measure(run, earlier), "accuracy_on_data": studied.accuracy, "epochs": studied.epochs}
    if "7" in ask.tables:
        found |= table7.measure(run, subject.target.models[0], ask.settings.device, ask.seed)
    return found


def _run(
    studied: Studied, subject: Subject, criterion: str, seeds: Batch, ask: Ask, watch: Watch,
    stopped: Callable[[], bool],
) -> Run:  # fmt: skip
    (cover,) = covers(subject, (criterion,), studied.train, ask.settings.sigma, watch.say)
    held = min(ask.tests, max(1, HELD // studied.images.x[0].numel()))
    limits = Limits(60 * ask.minutes / len(ask.criteria), held, ask.seed, _setup(studied)[1], ask.tries)
    span = f"{limits.seconds:.0f} s" if ask.tries is None else f"{ask.tries:,} mutants"
    watch.say(criterion, f"guides a search of {span} on {studied.name}")
    goal = table4.goal(studied.published, criterion)
    return guided(studied.name, studied.published, subject, cover, seeds, limits, goal, watch, stopped)


def write(result: dict[str, Any], tables: Sequence[Table], folder: str) -> list[str]:
    """The result as JSON, and its tables as Markdown."""
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        (path / "result.json").write_text(json.dumps(result, indent=1, default=str) + "\n")
        (path / "tables.md").write_text("\n".join(table.markdown() for table in tables))
    except OSError as error:
        raise NnfuzzError(f"{folder}: expected a folder to write to and came {error}; give another --out") from error
    return [str(path / "result.json"), str(path / "tables.md")]
