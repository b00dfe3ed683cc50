"""A look at model and data before a run: what would make every later number nonsense is refused here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nnfuzz.errors import NnfuzzError
from nnfuzz.records import Model
from nnfuzz.target import Target

LOOK = 2**27  # activations spent on the clean accuracy: 10,000 images for a LeNet, 100 for an ImageNet model


@dataclass(frozen=True)
class Preflight:
    """What was seen of a model on a sample of the data."""

    model: str
    shape: tuple[int, ...]
    looked_at: int
    accuracy: float | None  # None = no labels
    low: int
    high: int
    output: str
    finite: float  # share of images on which every class score is finite
    deterministic: bool
    mode: str  # the mode the model came in
    classes: int
    layers: tuple[str, ...]
    neurons: int
    beside: tuple[float, ...] = ()  # the accuracy of further models

    def lines(self) -> list[tuple[str, str]]:
        """What a user reads before the run."""
        shares = " and ".join(f"{share:.2%}" for share in (self.accuracy or 0.0, *self.beside))
        accuracy = "no labels" if self.accuracy is None else f"{shares} of {self.looked_at:,} images"
        rows = [
            ("clean accuracy", accuracy),
            ("input", f"{'x'.join(map(str, self.shape))}, pixels {self.low}..{self.high}"),
            ("output", f"{self.output} of {self.classes} classes"),
            ("probed", f"{self.neurons:,} neurons in {len(self.layers)} layers: {shortened(self.layers)}"),
            ("mode", f"came in {self.mode} mode, run in eval mode"),
            ("answers", "the same when asked again" if self.deterministic else "DIFFERENT when asked again"),
        ]
        if self.finite < 1:
            rows.append(("not finite", f"{1 - self.finite:.2%} of the images already give NaN or infinity"))
        if self.accuracy is not None and self.accuracy < 2 / self.classes:
            rows.append(("warning", "hardly better than guessing: check normalisation, labels and their order"))
        elif self.accuracy is not None and self.accuracy < 0.5:
            rows.append(("warning", "most are wrong: are the data's classes, sorted by name, in the network's order?"))
        return rows


def shortened(names: Sequence[str], most: int = 10) -> str:
    """The first and the last of them, if they are many."""
    if len(names) <= most:
        return ", ".join(names)
    return ", ".join([*names[: most // 2], "…", *names[-(most // 2) :]])


def check_fit(model: Model, x: Tensor) -> None:
    """Refuse images that this network cannot take, before it fails deep inside."""
    wanted = model.shape[0] if model.shape else _first_channels(model.net)
    if wanted is not None and wanted != x.shape[1]:
        raise NnfuzzError(
            f"model {model.name} takes images of {wanted} channel{'s'[: wanted != 1]} and the data has {x.shape[1]};"
            " give data of the kind it was trained on"
        )
    if model.shape and tuple(x.shape[1:]) != model.shape:
        c, h, w = model.shape
        raise NnfuzzError(
            f"model {model.name} takes {c}x{h}x{w} images and the data has {'x'.join(map(str, x.shape[1:]))};"
            f" add --resize {h}x{w} to resize them"
        )
    if len(model.mean) not in (1, x.shape[1]) or len(model.std) not in (1, x.shape[1]):
        raise NnfuzzError(
            f"the normalisation has {len(model.mean)} means and {len(model.std)} deviations for images of"
            f" {x.shape[1]} channels; give one of each, or one for each channel"
        )


def _first_channels(net: nn.Module) -> int | None:
    first = next((m for m in net.modules() if isinstance(m, nn.Conv2d)), None)
    return first.in_channels if first else None


def examine(target: Target, x: Tensor, label: Tensor, came_in: str) -> Preflight:
    """Run a sample of the data, refuse nonsense, and say the rest."""
    model = target.models[0]
    if len(label) and int(label.max()) >= target.classes:
        raise NnfuzzError(
            f"the data has a label {int(label.max())} and model {model.name} tells {target.classes} classes apart;"
            " give data with the model's own classes"
        )
    rows = torch.linspace(0, len(x) - 1, min(len(x), max(100, LOOK // target.activations))).long()
    seen = target(x[rows])
    # The same batch both times: in float32 the last digit of an answer may depend on what else is in the batch.
    once, again = (target(x[rows[:32]]).logits[0].nan_to_num() for _ in range(2))
    logits, labelled = seen.logits[0], label[rows] >= 0
    finite = logits.isfinite().all(1)
    if (seen.raised > 0).all() and len(rows):
        raise NnfuzzError(f"{target.complaints[0]}; it does so on every image it was shown, so correct it first")
    if not finite.any():
        raise NnfuzzError(
            f"model {model.name} answers NaN or infinity on every image it was shown;"
            " check its weights and --mean/--std"
        )
    right = (seen.logits.argmax(2) == label[rows])[:, labelled]
    shares = right.double().mean(1).tolist() if labelled.any() else []
    return Preflight(
        model=model.name, shape=tuple(x.shape[1:]), looked_at=right.shape[1],
        accuracy=shares[0] if shares else None, beside=tuple(shares[1:]),
        low=int(x[rows].min()), high=int(x[rows].max()), output=model.output,
        finite=finite.double().mean().item(),
        deterministic=torch.equal(once, again),
        mode=came_in, classes=target.classes, layers=tuple(layer.name for layer in target.layers),
        neurons=target.neurons,
    )  # fmt: skip


def gives_probabilities(logits: Tensor) -> bool:
    """Rows of non-negative numbers that sum to one are not logits."""
    return bool(len(logits) and (logits >= 0).all() and ((logits.sum(1) - 1).abs() < 1e-3).all())
