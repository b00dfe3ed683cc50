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
    typer.Option("--lr", help="Highest learning rate [default: 0.05, for a referee 0.004]", show_default=False),
]
Stages = Annotated[
    str | None, typer.Option(help="Also keep the weights after these epochs, like 1,3", show_default=False)
]
Weights = Annotated[str | None, typer.Option("--out", metavar="FILE", help="[default: where --model finds it]")]


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
    spec = data or models.ZOO[network].dataset
    size = o.size(resize)
    images, test = sets.load(spec, "train", size), sets.load(spec, "test", size)
    name = f"referee{seed}" if referee else network
    path = Path(out) if out else sets.folder() / "models" / f"{test.name}-{name}.safetensors"
    with Display(as_json) as display:
        display.title(f"training {network} on {len(images):,} images of {images.name}")
        teach = partial(_judge, network) if referee else partial(_model, network, o.usable(device), stages)
        trained = teach(images, test, epochs, seconds, lr, seed, partial(_tell, display))
        files = _keep(trained, path, {"dataset": images.name, "seed": seed})
        for epoch, file in files.items():
            display.say("weights", f"{file} (epoch {epoch})")
        last = trained.history[-1]
        display.finish({
            "network": network, "data": images.name, "epochs": last.number, "seconds": round(last.seconds, 2),
            "test_accuracy": last.test, **(_under_strain(trained, test, display) if referee else {}), "weights": files,
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
    network: str, device: str, stages: str | None, images: Images, test: Images, epochs: int | None,
    seconds: float | None, lr: float | None, seed: int, tell: Callable[[Epoch], None],
) -> Trained:  # fmt: skip
    from nnfuzz import models

    channels, height, width = images.x.shape[1:]
    net = models.build(network, (channels, height, width), len(images.classes), seed=seed)
    net.net.to(device)
    return models.train(
        net, images, test, epochs=epochs or 10, seconds=seconds, lr=lr or 0.05, seed=seed,
        augment=models.crop_flip if channels == 3 else None, stages=tuple(map(int, o.listed(stages))), on_epoch=tell,
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
    """The last weights, and those on the way that were asked for: epoch -> file."""
    from nnfuzz import models

    last = trained.history[-1]
    models.save(trained.model, path, {"test_accuracy": f"{last.test:.4f}", "epochs": last.number, **about})
    files = {last.number: str(path)}
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
