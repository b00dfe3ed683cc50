"""What a guard costs and what it is worth: distinct undoubted faults a second, against the share of findings undoubted.

    python benchmarks/frontier.py [--row 1] [--recipes elites,drfuzz] [--thresholds 0,0.3,0.5,0.7,0.8,0.9,0.95]
                                  [--seconds 20] [--picture docs/pictures/frontier.svg]

Each recipe is run once for each threshold of the guard, 0 being no guard at all; a fault is a seed and a wrong class,
and is undoubted when the referees still read one of its inputs. Referees come from `nnfuzz train --referee --seed N`.
"""

from __future__ import annotations

import argparse
import pathlib
import tempfile

import torch
from regress import EVERY, ROWS, Row, Silent, spec

from nnfuzz.experiments.curve import svg
from nnfuzz.hunting import Hunt, hunt
from nnfuzz.store import Run


def point(row: Row, recipe: str, threshold: float, options: argparse.Namespace, out: str) -> tuple[float, float]:
    """Distinct undoubted faults a second, and the share of findings that are undoubted."""
    ask = Hunt(
        model=spec(row.old), beside=(spec(row.new),), data="mnist", recipe=recipe, criteria=(), oracle="regression",
        seconds=options.seconds, seeds=EVERY, seed=options.seed, out=out, hang_seconds=None,
        fidelity="label" if threshold else "none", threshold=threshold or None,
        referees=tuple(options.referee.split(",")),
    )  # fmt: skip
    result = hunt(ask, Silent())
    findings = [finding for finding in Run(pathlib.Path(out)).findings if finding.kind == "regression"]
    faults = {(finding.seed, finding.answer) for finding in findings if not finding.doubtful}
    rate, share = len(faults) / result["seconds"], 1 - result["doubtful_share"]
    print(f"{row.name:<8} {recipe:<8} guard >= {threshold:<5} {rate:8,.0f} undoubted faults/s,"
          f" {share:.2%} of {len(findings):,} findings undoubted")  # fmt: skip
    return rate, share


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", default="1")
    parser.add_argument("--recipes", default="elites,drfuzz")
    parser.add_argument("--thresholds", default="0,0.3,0.5,0.7,0.8,0.9,0.95")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--referee", default="mnist-referee0,mnist-referee1,mnist-referee2")
    parser.add_argument("--picture", default="")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    row, thresholds = ROWS[options.row], [float(text) for text in options.thresholds.split(",")]
    with tempfile.TemporaryDirectory() as place:
        lines = {
            recipe: [point(row, recipe, t, options, f"{place}/{recipe}-{t}") for t in thresholds]
            for recipe in options.recipes.split(",")
        }
    if options.picture:
        title = f"Share of findings undoubted: {row.name}, {options.seconds:g} s, guard from {thresholds[0]:g} up"
        pathlib.Path(options.picture).write_text(
            svg(title, "distinct undoubted faults a second", {name: line[::-1] for name, line in lines.items()})
        )


if __name__ == "__main__":
    main()
