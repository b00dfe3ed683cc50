"""nnfuzz demo: everything at once, on data that comes with the install."""

from __future__ import annotations

import time
from pathlib import Path

import typer

from nnfuzz.cli import options as o
from nnfuzz.cli.display import Display
from nnfuzz.cli.ending import end
from nnfuzz.cli.hunt import fresh

DATA, NETWORK, EPOCHS = "digits28", "lenet5", 16


def demo(
    seconds: o.Seconds = 15.0, seed: o.Seed = 0, out: o.Out = None, threads: o.Threads = None,
    device: o.Device = "cpu", as_json: o.Json = False,
) -> None:  # fmt: skip
    """Train a small network on scikit-learn's digits, then hunt it."""
    from nnfuzz.hunting import Hunt, hunt
    from nnfuzz.opening import Settings
    from nnfuzz.store import vacant

    o.use_threads(threads)
    folder = Path(out or fresh(NETWORK, "demo"))
    weights = folder.with_name(f"{folder.name}.safetensors")
    for path in (folder, weights):  # before anything is trained
        vacant(path)
    with Display(as_json) as display:
        display.title("training a small network on scikit-learn's digits")
        display.say("trained", trained(weights, seed))
        display.title(f"hunting it for {seconds:g} s")
        ask = Hunt(
            f"{NETWORK}@{weights}", DATA, seconds=seconds, seed=seed, out=str(folder),
            settings=Settings(o.usable(device)),
        )  # fmt: skip
        code = end(display, hunt(ask, display))
    if code:
        raise typer.Exit(code)


def trained(weights: Path, seed: int) -> str:
    """Train, save, and say how it went."""
    from nnfuzz import data, models

    started = time.monotonic()
    images, test = data.load(DATA, "train"), data.load(DATA, "test")
    done = models.train(NETWORK, images, test, epochs=EPOCHS, batch=64, seed=seed)
    models.save(done.model, weights)
    right, spent = done.history[-1].test or 0.0, time.monotonic() - started
    return f"{right:.2%} of the test images right after {spent:.1f} s, {weights}"
