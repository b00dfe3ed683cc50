"""The numbers that come out of a hunt, and what it was made of."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import torch

import nnfuzz
from nnfuzz import data
from nnfuzz.hunting.ask import Hunt
from nnfuzz.hunting.prepare import Prepared
from nnfuzz.hunting.record import Recorder
from nnfuzz.opening import Subject


def result_of(ask: Hunt, recorder: Recorder, setup: float, ended: str) -> dict[str, Any]:
    tally, prey = recorder.tally, recorder.prey
    first = tally.first_finding_seconds
    after = prey.coverage()
    return {
        **{name: value for name, value in prey.snapshot(tally).items() if name not in after},
        "coverage": {
            name: {"before": round(before, 6), "after": share}
            for (name, share), before in zip(after.items(), prey.before, strict=True)
        },
        **(prey.ledger.counts() if prey.ledger else {}),
        **({"reached": {name: recorder.reached.get(name) for name in ask.reach}} if ask.reach else {}),
        "dropped": tally.dropped,
        "kinds": tally.kinds,
        "first_finding_seconds": None if first is None else round(first, 3),
        "seeds": len(prey.campaign.seeds),
        "seeds_set_aside": len(prey.aside),
        "setup_seconds": round(setup, 2),
        "ended": ended,
        "run": ask.out,
    }


def origin(subject: Subject, prey: Prepared) -> dict[str, Any]:
    """What the run was made of: enough to know later whether it is the same again."""
    target = subject.target
    return {
        "campaign": repr(prey.campaign),
        "model_digest": subject.digest,
        "data_digest": data.digest(subject.images),
        "classes": list(subject.images.classes),
        "skipped": subject.images.skipped,
        "preflight": asdict(subject.preflight),
        "layers": {str(layer): layer.neurons for layer in target.layers},
        "batch_size": target.batch_size,
        "threads": torch.get_num_threads(),
        "versions": {"nnfuzz": nnfuzz.__version__, "torch": torch.__version__},
    }
