"""Table 1: DLFuzz beside DeepXplore on the same images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nnfuzz.experiments.dlfuzz_published import TABLE1
from nnfuzz.experiments.dlfuzz_runs import search, warm
from nnfuzz.experiments.subjects import Studied
from nnfuzz.experiments.table import Line, Result, Table
from nnfuzz.hunting import Watch
from nnfuzz.records import Batch
from nnfuzz.target import Target

# Five steps a walk, as the authors' instructions for their code have it: three steps of the paper's length cannot
# lead as far as its mean distance. Steps in grey levels: .02 of [0, 1] for digits, .5 for photographs.
WALK = {False: {"iterations": 5, "step": 5.1, "rounds": 10}, True: {"iterations": 5, "step": 0.5, "rounds": 3}}
DLFUZZ: dict[str, dict[str, Any]] = {
    "DLFuzz": {"strategies": "often", "k": 4, "m": 10},  # the paper's
    "DLFuzz, k 1, rarely": {"strategies": "rarely", "k": 1, "m": 10},
    "… in half steps": {"strategies": "rarely", "k": 1, "m": 10, "parts": 2},
}
DEEPXPLORE = ("light", "occlusion", "blackout")
COLUMNS = ("found", "images", "relative L2", "NC %", "NC of found %", "NC gain", "ms each", "CPU ms each", "fail again")


def measure(
    studied: Studied, target: Target, together: Target, images: Batch, bound: Mapping[str, Any], seed: int,
    watch: Watch, stopped: Callable[[], bool],
) -> list[dict[str, Any]]:  # fmt: skip
    """One search after the other on the same images; `together` holds the models to compare, this one first."""
    runs = [("dlfuzz", target, name, {**walk(studied, **options), **bound}) for name, options in DLFUZZ.items()]
    if len(together.models) > 1:
        runs = [
            ("deepxplore", together, f"DeepXplore, {name}", {"process": name, "rounds": 1, **bound})
            for name in DEEPXPLORE
        ] + runs
    found = []
    for recipe, on, name, options in runs:
        if stopped():
            break
        watch.say(name, f"on {studied.name}, {len(images)} images")
        warm(recipe, on, images, options)
        done = search(recipe, on, images, options, seed, stopped)
        about = {"model": studied.name, "recipe": recipe, "whose": name, "published": row_of(studied)}
        found.append({**about, "options": options, **done.numbers})
    return found


def walk(studied: Studied, parts: int = 1, **options: Any) -> dict[str, Any]:
    """As far as the walks of this data go, each step in so many parts."""
    usual = WALK[studied.model.classes == 1000]
    return {**usual, "iterations": usual["iterations"] * parts, "step": usual["step"] / parts, **options}


def row_of(studied: Studied) -> str | None:
    """The paper's row, where the classes are the paper's: digits for the LeNets, ImageNet for the others."""
    name = studied.name.removeprefix("torchvision:")
    classes = 10 if name.startswith("lenet") else 1000
    return name if name in TABLE1 and studied.model.classes == classes else None


def table(results: Sequence[Result]) -> Table:
    lines = []
    for model in dict.fromkeys(r["model"] for r in results):
        mine = [r for r in results if r["model"] == model]
        theirs = max((r["nc_found"] for r in mine if r["recipe"] == "deepxplore"), default=None)
        for i, r in enumerate(mine):
            lines.append(Line(model if i == 0 else "", r["whose"], {**cells(r), **gain(r, theirs)}))
        if row := TABLE1.get(mine[0]["published"] or ""):
            for place, whose in enumerate(("paper: DeepXplore", "paper: DLFuzz")):
                lines.append(Line("", whose, {
                    "found": str(row.found[place]), "relative L2": f"{row.l2[place]:.4f}",
                    "NC gain": f"{row.gain:+.2f}" if place else "–", "ms each": f"{1000 * row.seconds[place]:.0f}",
                }))  # fmt: skip
    notes = [
        "found: different inputs, each run again alone (fail again). relative L2: mean of |x' - x| / |x|.",
        "NC %: neurons covered by the images and what was found from them, scaled, threshold .5. NC gain, in points: as"
        " the two releases count, DLFuzz with the images and DeepXplore without; over the best of its constraints.",
        "ms each: of the search, after one to warm up, by what was found; CPU ms each: of this process alone.",
    ]
    return Table("1", "Table 1: DLFuzz beside DeepXplore", COLUMNS, lines, notes)


def gain(r: Mapping[str, Any], theirs: float | None) -> dict[str, str]:
    """Of DLFuzz over DeepXplore."""
    return {} if theirs is None or r["recipe"] == "deepxplore" else {"NC gain": f"{100 * (r['nc'] - theirs):+.2f}"}


def cells(r: Mapping[str, Any]) -> dict[str, str]:
    each = max(1, r["found"])
    return {
        "found": str(r["found"]), "images": f"{r['images_hit']} of {r['images']}",
        "relative L2": "–" if r["l2"] is None else f"{r['l2']:.4f}",
        "NC %": f"{100 * r['nc_before']:.2f} → {100 * r['nc']:.2f}", "NC of found %": f"{100 * r['nc_found']:.2f}",
        "ms each": f"{1000 * r['seconds'] / each:.2f}", "CPU ms each": f"{1000 * r['cpu_seconds'] / each:.2f}",
        "fail again": str(r["fail_again"]),
    }  # fmt: skip
