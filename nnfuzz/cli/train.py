"""nnfuzz train: train one of the reference networks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nnfuzz.cli import options as o
from nnfuzz.cli.display import Display
from nnfuzz.errors import NnfuzzError

Net = Annotated[str, typer.Argument(metavar="NETWORK", help="lenet1, lenet4, lenet5, resnet20, vgg16, digits, …")]
DataSet = Annotated[str | None, typer.Option("--data", metavar="DATA", help="[default: the network's usual set]")]
Epochs = Annotated[int, typer.Option(min=1, help="How often to go through the training set")]
Stages = Annotated[
    str | None, typer.Option(help="Also keep the weights after these epochs, like 1,3", show_default=False)
]
Weights = Annotated[str | None, typer.Option("--out", metavar="FILE", help="[default: where --model finds it]")]


def train(
    network: Net, data: DataSet = None, epochs: Epochs = 10, seconds: o.Seconds = None, stages: Stages = None,
    lr: Annotated[float, typer.Option(help="Highest learning rate")] = 0.05, seed: o.Seed = 0, out: Weights = None,
    resize: o.Resize = None, threads: o.Threads = None, device: o.Device = "cpu", as_json: o.Json = False,
) -> None:  # fmt: skip
    """Train one of the reference networks; weights and test accuracy go into one safetensors file."""
    from nnfuzz import data as sets
    from nnfuzz import models

    o.use_threads(threads)
    if network not in models.ZOO:
        raise NnfuzzError(f"expected a network among {', '.join(models.ZOO)}, and came {network!r}")
    spec = data or models.ZOO[network].dataset
    size = o.size(resize)
    images, test = sets.load(spec, "train", size), sets.load(spec, "test", size)
    path = Path(out) if out else sets.folder() / "models" / f"{test.name}-{network}.safetensors"
    channels, height, width = images.x.shape[1:]
    net = models.build(network, (channels, height, width), len(images.classes), seed=seed)
    net.net.to(o.usable(device))
    with Display(as_json) as display:
        display.title(f"training {network} on {len(images):,} images of {images.name}")
        trained = models.train(
            net, images, test, epochs=epochs, seconds=seconds, lr=lr, seed=seed,
            augment=models.crop_flip if channels == 3 else None, stages=tuple(map(int, o.listed(stages))),
            on_epoch=lambda e: display.say(
                f"epoch {e.number}", f"loss {e.loss:.3f}, test accuracy {e.test:.2%}, {e.seconds:.0f} s"
            ),
        )  # fmt: skip
        last = trained.history[-1]
        about = {"test_accuracy": f"{last.test:.4f}", "dataset": images.name, "epochs": last.number, "seed": seed}
        models.save(trained.model, path, about)
        files = {last.number: str(path)}
        for epoch, state in trained.stages.items():
            files[epoch] = str(path.with_name(f"{path.stem}-epoch{epoch}.safetensors"))
            trained.model.net.load_state_dict(state)
            accuracy = f"{trained.history[epoch - 1].test:.4f}"
            models.save(trained.model, files[epoch], {**about, "epochs": epoch, "test_accuracy": accuracy})
        for epoch, file in files.items():
            display.say("weights", f"{file} (epoch {epoch})")
        display.finish({
            "network": network, "data": images.name, "epochs": last.number, "seconds": round(last.seconds, 2),
            "test_accuracy": last.test, "weights": files,
        })  # fmt: skip
