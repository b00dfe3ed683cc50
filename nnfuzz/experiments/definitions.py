"""The coverage of the seeds alone under other readings of the criteria: which one did the paper use?

It prints neither thresholds nor k, and not what its percentages count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch

from nnfuzz.coverage import BKNC, KMNC, NBC, NC, SNAC, TKNC, Cover, Ranges
from nnfuzz.experiments.published import TABLE4, pair
from nnfuzz.experiments.runs import covered
from nnfuzz.experiments.table import NONE, Line, Result, Table
from nnfuzz.records import Batch
from nnfuzz.roles import Criterion
from nnfuzz.target import Target

Reading = tuple[str, str, Criterion]  # the paper's criterion, what is read differently, and the criterion


def readings(layers: Sequence[int], ranges: Ranges) -> Iterator[Reading]:
    for scaled in (True, False):
        kind = "scaled" if scaled else "raw"
        for threshold in (0.0, 0.25, 0.4, 0.5, 0.75):
            yield "nc", f"{kind}, threshold {threshold:g}", NC(sum(layers), threshold, scaled)
    for k in (100, 1000, 2000, 10000):
        yield "kmnc", f"k = {k:,}", KMNC(ranges, k)
    for sigma in (0.0, 0.5, 1.0):
        yield "nbc", f"sigma {sigma:g}", NBC(ranges, sigma)
    for sigma in (0.0, 0.5, 1.0):
        yield "snac", f"sigma {sigma:g}", SNAC(ranges, sigma)
    ranked: dict[str, Callable[[Sequence[int], int], Criterion]] = {"tknc": TKNC, "bknc": BKNC}
    for name, make in ranked.items():
        for k in (1, 2, 3, 10, 15, 20, 25, 30, 50):
            yield name, f"k = {k}", make(layers, k)


def measure(target: Target, ranges: Ranges, seeds: Batch) -> list[dict[str, Any]]:
    """One forward pass of the seeds, asked for every reading."""
    found = [(*reading, Cover(reading[2])) for reading in readings([layer.neurons for layer in target.layers], ranges)]
    for x in torch.split(seeds.x, 1000):
        seen = target(x)
        for _, _, criterion, cover in found:
            cover.update(criterion(seen))
    return [
        {"criterion": name, "reading": reading, "cells": cells, "groups": groups}
        for name, reading, _, cover in found
        for cells, groups in [covered(cover)]
    ]


def table(results: Sequence[Result]) -> Table:
    """A line for each reading and count; the columns are the models."""
    models = {r["model"]: r["published"] for r in results}
    lines = []
    for criterion in dict.fromkeys(r["criterion"] for r in results):
        mine = [r for r in results if r["criterion"] == criterion]
        figures = {m: pair(TABLE4, row, criterion) for m, row in models.items()}
        lines.append(Line(criterion.upper(), "paper", {m: f"{f[0]:g}" for m, f in figures.items() if f}))
        for reading in dict.fromkeys(r["reading"] for r in mine):
            for count in COUNTS[criterion]:
                shares = {r["model"]: 100 * r[count] for r in mine if r["reading"] == reading}
                cells = {m: f"{share:.2f}" for m, share in shares.items()}
                gaps = [abs(shares[m] - f[0]) for m, f in figures.items() if f]
                cells["mean gap"] = f"{sum(gaps) / len(gaps):.2f}" if gaps else NONE
                lines.append(Line("", f"{reading}, {COUNTS[criterion][count]}", cells))
    notes = ["Mean gap: of the absolute differences to the paper's figures, in points."]
    title = "Coverage (%) of the seeds under other readings of the criteria, and Table 4's initial figures"
    return Table("seeds", title, [*models, "mean gap"], lines, notes)


COUNTS = {
    "nc": {"groups": "neurons", "cells": "tenths"},
    "kmnc": {"cells": "sections"},
    "nbc": {"groups": "bounds", "cells": "tenths"},
    "snac": {"groups": "bounds", "cells": "tenths"},
    "tknc": {"groups": "neurons", "cells": "neurons at ranks"},
    "bknc": {"groups": "neurons", "cells": "neurons at ranks"},
}
