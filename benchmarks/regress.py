"""How long regression fuzzing takes to reach what DRFuzz published after 24 hours, and whether the findings are real.

    python benchmarks/regress.py [--rows 1,2] [--ways elites:label,drfuzz:gan] [--seeds 0,1,2] [--seconds 300]
                                 [--referee mnist-referee0,mnist-referee1,mnist-referee2] [--whole] [--threads 2]

The pairs are the published ones, `drfuzz-mnist-lenet5-*.safetensors` in the models folder of the data. A run ends when
all counts are reached; with --whole it goes on for all its seconds, and says whether it slowed down. Exact duplicates
count once. Referees come from `nnfuzz train --referee --seed N`. Guards and discriminators are trained before, once.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import itertools
import pathlib
import subprocess
import tempfile
import time
from dataclasses import dataclass
from typing import Any

import torch

from nnfuzz import data, models
from nnfuzz.hunting import Hunt, hunt

EVERY = 2**31  # seeds: all there are
BATCHES = (64, 128, 256, 512)


@dataclass(frozen=True)
class Row:
    """A pair of the published table, and what DRFuzz found on it in 24 hours: #RF, #URF and #Seed."""

    name: str
    old: str
    new: str
    inputs: int
    faults: int
    seeds: int

    def reach(self, recipe: str) -> dict[str, int]:
        """`elites` leaves faults that it has found alone, so it makes few inputs of each."""
        inputs = {"regression_inputs_distinct": self.inputs} if recipe == "drfuzz" else {}
        return {**inputs, "regression_faults": self.faults, "seeds_hit": self.seeds}


ROWS = {
    "1": Row("SUPPLY", "drfuzz-mnist-lenet5-supply-v1", "drfuzz-mnist-lenet5-supply-v2", 36_293, 8_767, 4_345),
    "2": Row("ADV:BIM", "drfuzz-mnist-lenet5-base", "drfuzz-mnist-lenet5-adv-bim", 41_376, 13_342, 5_948),
}


def spec(name: str) -> str:
    return f"lenet5-valid@{data.folder() / 'models' / name}.safetensors"


class Silent:
    """A Watch that only repeats how guards and discriminators came about."""

    def say(self, name: str, text: str) -> None:
        if name in ("guard", "gan"):
            print(f"    {name}: {text}")

    def tick(self, snapshot: dict[str, Any]) -> None: ...


def bare(row: Row, x: torch.Tensor, seconds: float = 2.0) -> float:
    """Images a second that go through both networks and nothing else, at the batch size that suits them best."""
    nets = [models.load(spec(name)).net.eval() for name in (row.old, row.new)]
    best = 0.0
    for size in BATCHES:
        fed, done, began = x[:size] / 255, 0, time.perf_counter()
        with torch.inference_mode():
            while time.perf_counter() - began < seconds / len(BATCHES):
                for net in nets:
                    net(fed)
                done += size
        best = max(best, done / (time.perf_counter() - began))
    return best


def pace(stats: pathlib.Path, parts: int = 10) -> list[int]:
    """Mutants executed a second, in each tenth of the run."""
    with stats.open() as file:
        lines = [(float(line["seconds"]), int(line["executed"])) for line in csv.DictReader(file)]
    edges = [lines[round(i * (len(lines) - 1) / parts)] for i in range(parts + 1)]
    pairs = itertools.pairwise(edges)
    return [round((after[1] - before[1]) / (after[0] - before[0])) for before, after in pairs if after[0] > before[0]]


def one(row: Row, way: str, seed: int, options: argparse.Namespace, out: str) -> None:
    recipe, _, fidelity = way.partition(":")
    reach = row.reach(recipe)
    x = data.load("mnist").x
    referees = tuple(name for name in options.referee.split(",") if name)
    ask = Hunt(
        model=spec(row.old), beside=(spec(row.new),), data="mnist", recipe=recipe, criteria=(), oracle="regression",
        seconds=options.seconds, seeds=EVERY, seed=seed, out=out, fidelity=fidelity,
        referees=referees, reach={**reach, **({"general_failures": 2**62} if options.whole else {})},
        hang_seconds=None, parameters=dict(text.split("=", 1) for text in options.set),
    )  # fmt: skip
    before = bare(row, x)
    result = hunt(ask, Silent())
    possible = (before + bare(row, x)) / 2
    slices = pace(pathlib.Path(out, "stats.csv")) if options.whole else []
    at = result["reached"]
    times = ", ".join(
        f"{name} {count:,} {'at ' + format(at[name], '.1f') + ' s' if at[name] is not None else 'not reached'}"
        for name, count in reach.items()
    )
    doubts = f", {1 - result['doubtful_share']:.2%} undoubted" if "doubtful_share" in result else ""
    rate = result["executed"] / result["seconds"]
    print(f"{row.name:<8} {way:<16} seed {seed}  {times}")
    print(f"    after {result['seconds']:.1f} s: {result['regression_inputs_distinct']:,} inputs,"
          f" {result['regression_faults']:,} faults, {result['seeds_hit']:,} seeds{doubts};"
          f" {rate:,.0f} executed/s, {rate / possible:.2f} of what the two networks alone allow")  # fmt: skip
    if slices:
        print(f"    executed/s in each tenth of the run: {', '.join(f'{n:,}' for n in slices)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default="1,2")
    parser.add_argument("--ways", default="elites:label,drfuzz:gan")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--referee", default="mnist-referee0,mnist-referee1,mnist-referee2")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the recipe")
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    print(f"{datetime.date.today()}  {options.threads} threads, torch {torch.__version__}, commit {commit}")
    # One folder for all, removed at the end: where thousands of files were just deleted, ext4 is slow to make new ones.
    with tempfile.TemporaryDirectory() as place:
        for number in options.rows.split(","):
            for way in options.ways.split(","):
                for seed in map(int, options.seeds.split(",")):
                    one(ROWS[number], way, seed, options, f"{place}/{number}-{way}-{seed}")


if __name__ == "__main__":
    main()
