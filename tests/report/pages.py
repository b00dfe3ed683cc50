"""A page with everything on it, to be changed by each test."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from nnfuzz.records import Finding, Mutation
from nnfuzz.report import Page, Shown

RESULT: Mapping[str, Any] = {
    "seconds": 8.04,
    "tries": 249_856,
    "tries_per_second": 31_232.0,
    "distinct_findings": 2681,
    "findings": 2700,
    "seeds_hit": 716,
    "seeds": 1000,
    "seeds_set_aside": 11,
    "kinds": {"misclassified": 2681},
    "first_finding_seconds": 0.31,
    "coverage": {"kmnc": {"before": 0.36, "after": 0.7}, "nbc": {"before": 0.01, "after": 0.14}},
}
HISTORY = [
    {"seconds": s / 2, "distinct_findings": 170 * s, "kmnc": 0.36 + s / 50, "nbc": s / 120} for s in range(1, 17)
]


def noise(*shape: int, seed: int = 0) -> Tensor:
    return torch.randint(256, shape, generator=torch.Generator().manual_seed(seed), dtype=torch.uint8)


def finding(id: int = 0, **changed: Any) -> Finding:
    usual: dict[str, Any] = {
        "kind": "misclassified",
        "image": f"findings/{id:06d}.png",
        "seed": id % 50,
        "label": id % 10,
        "seed_answers": (id % 10,),
        "answers": ((id * 7 + 1) % 10,),
        "confidences": (0.65,),
        "mutations": (Mutation("rotation", (36.0,)), Mutation("contrast", (0.7,))),
        "repeated": 3,
        "asked": 3,
        "seconds": 2.8,
        "group": id % 20,
        "doubtful": None,
    }
    return Finding(id, **{**usual, **changed})


def shown(found: Finding, x: Tensor | None = None, **changed: Any) -> Shown:
    x = noise(1, 28, 28, seed=found.id) if x is None else x
    seed = changed.pop("seed") if "seed" in changed else x.flip(2)
    return Shown(found, x, seed, **{"size": 41, "seeds": 12, "plausibility": 0.93, **changed})


def page(found: Sequence[Finding] | None = None, **changed: Any) -> Page:
    found = [finding(i) for i in range(100)] if found is None else found
    usual: dict[str, Any] = {
        "title": "lenet5 on mnist",
        "ended": "time",
        "configuration": [("model", "lenet5"), ("clean accuracy", "98.9%")],
        "result": RESULT,
        "history": HISTORY,
        "groups": [shown(f) for f in found[:20]],
        "classes": [str(i) for i in range(10)],
        "models": ["lenet5"],
        "run": "runs/mine",
    }
    return Page(findings=found, **{**usual, **changed})
