"""From what a user names to open things: a model, a target around it, and its profile."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from nnfuzz import coverage, data, models
from nnfuzz.coverage import Cover, Ranges, ranges
from nnfuzz.errors import NnfuzzError
from nnfuzz.preflight import Preflight, check_fit, examine, gives_probabilities
from nnfuzz.records import Model
from nnfuzz.target import Guard, Refused, Target

PROFILE_ROWS = 1000
NAMED = 5  # of the files left out


@dataclass(frozen=True)
class Settings:
    """How models are fed and run; the same options in every command."""

    device: str = "cpu"
    batch_size: int | None = None
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    output: str = "auto"
    resize: tuple[int, int] | None = None
    layers: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    every_layer: bool = False
    sigma: float = 0.0
    trust_model: bool = False  # open a file that holds a whole network, which can run code

    def __post_init__(self) -> None:
        if self.batch_size is not None and self.batch_size < 1:
            raise NnfuzzError(f"expected a batch size from 1 up and came {self.batch_size}; give a larger one")


@dataclass(frozen=True, eq=False)
class Subject:
    """A model on its device, the images it is tested with, and what a first look showed."""

    target: Target
    images: data.Images
    preflight: Preflight
    digest: str  # of the network as it is run

    def __enter__(self) -> Subject:
        return self

    def __exit__(self, *_: object) -> None:
        self.target.close()

    def lines(self) -> list[tuple[str, str]]:
        """What a user reads before the run."""
        skipped = self.images.skipped
        more = f", and {len(skipped) - NAMED:,} more" if len(skipped) > NAMED else ""
        files = f"{len(skipped):,} file{'s'[: len(skipped) != 1]}: {', '.join(skipped[:NAMED])}{more}"
        return [("skipped", files)] * bool(skipped) + self.preflight.lines()


def open_subject(
    model: Model | str, images: data.Images | str, settings: Settings, criteria: Sequence[str] = (),
    guard: Guard = nullcontext, refused: Refused | None = None, beside: Sequence[str] = (), pair: bool = False,
) -> Subject:  # fmt: skip
    """Load, check that they fit, look at a sample; every complaint is one sentence. `beside` are further models of the
    same task, and then the neurons of all are read; of a `pair` of versions those of the new one."""
    trust = settings.trust_model
    model = models.load(model, trust) if isinstance(model, str) else model
    images = data.load(images, size=settings.resize) if isinstance(images, str) else images
    asked = [_fed(one, settings) for one in (model, *(models.load(spec, trust) for spec in beside))]
    came_in = "train" if model.net.training else "eval"
    for one in asked:
        check_fit(one, images.x)
    target = _target(asked, images.x, settings, criteria, (1,) if pair else range(len(asked)))
    target.guard, target.refused = guard, refused
    looked = examine(target, images.x, images.label, came_in)
    return Subject(target, images, looked, "+".join(models.digest(one.net) for one in asked))


def _fed(model: Model, settings: Settings) -> Model:
    """The model fed as the user says, or as it comes."""
    mean = model.mean if settings.mean is None else settings.mean
    return replace(model, mean=mean, std=model.std if settings.std is None else settings.std)


def _target(
    asked: Sequence[Model], x: Tensor, settings: Settings, criteria: Sequence[str], read: Sequence[int]
) -> Target:
    def around(models: Sequence[Model]) -> Target:
        return Target(
            models, x, device=settings.device, batch_size=settings.batch_size, every_layer=settings.every_layer,
            only=settings.layers, exclude=settings.exclude, features=("scaled",) if "nc" in criteria else (),
            read=read,
        )  # fmt: skip

    if settings.output != "auto":
        return around([replace(model, output=_output(settings.output)) for model in asked])
    target = around(asked)
    given = [model.output == "logits" and gives_probabilities(logits)
             for model, logits in zip(asked, target(x[:8]).logits, strict=True)]  # fmt: skip
    if any(given):
        target.close()
        said = zip(asked, given, strict=True)
        target = around([replace(model, output="probabilities") if known else model for model, known in said])
    return target


def _output(name: str) -> Literal["logits", "probabilities"]:
    kinds: dict[str, Literal["logits", "probabilities"]] = {"logits": "logits", "probabilities": "probabilities"}
    if name in kinds:
        return kinds[name]
    raise NnfuzzError(f"expected --output auto, logits or probabilities, and came {name!r}")


def check_criteria(criteria: Sequence[str]) -> None:
    if not criteria or not set(criteria) <= {*coverage.NAMES, "nc-raw"}:
        raise NnfuzzError(f"expected criteria among {', '.join(coverage.NAMES)}, and came {', '.join(criteria)!r}")
    if len(set(criteria)) < len(criteria):
        raise NnfuzzError(f"expected each criterion once, and came {', '.join(criteria)!r}")


def covers(
    subject: Subject, criteria: Sequence[str], train: data.Images | None, sigma: float = 0.0,
    say: Callable[[str, str], None] = lambda name, text: None,
) -> list[Cover]:  # fmt: skip
    """One memory for each criterion; the profile is made, or found made, when one of them needs it."""
    if criteria:
        check_criteria(criteria)
    profiled = profile(subject, train, say) if set(criteria) & set(coverage.PROFILED) else None
    sizes = [layer.neurons for layer in subject.target.layers]
    return [Cover(coverage.criterion(name, sizes, profiled, sigma)) for name in criteria]


def profile(subject: Subject, train: data.Images | None, say: Callable[[str, str], None]) -> Ranges:
    """What each neuron ranges over on the training set: one pass, kept under the digests of model and data."""
    images = subject.images if train is None else train
    target = subject.target
    fed = (target.models[0].mean, target.models[0].std, target.models[0].output)
    what = f"{subject.digest} {data.digest(images)} {[str(layer) for layer in target.layers]} {fed}"
    path = data.folder() / "profiles" / f"{hashlib.sha256(what.encode()).hexdigest()[:20]}.safetensors"
    found = ranges.load(path, target.neurons)
    if found is None:
        check_fit(target.models[0], images.x)
        try:
            found = ranges.profile(target(x).neurons for x in torch.split(images.x, PROFILE_ROWS))
        except ValueError as error:
            raise NnfuzzError(
                f"expected an image of {images.name} that the model answers with finite numbers, to make the profile"
                " of, and there is none; give other images with --profile"
            ) from error
        ranges.save(found, path)
        say("profile", f"made from {len(images):,} images of {images.name}, kept in {path}")
    else:
        say("profile", f"of {found.count:,} images of {images.name}, from {path}")
    return found


def training_set(spec: str, settings: Settings) -> data.Images | None:
    """The train split that goes with test data, where there is one."""
    return data.load(spec, "train", settings.resize) if data.has_split(spec, "train") else None


def profiled_set(profile: str | None, spec: str, settings: Settings) -> data.Images | None:
    """What the profile is made of: the images given for it, or the train split of the data; None: the data."""
    return data.load(profile, "train", settings.resize) if profile else training_set(spec, settings)
