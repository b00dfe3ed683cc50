"""Table 7: tests whose answer changes when weights are cut from 32 to 16 bits."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Generator, Tensor

from nnfuzz.campaign import seeded
from nnfuzz.experiments.answers import answers, asked
from nnfuzz.experiments.published import TABLE7, single
from nnfuzz.experiments.runs import Run
from nnfuzz.experiments.table import Line, Result, Table, by_model
from nnfuzz.records import Model

RATIOS = (1, 50, 100)  # percent
DRAWS = 5  # averaged over, where chance decides which weights


def truncated(model: Model, ratio: float, rng: Generator) -> Model:
    """A copy in which a random share of the weights went through IEEE half precision, rounded to nearest.

    Weights are all stored floats, running means of batch normalisation too, as Keras counts them.
    """
    net = copy.deepcopy(model.net)
    for tensor in net.state_dict().values():
        if tensor.is_floating_point():
            chosen = torch.rand(tensor.shape, generator=rng) < ratio
            tensor.copy_(torch.where(chosen.to(tensor.device), tensor.half().to(tensor.dtype), tensor))
    return replace(model, net=net)


def measure(run: Run, model: Model, device: str, seed: int) -> dict[str, Any]:
    """How many right tests, and how many seeds, the original and a truncated model answer differently."""
    if not len(run.x):
        return {"differing": {}, "seeds_differing": 0}
    rng = seeded(seed)
    x = torch.cat([run.x, run.seeds.x])
    with asked(model, x, device) as target:
        before = answers(target, x)
    differing, of_seeds = {}, 0
    for ratio in RATIOS:
        draws = [_differing(before, truncated(model, ratio / 100, rng), x, device) for _ in range(_draws(ratio))]
        differing[ratio] = [int(d[: len(run.x)].sum()) for d in draws]
        of_seeds += sum(int(d[len(run.x) :].sum()) for d in draws)
    return {"differing": differing, "seeds_differing": of_seeds}


def _draws(ratio: int) -> int:
    return 1 if ratio == 100 else DRAWS


def _differing(before: Tensor, model: Model, x: Tensor, device: str) -> Tensor:
    with asked(model, x, device) as target:
        return answers(target, x) != before


def table(results: Sequence[Result]) -> Table:
    lines = []
    for model, runs in by_model(results).items():
        for ratio in RATIOS:
            ours = {c: r["differing"].get(ratio, ()) for c, r in runs.items()}
            lines.append(Line(f"{model} {ratio} %", "ours", {c: f"{sum(n) / len(n):g}" for c, n in ours.items() if n}))
            figures = {c: single(TABLE7.get(r["published"] or "", {}).get(ratio), c) for c, r in runs.items()}
            if any(f is not None for f in figures.values()):
                lines.append(Line("", "paper", {c: f"{f:,.0f}" for c, f in figures.items() if f is not None}))
        lines.append(Line("", "tests run", {c: f"{r['right_tests_held']:,}" for c, r in runs.items()}))
        lines.append(Line("", "tests made", {c: f"{r['right_tests']:,}" for c, r in runs.items()}))
    criteria = list(dict.fromkeys(r["criterion"] for r in results))
    notes = [
        f"1 % and 50 %: mean of {DRAWS} draws. Truncation is to IEEE half precision and back, rounded to nearest.",
        f"Seeds answered differently, all draws together: {sum(r['seeds_differing'] for r in results)}.",
    ]
    return Table("7", "Table 7: tests answered differently after truncation to 16 bits", criteria, lines, notes)
