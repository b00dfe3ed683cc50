"""nnfuzz demo: everything at once, on data that comes with the install."""

from __future__ import annotations

import time
from pathlib import Path

from nnfuzz.cli import options as o
from nnfuzz.cli.display import Display, summary
from nnfuzz.cli.hunt import fresh


def demo(
    seconds: o.Seconds = 15.0, seed: o.Seed = 0, out: o.Out = None, threads: o.Threads = None,
    device: o.Device = "cpu", as_json: o.Json = False,
) -> None:  # fmt: skip
    """Train a small network on scikit-learn's digits, then hunt it."""
    from nnfuzz import data, models
    from nnfuzz.hunting import Hunt, hunt
    from nnfuzz.opening import Settings

    size = (24, 24)  # on 8x8 pixels a shift by three is another image; enlarged, it is the same digit
    o.use_threads(threads)
    folder = Path(out or fresh("digits", "demo"))
    with Display(as_json) as display:
        display.title("training a small network on scikit-learn's digits")
        started = time.monotonic()
        images, test = (data.load("digits", split, size) for split in ("train", "test"))
        trained = models.train("lenet5", images, test, epochs=8, seed=seed)
        weights = folder.with_name(f"{folder.name}.safetensors")
        models.save(trained.model, weights)
        display.say("trained", f"{trained.history[-1].test:.2%} of the test images right after"
                               f" {time.monotonic() - started:.1f} s, {weights}")  # fmt: skip
        display.title(f"hunting it for {seconds:g} s")
        ask = Hunt(
            f"lenet5@{weights}",
            "digits",
            seconds=seconds,
            seed=seed,
            out=str(folder),
            settings=Settings(device, resize=size),
        )
        result = hunt(ask, display)
        display.still()
        summary(display, result)
        display.say("look at", f"{folder / 'findings.png'}")
        display.finish(result)
