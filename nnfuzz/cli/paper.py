"""nnfuzz paper: a paper's tables, re-run and printed beside the published figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from nnfuzz.cli import options as o
from nnfuzz.cli.display import Display
from nnfuzz.cli.exits import STOPPED_EARLY
from nnfuzz.errors import NnfuzzError

if TYPE_CHECKING:
    from nnfuzz.experiments.table import Table

Paper = Annotated[str, typer.Argument(metavar="PAPER", help="deephunter or dlfuzz", show_default=False)]
Tables = Annotated[
    str | None,
    typer.Option(
        "--table",
        show_default="4, 1",
        help="deephunter: 4, 5, 6, 7, several with commas (they share their runs), or seeds: the seeds' coverage under"
        " other readings of the criteria. With 5 among them every table is about instance C of a training."
        " dlfuzz: 1, strategies (Figure 4), retrain",
    ),
]
Models = Annotated[
    str,
    typer.Option(
        help="lenet1, lenet4, lenet5, resnet20, vgg16, mobilenet (torchvision's, version 2), resnet50 or any MODEL;"
        " several with commas. A network's name alone means its weights in the data folder; without any it is trained"
    ),
]
Minutes = Annotated[float, typer.Option(min=0, help="Search per model, divided evenly among its criteria")]
Tries = Annotated[int | None, typer.Option(min=1, help="Mutants per run, instead of minutes: the same figures again")]
DataFor = Annotated[
    str | None, typer.Option("--data", metavar="DATA", help=f"{o.DATA}; for models that are no network's name alone")
]
Seeds = Annotated[
    int | None,
    typer.Option(
        min=1, help="Images to start from, all answered right; if not given 1000, for ImageNet 500, for dlfuzz 20"
    ),
]
Stages = Annotated[
    str | None, typer.Option(help="Table 5: epochs of instances A, B and C, like 1,3,10", show_default=False)
]
Scale = Annotated[float, typer.Option("--epochs-scale", min=0, help="Table 5: share of the paper's epochs (Table 3)")]
Tests = Annotated[int, typer.Option(min=1, help="Tables 5 and 7: most generated tests per run, a random sample of all")]
Out = Annotated[
    str | None, typer.Option(metavar="FOLDER", help="Also write result.json and tables.md here", show_default=False)
]

FIRST = {"deephunter": "4", "dlfuzz": "1"}  # the table of each paper that is made if none is named
WIDTH = 130  # columns of a table that goes to a file


def paper(
    name: Paper, table: Tables = None, models: Models = "lenet1,lenet4,lenet5", minutes: Minutes = 3.0,
    criterion: o.Criterion = "nc,kmnc,nbc,snac,tknc,bknc", tries: Tries = None, seeds: Seeds = None,
    seed: o.Seed = 0, max_l2: o.MaxL2 = None, data: DataFor = None, stages: Stages = None, epochs_scale: Scale = 0.1,
    tests: Tests = 20_000,
    every_layer: o.EveryLayer = False, sigma: o.Sigma = 0.0, resize: o.Resize = None, out: Out = None,
    threads: o.Threads = None, device: o.Device = "cpu", as_json: o.Json = False,
) -> None:  # fmt: skip
    """Re-run a paper's tables and print our figures beside the published ones."""
    if name not in FIRST:
        raise NnfuzzError(f"expected a paper among {', '.join(FIRST)}, and came {name!r}")
    from nnfuzz.experiments import deephunter, dlfuzz

    o.use_threads(threads)
    settings = o.settings(device, None, None, None, "auto", resize, None, None, every_layer, sigma)
    tables, names = o.listed(FIRST[name] if table is None else table), o.listed(models)
    with Display(as_json) as display:
        display.title(f"{name}: table {','.join(tables)} on {models}")
        if name == "dlfuzz":
            result, made = dlfuzz.paper(dlfuzz.Ask(tables, names, seeds, seed, max_l2, data, settings), display)
        else:
            ask = deephunter.Ask(
                tables, names, o.listed(criterion), minutes, tries, seeds, seed, data,
                _epochs(stages), epochs_scale, tests, settings,
            )  # fmt: skip
            result, made = deephunter.paper(ask, display)
        display.still()
        for one in made:
            show(display, one)
        for file in [*deephunter.write(result, made, out), *dlfuzz.write_curves(result, out)] if out else ():
            display.say("written", file)
        if result["ended"] == "interrupted":
            display.say("warning", "interrupted: what is missing was not run, and the last search was cut short")
        display.finish(result)
    if result["ended"] == "interrupted":
        raise typer.Exit(STOPPED_EARLY)


def show(display: Display, table: Table) -> None:
    """A rule above each model, its own and the paper's figures below each other."""
    from rich.table import Table as Rich

    if not display.console.is_terminal:
        display.console.width = WIDTH
    display.title(f"\n{table.title}")
    drawn = Rich(*table.head)
    for index, row in enumerate(table.rows()):
        if index and row[0]:
            drawn.add_section()
        drawn.add_row(*row)
    display.console.print(drawn)
    for note in table.notes:
        display.console.print(f"  {note}", markup=False, soft_wrap=True)


def _epochs(text: str | None) -> tuple[int, ...]:
    parts = o.listed(text)
    if not all(part.isdigit() for part in parts):
        raise NnfuzzError(f"expected --stages as three growing numbers, like 1,3,10, and came {text!r}")
    return tuple(map(int, parts))
