"""nnfuzz cover: how much of a model a test set reaches."""

from __future__ import annotations

from typing import Any

from nnfuzz.cli import options as o
from nnfuzz.cli.display import Display


def cover(
    model: o.Model, data: o.Data, criterion: o.Criterion = "nc,kmnc,nbc,snac,tknc,bknc", profile: o.Profile = None,
    batch_size: o.BatchSize = None, mean: o.Mean = None, std: o.Std = None, output: o.Output = "auto",
    resize: o.Resize = None, layers: o.Layers = None, exclude: o.Exclude = None, every_layer: o.EveryLayer = False,
    sigma: o.Sigma = 0.0, threads: o.Threads = None, device: o.Device = "cpu", trust_model: o.TrustModel = False,
    as_json: o.Json = False,
) -> None:  # fmt: skip
    """Report the coverage of MODEL that the images of DATA reach."""
    from nnfuzz.opening import check_criteria, profiled_set

    o.use_threads(threads)
    settings = o.settings(
        device, batch_size, mean, std, output, resize, layers, exclude, every_layer, sigma, trust_model,
    )  # fmt: skip
    criteria = o.listed(criterion)
    check_criteria(criteria)
    with Display(as_json) as display:
        display.title(f"coverage of {model} by {data}")
        display.finish(measure(model, data, criteria, profiled_set(profile, data, settings), settings, display))


def measure(
    model: str, spec: str, criteria: tuple[str, ...], train: Any, settings: Any, display: Display
) -> dict[str, Any]:
    """Run the images once and ask every criterion."""
    import torch

    from nnfuzz.opening import PROFILE_ROWS, covers, open_subject
    from nnfuzz.records import Batch

    subject = open_subject(model, spec, settings, criteria)
    with subject.target as target:
        for line in subject.lines():
            display.say(*line)
        held = covers(subject, criteria, train, settings.sigma, display.say)
        for x in torch.split(subject.images.x, PROFILE_ROWS):
            seen = target(x)
            for one in held:
                one(Batch.of_seeds(x), seen)
        for one in held:
            groups = one.criterion.units // one.criterion.buckets
            display.say(one.criterion.name, f"{one.coverage:.2%} of {groups:,}")
        return {
            "model": model, "data": spec, "images": len(subject.images), "neurons": target.neurons,
            "accuracy": subject.preflight.accuracy,
            "layers": {str(layer): layer.neurons for layer in target.layers},
            "coverage": {one.criterion.name: round(one.coverage, 6) for one in held},
        }  # fmt: skip
