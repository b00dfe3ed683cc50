"""nnfuzz regress: what the old version of a model reads and the new one does not."""

from __future__ import annotations

from typing import Annotated

import typer

from nnfuzz.cli import options as o
from nnfuzz.cli.display import Display
from nnfuzz.cli.ending import conditions, end
from nnfuzz.cli.hunt import Set, fresh, limit, pairs
from nnfuzz.errors import NnfuzzError

Old = Annotated[str, typer.Argument(metavar="OLD", help=o.MODEL, show_default=False)]
New = Annotated[str, typer.Argument(metavar="NEW", help="The version that is to replace it", show_default=False)]
Recipe = Annotated[str, typer.Option(help="drfuzz, elites, or another one to compare with")]
Criterion = Annotated[str | None, typer.Option(help="Coverage of NEW that is news as well", show_default=False)]
Until = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=COUNT", show_default=False,
        help="Stop when all such counts are reached, and say when each was: regression_faults=100,seeds_hit=50. Also"
        " regression_inputs, regression_inputs_distinct, general_failures",
    ),
]  # fmt: skip


def regress(
    old: Old, new: New, data: o.Data, recipe: Recipe = "drfuzz", fidelity: o.Fidelity = "label",
    threshold: o.Threshold = None, guard: o.Guard = None, referee: o.Referee = None, criterion: Criterion = None,
    seconds: o.Seconds = None, tries: o.Tries = None, until: Until = None, seeds: o.AllSeeds = None, seed: o.Seed = 0,
    out: o.Out = None, profile: o.Profile = None, set_: Set = None, batch_size: o.BatchSize = None,
    mean: o.Mean = None, std: o.Std = None, output: o.Output = "auto", resize: o.Resize = None,
    until_first: o.UntilFirst = False, plateau: o.Plateau = None, hang_seconds: o.HangSeconds = 60.0,
    corpus_ram: o.CorpusRam = 1.0, fail_on: o.FailOn = None, junit: o.JUnit = None, markdown: o.Markdown = None,
    threads: o.Threads = None, device: o.Device = "cpu", trust_model: o.TrustModel = False, as_json: o.Json = False,
) -> None:  # fmt: skip
    """Look for inputs that OLD reads and NEW does not.

    An image counts as wrong against its label; without labels, against OLD's answer on the image it was made from.
    """
    from nnfuzz.hunting import Hunt
    from nnfuzz.hunting import hunt as go

    o.use_threads(threads)
    settings = o.settings(
        device, batch_size, mean, std, output, resize, None, None, False, 0.0, trust_model
    )  # fmt: skip
    wanted = conditions(fail_on, o.listed(criterion))
    ask = Hunt(
        model=old, beside=(new,), data=data, recipe=recipe, criteria=o.listed(criterion), oracle="regression",
        seconds=limit(seconds, tries), tries=tries, seeds=seeds or EVERY, seed=seed, profile=profile,
        out=out or fresh(new, recipe), parameters=pairs(set_), settings=settings, until_first=until_first,
        plateau=plateau, hang_seconds=hang_seconds or None, corpus_ram=corpus_ram, fidelity=fidelity,
        threshold=threshold, guard=guard, referees=o.listed(referee), reach=counts(until),
    )  # fmt: skip
    with Display(as_json) as display:
        display.title(f"{recipe} from {old} to {new} with {data}")
        code = end(display, go(ask, display), wanted, junit, markdown)
    if code:
        raise typer.Exit(code)


EVERY = 2**31  # seeds: all there are


def counts(until: list[str] | None) -> dict[str, int]:
    """['a=1,b=2'] to {'a': 1, 'b': 2}."""
    found = {}
    for name, text in pairs([part for one in until or () for part in o.listed(one)], "--until").items():
        if not text.isdecimal() or not int(text):
            raise NnfuzzError(f"expected --until NAME=COUNT with a count of at least 1, and came {name}={text}")
        found[name] = int(text)
    return found
