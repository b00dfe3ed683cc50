"""The networks a table is about: opened by name, trained first where there are no weights yet."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

from nnfuzz import data, models
from nnfuzz.campaign import seeded
from nnfuzz.errors import NnfuzzError
from nnfuzz.experiments.published import SUBJECTS
from nnfuzz.opening import Settings, training_set
from nnfuzz.records import Batch, Model
from nnfuzz.target import Target

SPECS = {"mobilenet": "torchvision:mobilenet_v2", "resnet50": "torchvision:resnet50"}
EPOCHS = 10  # of a network without weights; instances A, B, C have the paper's, scaled
LOOK = 500  # images asked at once while seeds are sought

Say = Callable[[str, str], None]


@dataclass(frozen=True, eq=False)
class Studied:
    """A network, what it is tested on, and whose row of the paper it stands beside."""

    name: str
    model: Model
    images: data.Images
    train: data.Images | None
    published: str | None
    earlier: tuple[Model, ...] = ()  # instances A and B, where this one is C
    accuracy: tuple[float, ...] = ()  # of A, B and C on the test images
    epochs: tuple[int, ...] = ()


def study(name: str, spec: str | None, settings: Settings, stages: tuple[int, ...], seed: int, say: Say) -> Studied:
    """Open one; with `stages`, as three instances of a training that lasts until the last of them."""
    bare = name in models.ZOO
    if not bare and not spec:
        raise NnfuzzError(
            f"expected --data with images for {name}, and came none; only a network's name alone has its own"
        )
    where = models.ZOO[name].dataset if bare else spec or ""
    images, train = data.load(where, size=settings.resize), training_set(where, settings)
    if not (images.label >= 0).all():
        raise NnfuzzError(
            f"expected labelled images, since seeds are those answered right, and {where} has some without"
        )
    published = next((row for row in SUBJECTS if name.split("@")[0] in (row, SPECS.get(row))), None)
    if not stages:
        model = (
            _trained(name, images, train, seed, settings.device, say) if bare else models.load(SPECS.get(name, name))
        )
        return Studied(name, model, images, train, published)
    if not bare or train is None:
        raise NnfuzzError(
            f"expected a network among {', '.join(models.ZOO)} for table 5, which trains three of it, and came {name!r}"
        )
    made = _instances(name, images, train, stages, seed, settings.device, say)
    accuracy = tuple(models.accuracy(model, images) for model in made)
    for letter, model, right in zip("ABC", made, accuracy, strict=True):
        say(f"instance {letter}", f"{model.name}, test accuracy {right:.2%}")
    return Studied(name, made[-1], images, train, published, made[:-1], accuracy, stages)


def _trained(name: str, images: data.Images, train: data.Images | None, seed: int, device: str, say: Say) -> Model:
    path = data.folder() / "models" / f"{models.ZOO[name].dataset}-{name}.safetensors"
    if not path.is_file() and train is not None:
        say("training", f"{name}, {EPOCHS} epochs, since there are no weights at {path}")
        _fit(name, images, train, (EPOCHS,), seed, device, {EPOCHS: str(path)}, models.one_cycle, say)
    return models.load(name)


def _instances(
    name: str, images: data.Images, train: data.Images, stages: tuple[int, ...], seed: int, device: str, say: Say
) -> tuple[Model, ...]:
    """A, B and C from the data folder, or trained into it."""
    stem = f"{images.name}-{name}-seed{seed}"
    files = {e: str(data.folder() / "models" / f"{stem}-epoch{e}of{stages[-1]}.safetensors") for e in stages}
    try:
        return tuple(models.load(f"{name}@{file}") for file in files.values())
    except NnfuzzError:
        say("training", f"{name} with a learning rate in three stages, kept after epochs {', '.join(map(str, stages))}")
        _fit(name, images, train, stages, seed, device, files, models.three_stages, say)
    return tuple(models.load(f"{name}@{file}") for file in files.values())


def _fit(
    name: str, images: data.Images, train: data.Images, stages: tuple[int, ...], seed: int, device: str,
    files: Mapping[int, str], schedule: Callable[[float], float], say: Say,
) -> None:  # fmt: skip
    started = time.monotonic()
    channels, height, width = train.x.shape[1:]
    net = models.build(name, (channels, height, width), len(train.classes), seed=seed)
    net.net.to(device)
    trained = models.train(
        net, train, images, epochs=stages[-1], seed=seed, schedule=schedule, stages=stages,
        augment=models.crop_flip if channels == 3 else None,
        on_epoch=lambda e: say(f"epoch {e.number}", f"test accuracy {e.test:.2%} after {e.seconds:.0f} s"),
    )  # fmt: skip
    for epoch, state in trained.stages.items():
        net.net.load_state_dict(state)
        about = {"dataset": train.name, "epochs": epoch, "seed": seed}
        models.save(net, files[epoch], {**about, "test_accuracy": f"{trained.history[epoch - 1].test:.4f}"})
    say("trained", f"in {time.monotonic() - started:.0f} s")


def stages_of(name: str, given: tuple[int, ...], scale: float) -> tuple[int, ...]:
    """The epochs of A, B and C: those given, or the paper's (LeNet-5's, for a network it has not) times `scale`."""
    if given:
        if len(given) != 3 or not 0 < given[0] < given[1] < given[2]:
            raise NnfuzzError(
                f"expected --stages as three growing numbers, like 1,3,10, and came {','.join(map(str, given))}"
            )
        return given
    subject = SUBJECTS.get(name)
    a, b, c = (math.ceil(e * scale) for e in (subject and subject.epochs) or SUBJECTS["lenet5"].epochs or ())
    return a, max(a + 1, b), max(a + 2, b + 1, c)


def right_seeds(targets: tuple[Target, ...], images: data.Images, count: int, seed: int) -> Batch:
    """`count` images picked at random among those that every target answers right (section 4.2)."""
    found, missing = [], count
    for rows in torch.split(torch.randperm(len(images), generator=seeded(seed)), LOOK):
        fine = torch.stack([target(images.x[rows]).answer == images.label[rows] for target in targets]).all(0)
        found.append(rows[fine][:missing])
        missing -= len(found[-1])
        if not missing:
            break
    rows = torch.cat(found)
    if not len(rows):
        raise NnfuzzError("expected at least one image that the model answers right, and there is none; check --data")
    batch = Batch.of_seeds(images.x[rows], images.label[rows])
    return Batch(batch.x, batch.label, rows, batch.parent)
