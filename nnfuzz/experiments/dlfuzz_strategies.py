"""Figure 4: neuron coverage by the number of images tested, strategy by strategy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor

from nnfuzz.experiments.curve import Points
from nnfuzz.experiments.dlfuzz_runs import search
from nnfuzz.experiments.dlfuzz_table1 import walk
from nnfuzz.experiments.subjects import Studied
from nnfuzz.experiments.table import Line, Result, Table
from nnfuzz.hunting import Watch
from nnfuzz.records import Batch
from nnfuzz.target import Target

STRATEGIES: dict[str, dict[str, Any]] = {
    "1 often": {"strategies": "often"},
    "2 rarely": {"strategies": "rarely"},
    "3 heavy": {"strategies": "heavy"},
    "4 near": {"strategies": "near"},
    "all four": {"strategies": "often,rarely,heavy,near"},
    "uncovered": {"strategies": "uncovered"},  # DeepXplore's choice
    "no neurons": {"weight": 0.0},
}
COLUMNS = ("NC %", "found", "images", "relative L2")


def measure(
    studied: Studied, target: Target, images: Batch, bound: Mapping[str, Any], seed: int, watch: Watch,
    stopped: Callable[[], bool],
) -> list[dict[str, Any]]:  # fmt: skip
    """The same search with each strategy."""
    found = []
    for name, options in STRATEGIES.items():
        if stopped():
            break
        watch.say(name, f"on {studied.name}, {len(images)} images")
        done = search("dlfuzz", target, images, {**walk(studied), **options, **bound}, seed, stopped)
        found.append({"model": studied.name, "strategy": name, "curve": _curve(done.reached), **done.numbers})
    return found


def _curve(reached: Tensor) -> list[float]:
    """The share of neurons that the first 1, 2, … images covered, with all that was made from them."""
    return [float(row) for row in reached.long().cummax(0).values.double().mean(1)]


def curves(results: Sequence[Result]) -> dict[str, dict[str, Points]]:
    """For each model, a line for each strategy."""
    found: dict[str, dict[str, Points]] = {}
    for r in results:
        found.setdefault(r["model"], {})[r["strategy"]] = [(i + 1, share) for i, share in enumerate(r["curve"])]
    return found


def table(results: Sequence[Result]) -> Table:
    lines = []
    for model in dict.fromkeys(r["model"] for r in results):
        mine = [r for r in results if r["model"] == model]
        lines += [Line(model if i == 0 else "", r["strategy"], _cells(r)) for i, r in enumerate(mine)]
    notes = ["NC %: neurons covered by the images and by all that was made from them, scaled, threshold .5."]
    return Table("strategies", "Figure 4: neuron coverage by strategy", COLUMNS, lines, notes)


def _cells(r: Mapping[str, Any]) -> dict[str, str]:
    return {
        "NC %": f"{100 * r['nc_before']:.2f} → {100 * r['nc_executed']:.2f}", "found": str(r["found"]),
        "images": f"{r['images_hit']} of {r['images']}", "relative L2": "–" if r["l2"] is None else f"{r['l2']:.4f}",
    }  # fmt: skip
