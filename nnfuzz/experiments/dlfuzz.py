"""DLFuzz's experiments: Table 1 beside DeepXplore, Figure 4's strategies, retraining."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

import nnfuzz
from nnfuzz import budget
from nnfuzz.errors import NnfuzzError
from nnfuzz.experiments import dlfuzz_retrain, dlfuzz_strategies, dlfuzz_table1
from nnfuzz.experiments.curve import svg
from nnfuzz.experiments.dlfuzz_published import IMAGES
from nnfuzz.experiments.subjects import Studied, right_seeds, study
from nnfuzz.experiments.table import Table
from nnfuzz.hunting import Watch
from nnfuzz.opening import Settings
from nnfuzz.records import Batch
from nnfuzz.target import Target

TABLES = ("1", "strategies", "retrain")


@dataclass(frozen=True)
class Ask:
    """What was asked for; stored with the results."""

    tables: tuple[str, ...] = ("1",)
    models: tuple[str, ...] = ("lenet1", "lenet4", "lenet5")
    seeds: int | None = None
    seed: int = 0
    max_l2: float | None = None  # of what is reported; the paper has no such bound
    data: str | None = None
    settings: Settings = field(default_factory=Settings)


def paper(ask: Ask, watch: Watch) -> tuple[dict[str, Any], list[Table]]:
    """Run it: plain values, and the tables; an interruption leaves those of what was done."""
    if not ask.tables or not set(ask.tables) <= set(TABLES):
        raise NnfuzzError(f"expected --table among {', '.join(TABLES)}, and came {','.join(ask.tables)!r}")
    if not ask.models:
        raise NnfuzzError("expected --models as names with commas, like lenet1,lenet4, and came none")
    started = time.monotonic()
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in ask.tables}
    studied = [study(name, ask.data, ask.settings, (), ask.seed, watch.say) for name in ask.models]
    with budget.interruptible() as stopped:
        for one in studied:
            if not stopped():
                _model(one, studied, ask, rows, watch, stopped)
        ended = "interrupted" if stopped() else "done"
    made = {"1": dlfuzz_table1.table, "strategies": dlfuzz_strategies.table, "retrain": dlfuzz_retrain.table}
    tables = [made[name](found) for name, found in rows.items() if found]
    result = {
        "paper": "dlfuzz", "asked": asdict(ask), "runs": rows, "ended": ended,
        "tables": {table.number: table.plain() for table in tables}, "seconds": round(time.monotonic() - started, 1),
        "threads": torch.get_num_threads(),
        "versions": {"nnfuzz": nnfuzz.__version__, "torch": torch.__version__},
    }  # fmt: skip
    return result, tables


def _model(
    studied: Studied, every: Sequence[Studied], ask: Ask, rows: dict[str, list[dict[str, Any]]], watch: Watch,
    stopped: Callable[[], bool],
) -> None:  # fmt: skip
    """All that is asked about one model; the others of the same data stand beside it in DeepXplore."""
    watch.say("model", studied.name)
    beside = [other for other in every if other is not studied and other.images.name == studied.images.name]
    bound = {} if ask.max_l2 is None else {"max_l2": ask.max_l2}
    with opened([studied], ask) as target:
        if "1" in rows:
            with opened([studied, *beside], ask) as together:
                images = picked(studied, (together,), ask)
                rows["1"] += dlfuzz_table1.measure(studied, target, together, images, bound, ask.seed, watch, stopped)
        images = picked(studied, (target,), ask)
        if "strategies" in rows:
            rows["strategies"] += dlfuzz_strategies.measure(studied, target, images, bound, ask.seed, watch, stopped)
        if "retrain" in rows:
            rows["retrain"] += dlfuzz_retrain.measure(studied, target, bound, ask.seed, watch, stopped)


@contextmanager
def opened(studied: Sequence[Studied], ask: Ask) -> Iterator[Target]:
    first, settings = studied[0], ask.settings
    with Target(
        [one.model for one in studied], first.images.x, device=settings.device, batch_size=settings.batch_size,
        every_layer=settings.every_layer, features=("scaled",), read=range(len(studied)),
    ) as target:  # fmt: skip
        yield target


def picked(studied: Studied, targets: tuple[Target, ...], ask: Ask) -> Batch:
    """Random images that the model answers right, as in both papers' set-ups."""
    return right_seeds(targets, studied.images, ask.seeds or IMAGES, ask.seed)


def write_curves(result: dict[str, Any], folder: str) -> list[str]:
    """Figure 4 as a picture for each model."""
    written = []
    rows = result["runs"].get("strategies", ()) if result["paper"] == "dlfuzz" else ()
    for model, curves in dlfuzz_strategies.curves(rows).items():
        path = Path(folder) / f"strategies-{model.split('@')[0].replace(':', '-').replace('/', '-')}.svg"
        path.write_text(svg(f"{model}: neuron coverage by strategy", "images tested", curves), encoding="utf-8")
        written.append(str(path))
    return written
