"""nnfuzz train-gan: train the networks of --fidelity gan."""

from __future__ import annotations

from typing import Annotated

import typer

from nnfuzz.cli import options as o
from nnfuzz.cli.display import Display

DataSet = Annotated[str, typer.Argument(metavar="DATA", help=o.DATA, show_default=False)]
Epochs = Annotated[
    float | None, typer.Option(min=0, help="Rounds through the images, parts of one too", show_default=False)
]
Network = Annotated[str, typer.Option(help="auto (the paper's for 1x28x28 and 3x32x32), or growing (for any size)")]


def train_gan(
    data: DataSet, epochs: Epochs = None, seconds: o.Seconds = None, network: Network = "auto", seed: o.Seed = 0,
    resize: o.Resize = None, threads: o.Threads = None, as_json: o.Json = False,
) -> None:  # fmt: skip
    """Train a generator and a discriminator on DATA's training images, and show what they are worth.

    For three minutes, if neither --epochs nor --seconds is given.
    """
    from nnfuzz import data as sets
    from nnfuzz import generative
    from nnfuzz.errors import NnfuzzError

    o.use_threads(threads)
    if network not in ("auto", "growing"):
        raise NnfuzzError(f"expected --network auto or growing, and came {network!r}")
    images, test = (sets.load(data, split, o.size(resize)) for split in ("train", "test"))
    limit = generative.SECONDS if seconds is None and epochs is None else seconds
    with Display(as_json) as display:
        display.title(f"training a GAN on {len(images):,} images of {images.name}")
        made = generative.make(
            images, test, network=network, epochs=epochs, seconds=limit, seed=seed, say=display.say
        )  # fmt: skip
        display.say("reached", f"{made.epochs:.2f} epochs in {made.seconds:.0f} s; the paper trains 100")
        for name, share in made.told_apart.items():
            display.say("tells apart", f"a real image scores above a {name} one {share:.1%} of the time")
        display.say("weights", str(made.path))
        for name, file in made.pictures.items():
            display.say(name, file)
        display.finish({
            "network": made.gan.name, "data": images.name, "epochs": round(made.epochs, 3),
            "seconds": round(made.seconds, 2), "told_apart": made.told_apart, "weights": str(made.path),
            **made.pictures,
        })  # fmt: skip
