"""nnfuzz hunt: look for images that a model gets wrong."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from nnfuzz.cli import options as o
from nnfuzz.cli.display import Display
from nnfuzz.cli.ending import conditions, end
from nnfuzz.errors import NnfuzzError

Recipe = Annotated[str, typer.Option(help="deephunter, dlfuzz, deepxplore, or random to compare with")]
Oracle = Annotated[
    str,
    typer.Option(
        help="misclassified (against labels), changed (against the answer on the seed), disagreeing (models among"
        " themselves), auto"
    ),
]
With = Annotated[
    str | None,
    typer.Option("--with", metavar="MODELS", help="Further models of the same task, with commas", show_default=False),
]
Set = Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the recipe")]
LIKE = {"--set": "--set alpha=0.05", "--until": "--until regression_faults=100"}


def hunt(
    model: o.Model, data: o.Data, recipe: Recipe = "deephunter", criterion: o.Criterion = "kmnc",
    oracle: Oracle = "auto", seconds: o.Seconds = None, tries: o.Tries = None, seeds: o.Seeds = 1000,
    seed: o.Seed = 0, out: o.Out = None, profile: o.Profile = None, set_: Set = None,
    with_: With = None, fidelity: o.Fidelity = "none", threshold: o.Threshold = None, guard: o.Guard = None,
    referee: o.Referee = None, max_l2: o.MaxL2 = None,
    batch_size: o.BatchSize = None, mean: o.Mean = None, std: o.Std = None, output: o.Output = "auto",
    resize: o.Resize = None, layers: o.Layers = None, exclude: o.Exclude = None, every_layer: o.EveryLayer = False,
    sigma: o.Sigma = 0.0, until_first: o.UntilFirst = False, plateau: o.Plateau = None,
    hang_seconds: o.HangSeconds = 60.0, corpus_ram: o.CorpusRam = 1.0,
    fail_on: o.FailOn = None, junit: o.JUnit = None, markdown: o.Markdown = None,
    threads: o.Threads = None, device: o.Device = "cpu", trust_model: o.TrustModel = False,
    as_json: o.Json = False,
) -> None:  # fmt: skip
    """Hunt for realistic images that MODEL gets wrong."""
    from nnfuzz.hunting import Hunt
    from nnfuzz.hunting import hunt as go

    o.use_threads(threads)
    settings = o.settings(
        device, batch_size, mean, std, output, resize, layers, exclude, every_layer, sigma, trust_model,
    )  # fmt: skip
    wanted = conditions(fail_on, o.listed(criterion))
    ask = Hunt(
        model, data, recipe, o.listed(criterion), oracle, limit(seconds, tries), tries, seeds, seed, profile,
        out or fresh(model, recipe), parameters(set_, max_l2), settings, until_first, plateau, hang_seconds or None,
        corpus_ram, o.listed(with_), fidelity, threshold, guard, o.listed(referee),
    )  # fmt: skip
    with Display(as_json) as display:
        display.title(f"{recipe} on {model} with {data}")
        code = end(display, go(ask, display), wanted, junit, markdown)
    if code:
        raise typer.Exit(code)


def limit(seconds: float | None, tries: int | None) -> float | None:
    """A minute, unless something else was asked for."""
    return 60.0 if seconds is None and tries is None else seconds


def fresh(model: str, recipe: str) -> str:
    """A folder under runs/ that is not there yet."""
    short = re.sub(r"[^A-Za-z0-9]+", "-", model.split("@")[0].split("/")[-1]).strip("-")
    stem = Path("runs") / f"{datetime.datetime.now():%Y%m%d-%H%M%S}-{recipe}-{short}"
    return str(next(p for i in range(1, 1000) if not (p := stem if i == 1 else Path(f"{stem}-{i}")).exists()))


def parameters(given: Sequence[str] | None, max_l2: float | None) -> dict[str, str]:
    """Those of the recipe."""
    return pairs(given) | ({} if max_l2 is None else {"max_l2": str(max_l2)})


def pairs(given: Sequence[str] | None, option: str = "--set") -> dict[str, str]:
    """['a=1'] to {'a': '1'}."""
    found = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise NnfuzzError(f"expected {option} NAME=VALUE, like {LIKE[option]}, and came {text!r}")
        found[name.strip()] = value.strip()
    return found
