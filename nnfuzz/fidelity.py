"""From the name of a fidelity to the part that asks: is a mutant still a fair question?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch import Tensor, nn

from nnfuzz import data, generative, models
from nnfuzz.errors import NnfuzzError
from nnfuzz.models.guard import RECIPE
from nnfuzz.models.train import Epoch
from nnfuzz.reader import Reader, Tapped
from nnfuzz.records import Batch, Model
from nnfuzz.roles import Validity
from nnfuzz.validity import Alike, Calibrated, Consistent, Faithful, Guarded, Similar

Say = Callable[[str, str], None]

THRESHOLDS = {
    "none": 0.0,
    "label": 0.5,
    "consistent": 8,
    "ssim": 0.5,
    "features": 0.8,
    "gan": 0.0,
    "gan-calibrated": 0.05,
}
NAMES = tuple(THRESHOLDS)
QUIET = 5.0  # seconds between two words of a guard that is trained
READS = 0.5  # of the images it is to guard, below which a guard is of no use


def fidelity(
    name: str, old: Model, seeds: Batch, train: data.Images, *, threshold: float | None = None,
    guard: str | None = None, layer: str | None = None, device: str = "cpu", seed: int = 0,
    say: Say = lambda name, text: None,
) -> Validity | None:  # fmt: skip
    """The part, with what it needs found or trained once; None where nothing is to be asked.

    `old`: the model under test, the older one of a pair. `train`: what a guard or a discriminator learns from.
    `threshold`: the least probability, similarity or cosine; the share of real images that may be refused; the number
    of jittered copies.
    """
    if name not in NAMES:
        raise NnfuzzError(f"expected a fidelity among {', '.join(NAMES)}, and came {name!r}")
    bar = THRESHOLDS[name] if threshold is None else threshold
    if name == "label":
        return _guarded(guard, seeds, train, bar, device, seed, say)
    if name == "consistent":
        return Consistent.of(Reader(old, seeds.x, device), seeds, int(bar))
    if name == "ssim":
        return Similar.of(seeds, bar)
    if name in ("gan", "gan-calibrated"):
        return _faithful(name, seeds, train, bar, device, seed, say)
    if name == "features":
        return _alike(old, layer, seeds, bar, device)
    return None


def _guarded(
    spec: str | None, seeds: Batch, train: data.Images, threshold: float, device: str, seed: int, say: Say
) -> Guarded:  # fmt: skip
    if spec:
        read, name = Reader(models.load(spec), seeds.x, device), spec
    else:
        model = trained_guard(train, seed, say)
        read, name = Reader(model, seeds.x, device, dtype=None), model.name
    if read.classes != len(train.classes):
        raise NnfuzzError(
            f"expected a guard that tells {len(train.classes)} classes apart and {name} tells {read.classes}; give one "
            "that was trained on the same classes"
        )
    valid = Guarded.of(read, seeds, threshold, name)
    known = seeds[seeds.label >= 0]
    reads = float(valid(known, known).double().mean()) if len(known) else 1.0
    if reads < READS:
        raise NnfuzzError(
            f"expected a guard that reads at least {READS:.0%} of the seeds and {name} reads {reads:.1%}; name more "
            "training data, give --guard MODEL, or take --fidelity consistent"
        )
    say("guard", f"{name} reads {reads:.2%} of the seeds with a probability of at least {threshold:g}")
    return valid


def trained_guard(train: data.Images, seed: int = 0, say: Say = lambda name, text: None) -> Model:
    """The guard that belongs to these images: looked up under their digest, else trained and kept there."""
    path = data.folder() / "guards" / f"{data.digest(train)}-{RECIPE}-{seed}.safetensors"
    if path.is_file():
        say("guard", f"of {len(train):,} images of {train.name}, from {path}")
        return replace(models.load(f"guard@{path}"), name=path.stem)
    images = labelled(train)
    say("guard", f"to be trained once, on {len(images):,} images of {train.name}")
    trained = models.train_judge(
        "guard",
        images,
        seed=seed,
        on_epoch=now_and_then(say),
    )
    last = trained.history[-1]
    models.save(trained.model, path, {"dataset": train.name, "epochs": last.number, "seed": seed})
    say("guard", f"trained in {last.seconds:.0f} s, kept in {path}")
    return replace(trained.model, name=path.stem)


def now_and_then(say: Say) -> Callable[[Epoch], None]:
    """An epoch in `QUIET` seconds is told: of a few hundred images there are hundreds of epochs."""
    told = 0.0

    def tell(epoch: Epoch) -> None:
        nonlocal told
        if epoch.number == 1 or epoch.seconds - told >= QUIET:
            told = epoch.seconds
            said = f"epoch {epoch.number}, reads {epoch.accuracy:.1%} of distorted images, {epoch.seconds:.0f} s"
            say("guard", said)

    return tell


def labelled(images: data.Images) -> data.Images:
    """Those that have a label."""
    rows = (images.label >= 0).nonzero().flatten()
    return replace(images, x=images.x[rows], label=images.label[rows], files=(), skipped=())


def _faithful(
    name: str, seeds: Batch, train: data.Images, share: float, device: str, seed: int, say: Say
) -> Validity:  # fmt: skip
    """The paper's rule, or a bar that all but a share of the seeds clear; the discriminator shows its worth first."""
    gan = generative.once(train, seed=seed, say=say)
    model = generative.critic(gan, _shape(seeds))
    told_apart = generative.check(generative.judged(gan, generative.groups(gan, seeds.x)), model.name)
    say("gan", f"scores a real image above noise {told_apart:.1%} of the time")
    read = Reader(model, seeds.x, device, dtype=None)

    def score(x: Tensor) -> Tensor:
        return read(x)[:, 0]

    if name == "gan":
        return Faithful.of(score, seeds, model.name)
    return Calibrated.of(score, seeds.x, share, model.name)


def _shape(seeds: Batch) -> tuple[int, int, int]:
    _, channels, height, width = seeds.x.shape
    return channels, height, width


def _alike(model: Model, layer: str | None, seeds: Batch, threshold: float, device: str) -> Alike:
    """In the layer that was named, else in the input of the last linear map."""
    names = [name for name, module in model.net.named_modules() if name and not any(module.children())]
    linear = [i for i, name in enumerate(names) if isinstance(model.net.get_submodule(name), nn.Linear)]
    name = layer or (names[max(0, linear[-1] - 1)] if linear else "")
    if not name or name not in dict(model.net.named_modules()):
        raise NnfuzzError(f"expected --layer to be one of {', '.join(names)}, and came {layer!r}")
    tapped = replace(model, net=Tapped(model.net, name), output="logits")
    return Alike.of(Reader(tapped, seeds.x, device), seeds, threshold, name)
