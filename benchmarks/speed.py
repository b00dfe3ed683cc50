"""How much of the bare forward pass a whole fuzzing loop keeps. All ratios are taken within one run.

    python benchmarks/speed.py [--threads 2] [--seconds 4] [--models lenet5,resnet20,vgg16] [--no-corpus] [--no-folder]

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
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import Tensor

from nnfuzz import budget, data, models
from nnfuzz.coverage import KMNC, Cover
from nnfuzz.coverage.ranges import profile
from nnfuzz.errors import NnfuzzError
from nnfuzz.hunting import Prepared, prepare
from nnfuzz.hunting.record import Recorder
from nnfuzz.opening import Settings, Subject, open_subject
from nnfuzz.records import Batch
from nnfuzz.store import RunFolder
from nnfuzz.watchdog import Watchdog

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


def recorded(subject: Subject, out: pathlib.Path | None, watchdog: Watchdog) -> tuple[Callable[[], int], Recorder]:
    """Tries of a hunt whose steps are read as in every run, with or without a folder to keep them in."""
    prepared = hunting(subject, own_answers(subject, subject.images.x[:1000]))
    folder = RunFolder.create(out) if out else None
    recorder, steps = Recorder(subject, prepared, folder), prepared.campaign.steps()
    recorder.save()

    def turn() -> int:
        subject.target.guard = watchdog if folder else nullcontext
        step = next(steps)
        recorder.read(step)
        return len(step.tried)

    return turn, recorder


def storing(seconds: float) -> None:
    """What a run folder costs, and what a finding does."""
    subject = opened("lenet5")
    with tempfile.TemporaryDirectory() as place, Watchdog(60) as watchdog:
        kept, recorder = recorded(subject, pathlib.Path(place) / "run", watchdog)
        bare, _ = recorded(subject, None, watchdog)
        for turn in (kept, bare):
            per_second(turn, seconds)
        stored, fuzzed, ratio = compare(kept, bare, seconds)
        print(f"lenet5     stored {stored:,.0f} tries/s  not stored {fuzzed:,.0f}/s  costs {1 - ratio:.1%}"
              f" ({recorder.tally.distinct:,} findings, {recorder.tally.tries:,} tries)")  # fmt: skip
        recorder.folder.close()


def finding(tries: int = 40_000) -> None:
    """The processor's time that a finding costs: confirmed in a batch and alone, described, a PNG, a row."""
    subject = opened("lenet5")
    cover = Cover(KMNC(profile([subject.target(subject.images.x[:1000]).neurons])))
    prepared = prepare(subject, [cover], own_answers(subject, subject.images.x), "random")
    with tempfile.TemporaryDirectory() as place:
        recorder = Recorder(subject, prepared, RunFolder.create(pathlib.Path(place) / "run"))
        spent = 0.0
        for step in budget.tries(prepared.campaign.steps(), tries):
            start = time.process_time()
            recorder.read(step)
            spent += time.process_time() - start
        recorder.folder.close()
    found = recorder.tally.distinct
    print(f"lenet5     a finding takes {spent / found * 1e3:.2f} ms of processor time to confirm and keep"
          f" ({found:,} findings)")  # fmt: skip


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
    parser.add_argument("--no-folder", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    print(header())
    for name in args.models.split(","):
        whole_loop(name, args.seconds)
    if "vgg16" in args.models:
        coverage_alone("vgg16", args.seconds / 2)
    if not args.no_folder:
        storing(args.seconds)
        finding()
    if not args.no_corpus:
        corpus_size(args.seconds)


if __name__ == "__main__":
    main()
