"""nnfuzz train: train one of the reference networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nnfuzz.cli import options as o
from nnfuzz.cli.display import Display
from nnfuzz.errors import NnfuzzError

if TYPE_CHECKING:
    from nnfuzz.data import Images
    from nnfuzz.models import Epoch, Trained

EPOCHS = 10  # of a network that is no referee

Net = Annotated[
    str | None,
    typer.Argument(metavar="NETWORK", help="lenet1, lenet4, lenet5, resnet20, vgg16, digits, …", show_default=False),
]
Referee = Annotated[
    bool,
    typer.Option("--referee", help="An independent judge, taught with distorted images; another kind for each --seed"),
]
DataSet = Annotated[str | None, typer.Option("--data", metavar="DATA", help="[default: the network's usual set]")]
Epochs = Annotated[
    int | None,
    typer.Option(
        min=1, help="How often to go through the training set [default: 10, for a referee 6]", show_default=False
    ),
]
Rate = Annotated[
    float | None,
    typer.Option(
        "--lr", min=1e-9, max=1e3, help="Highest learning rate [default: 0.05, for a referee 0.004]", show_default=False
    ),
]
Stages = Annotated[
    str | None, typer.Option(help="Also keep the weights after these epochs, like 1,3", show_default=False)
]
Weights = Annotated[
    str | None,
    typer.Option(
        "--out", metavar="FILE", help="A .safetensors file [default: where NETWORK alone finds it]", show_default=False
    ),
]


def train(
    network: Net = None, referee: Referee = False, data: DataSet = None, epochs: Epochs = None,
    seconds: o.Seconds = None, stages: Stages = None, lr: Rate = None, seed: o.Seed = 0, out: Weights = None,
    resize: o.Resize = None, threads: o.Threads = None, device: o.Device = "cpu", as_json: o.Json = False,
) -> None:  # fmt: skip
    """Train one of the reference networks, or a referee; weights and test accuracy go into one safetensors file."""
    from nnfuzz import data as sets
    from nnfuzz import models

    o.use_threads(threads)
    network = _network(network, referee, seed)
    kept = _kept(stages, epochs or EPOCHS)
    spec, size = data or models.ZOO[network].dataset, o.size(resize)
    images, test = sets.load(spec, "train", size), sets.load(spec, "test", size)
    name = f"referee{seed}" if referee else network
    if (images.label < 0).any():
        raise NnfuzzError(f"expected a label for every image of {spec}, and came some without; leave those out")
    path = _writable(Path(out) if out else sets.folder() / "models" / f"{test.name}-{name}.safetensors")
    with Display(as_json) as display:
        display.title(f"training {network} on {len(images):,} images of {images.name}")
        if not sets.has_split(spec, "test"):
            display.say("warning", f"{spec} has no test images of its own: accuracy is that of the training images")
        teach = partial(_judge, network) if referee else partial(_model, network, o.usable(device), kept)
        trained = teach(images, test, epochs, seconds, lr, seed, partial(_tell, display))
        last, earlier = trained.history[-1], _keep(trained, path, {"dataset": images.name, "seed": seed})
        for epoch, file in (*earlier.items(), (last.number, path)):
            display.say("weights", f"{file} (epoch {epoch})")
        display.finish({
            "network": network, "data": images.name, "epochs": last.number, "seconds": round(last.seconds, 2),
            "test_accuracy": last.test, **(_under_strain(trained, test, display) if referee else {}),
            "weights": str(path), "stages": earlier,
        })  # fmt: skip


def _judge(
    network: str, images: Images, test: Images, epochs: int | None, seconds: float | None, lr: float | None,
    seed: int, tell: Callable[[Epoch], None],
) -> Trained:  # fmt: skip
    from nnfuzz import models

    return models.train_judge(
        network, images, test, seed=seed, epochs=epochs, seconds=seconds, lr=lr or 0.004, on_epoch=tell
    )  # fmt: skip


def _model(
    network: str, device: str, stages: tuple[int, ...], images: Images, test: Images, epochs: int | None,
    seconds: float | None, lr: float | None, seed: int, tell: Callable[[Epoch], None],
) -> Trained:  # fmt: skip
    from nnfuzz import models

    channels, height, width = images.x.shape[1:]
    net = models.build(network, (channels, height, width), len(images.classes), seed=seed)
    net.net.to(device)
    return models.train(
        net, images, test, epochs=epochs or EPOCHS, seconds=seconds, lr=lr or 0.05, seed=seed,
        augment=models.crop_flip if channels == 3 else None, stages=stages, on_epoch=tell,
    )  # fmt: skip


def _network(network: str | None, referee: bool, seed: int) -> str:
    """The one that was named; referees with neighbouring seeds are of different kinds."""
    from nnfuzz import models

    if referee and network is None:
        return models.REFEREES[seed % len(models.REFEREES)]
    if network not in models.ZOO:
        raise NnfuzzError(
            f"expected a network among {', '.join(models.ZOO)}, or --referee, and came {network or 'neither'}"
        )
    return network


def _tell(display: Display, epoch: Epoch) -> None:
    display.say(
        f"epoch {epoch.number}", f"loss {epoch.loss:.3f}, test accuracy {epoch.test:.2%}, {epoch.seconds:.0f} s"
    )


def _keep(trained: Trained, path: Path, about: dict[str, object]) -> dict[int, str]:
    """The last weights under the name asked for; those on the way beside it come back: epoch -> file."""
    from nnfuzz import models

    last = trained.history[-1]
    models.save(trained.model, path, {"test_accuracy": f"{last.test:.4f}", "epochs": last.number, **about})
    files: dict[int, str] = {}
    for epoch, state in trained.stages.items():
        files[epoch] = str(path.with_name(f"{path.stem}-epoch{epoch}.safetensors"))
        trained.model.net.load_state_dict(state)
        accuracy = f"{trained.history[epoch - 1].test:.4f}"
        models.save(trained.model, files[epoch], {"test_accuracy": accuracy, "epochs": epoch, **about})
    return files


def _under_strain(trained: Trained, test: Images, display: Display) -> dict[str, float]:
    """How well it reads test images that are distorted as in training."""
    import torch

    from nnfuzz import models

    x = models.distort(test.x, torch.Generator().manual_seed(0)).to(torch.uint8)
    share = models.accuracy(trained.model, replace(test, x=x))
    display.say("distorted", f"reads {share:.2%} of strongly distorted test images")
    return {"distorted_accuracy": share}


def _kept(stages: str | None, epochs: int) -> tuple[int, ...]:
    parts = o.listed(stages)
    if not all(part.isdigit() and 1 <= int(part) <= epochs for part in parts):
        raise NnfuzzError(f"expected --stages as epochs from 1 to {epochs}, like 1,{epochs}, and came {stages!r}")
    return tuple(map(int, parts))


def _writable(path: Path) -> Path:
    """Refused before the training, not after it."""
    if path.suffix != ".safetensors":
        raise NnfuzzError(f"expected --out as a .safetensors file, and came {path}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NnfuzzError(f"{path}: expected to write weights here and came {error}; give another --out") from error
    return path
