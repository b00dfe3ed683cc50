"""How much of the bare forward pass a whole fuzzing loop keeps. All ratios are taken within one run.

    python benchmarks/speed.py [--threads 2] [--seconds 4] [--models lenet5,resnet20,vgg16] [--no-corpus]

Needs MNIST and CIFAR-10 where nnfuzz looks for data. Weights do not matter for speed: networks that have none
in the data folder are used untrained.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import platform
import statistics
import subprocess
import time
from collections.abc import Callable

import torch
from torch import Tensor

from nnfuzz import data, models
from nnfuzz.coverage import KMNC, Cover
from nnfuzz.coverage.ranges import profile
from nnfuzz.errors import NnfuzzError
from nnfuzz.hunting import Prepared, prepare
from nnfuzz.opening import Settings, Subject, open_subject
from nnfuzz.records import Batch

ROUNDS = 5
BATCHES = (16, 32, 64, 128, 256, 512)


def header() -> str:
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], capture_output=True, text=True).stdout.strip()
    info = pathlib.Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
    return (f"{datetime.date.today()}  {cpu or platform.processor()}, {torch.get_num_threads()} threads,"
            f" torch {torch.__version__}, commit {commit}")  # fmt: skip


def opened(name: str) -> Subject:
    entry = models.ZOO[name]
    images = data.load(entry.dataset)
    try:
        model = models.load(name)
    except NnfuzzError:
        model = models.build(name, entry.shape, len(images.classes))
    return open_subject(model, images, Settings(), ("kmnc",))


def per_second(work: Callable[[], int], seconds: float) -> float:
    """Units of work a second, over about this long."""
    done, start = 0, time.perf_counter()
    while (spent := time.perf_counter() - start) < seconds or not done:
        done += work()
    return done / spent


def bare(subject: Subject) -> tuple[Callable[[], int], int]:
    """The network alone on ready-made input, at the batch size that suits it best."""
    net = subject.target.models[0].net.eval()
    mean, std = (torch.tensor(v)[:, None, None] for v in (subject.target.models[0].mean, subject.target.models[0].std))
    x = (subject.images.x[:512] / 255 - mean) / std

    def forward(size: int) -> int:
        with torch.inference_mode():
            net(x[:size])
        return size

    best = max(BATCHES, key=lambda size: per_second(lambda: forward(size), 0.5))
    return lambda: forward(best), best


def hunting(subject: Subject, seeds: Batch, ranges_rows: int = 5000) -> Prepared:
    target = subject.target
    train = data.load(models.ZOO[subject.target.models[0].name.split("@")[0]].dataset, "train")
    rows = min(ranges_rows, max(200, 2**28 // target.activations))
    cover = Cover(KMNC(profile(target(x).neurons for x in torch.split(train.x[:rows], 500))))
    return prepare(subject, [cover], seeds)


def executed(prepared: Prepared) -> Callable[[], int]:
    steps = prepared.campaign.steps()
    return lambda: len(next(steps).children)


def compare(a: Callable[[], int], b: Callable[[], int], seconds: float) -> tuple[float, float, float]:
    """Both by turns, so that a noisy neighbour slows both: median rates, and the median of their ratios."""
    pairs = [(per_second(a, seconds), per_second(b, seconds)) for _ in range(ROUNDS)]
    return (statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs),
            statistics.median(p[0] / p[1] for p in pairs))  # fmt: skip


def own_answers(subject: Subject, x: Tensor) -> Batch:
    """Seeds labelled with the model's own answers: all are admitted, trained or not."""
    label = torch.cat([subject.target(part).answer for part in torch.split(x, 500)])
    return Batch.of_seeds(x, label)


def whole_loop(name: str, seconds: float) -> None:
    subject = opened(name)
    alone, best = bare(subject)
    prepared = hunting(subject, own_answers(subject, subject.images.x[:1000]))
    turn = executed(prepared)
    per_second(turn, seconds)  # the first turns hit everything for the first time
    loop, forward, ratio = compare(turn, alone, seconds)
    print(f"{name:<10} loop {loop:>8,.0f}/s  forward alone {forward:>8,.0f}/s (batches of {best})  ratio {ratio:.2f}")


def coverage_alone(name: str, seconds: float) -> None:
    subject = opened(name)
    prepared = hunting(subject, own_answers(subject, subject.images.x[:200]), 500)
    cover, target = prepared.covers[0], subject.target
    x = subject.images.x[: target.batch_size]
    seen = target(x)

    def count() -> int:
        cover(prepared.campaign.seeds, seen)
        return len(x)

    def forward() -> int:
        target(x)
        return len(x)

    count()
    covering, running, _ = compare(count, forward, seconds)
    megabytes = cover.state_dict()["hit"].numel() / 2**20
    print(f"{name:<10} KMNC of {target.neurons:,} neurons takes {running / covering:.1%} of the forward pass,"
          f" {megabytes:.0f} MiB")  # fmt: skip


def corpus_size(seconds: float, sizes: tuple[int, int] = (1_000, 200_000)) -> None:
    subject = opened("lenet5")
    train = data.load("mnist", "train").x
    turns = []
    for size in sizes:
        x = train[torch.arange(size) % len(train)]
        turns.append(executed(hunting(subject, own_answers(subject, x))))
        per_second(turns[-1], seconds)
    small, large, ratio = compare(turns[0], turns[1], seconds)
    slower = 1 - 1 / ratio
    print(f"lenet5     {sizes[0]:,} seeds {small:,.0f}/s  {sizes[1]:,} seeds {large:,.0f}/s  slower by {slower:.1%}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--models", default="lenet5,resnet20,vgg16")
    parser.add_argument("--no-corpus", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    print(header())
    for name in args.models.split(","):
        whole_loop(name, args.seconds)
    if "vgg16" in args.models:
        coverage_alone("vgg16", args.seconds / 2)
    if not args.no_corpus:
        corpus_size(args.seconds)


if __name__ == "__main__":
    main()
