"""What a guard is worth: how fast it judges, what it reads, and how often referees agree with what it lets pass.

    python benchmarks/guard.py [--data mnist] [--referee mnist-referee0,…] [--pair OLD,NEW] [--threads 1] [--rows 10000]

Mutants are DRFuzz's, one to eight of its mutations on each other. Referees come from `nnfuzz train --referee --seed N`;
of a pair, the mutants that the old version reads and the new one does not are looked at apart.
"""

from __future__ import annotations

import argparse
import datetime
import time

import torch
from torch import Tensor

from nnfuzz import data, generative, models
from nnfuzz.fidelity import trained_guard
from nnfuzz.mutators import DRFUZZ, OneOf
from nnfuzz.reader import Reader
from nnfuzz.records import Batch
from nnfuzz.referees import doubtful, referees

DEPTHS = (1, 2, 3, 4, 6, 8)
THRESHOLDS = (0.0, 0.5, 0.8)


def speed(name: str, read: Reader, x: Tensor) -> None:
    read(x[:200])
    began = time.process_time()
    read(x)
    rate = len(x) / (time.process_time() - began)
    print(f"  {name:<24} {str(read.dtype).removeprefix('torch.'):<9} {rate:9,.0f} images a second of processor time")


def mutants(x: Tensor, depth: int, rng: torch.Generator) -> Tensor:
    batch = Batch.of_seeds(x)
    for _ in range(depth):
        batch = OneOf(DRFUZZ)(batch, rng)
    return batch.x


def show(name: str, sure: Tensor, fine: Tensor, among: Tensor) -> None:
    """Of the mutants `among`: how many pass at each threshold, how many of those are undoubted, how many are lost."""
    for threshold in THRESHOLDS:
        passed = among & (sure >= threshold)
        count, good = int(passed.sum()), int((passed & fine).sum())
        undoubted, kept = good / max(1, count), good / max(1, int((among & fine).sum()))
        print(f"  {name:<24} guard >= {threshold:<4} {count:7,} pass, {undoubted:.2%} of them undoubted; kept of all"
              f" undoubted: {kept:.1%}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="mnist")
    parser.add_argument("--referee", default="mnist-referee0,mnist-referee1,mnist-referee2")
    parser.add_argument("--pair", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rows", type=int, default=10_000)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print(f"{datetime.date.today()}  torch {torch.__version__}, {options.threads} threads")
    train, test = data.load(options.data, "train"), data.load(options.data, "test")
    x, label = test.x[: options.rows], test.label[: options.rows]
    guard = trained_guard(train, say=lambda name, text: print(f"  {name:<24} {text}"))
    critic = generative.critic(generative.build(tuple(x.shape[1:])), tuple(x.shape[1:]))
    for dtype in (torch.float32, None):
        speed("guard", Reader(guard, x, dtype=dtype), x[:4096])
        speed("discriminator", Reader(critic, x, dtype=dtype), x[:1024])
    read = Reader(guard, x, dtype=None)
    judges = referees(options.referee.split(","), x, len(test.classes))
    distorted = models.distort(x, torch.Generator().manual_seed(0)).to(torch.uint8)
    for judge in (read, *judges):
        clean, hard = (float((judge(y).argmax(1) == label).double().mean()) for y in (x, distorted))
        print(f"  {judge.name:<24} reads {clean:.2%} of clean and {hard:.2%} of strongly distorted test images")
    rng = torch.Generator().manual_seed(0)
    tried = [mutants(x, depth, rng) for depth in DEPTHS]
    sure = torch.cat([read(y).softmax(1).gather(1, label[:, None])[:, 0] for y in tried])
    fine = torch.cat([~doubtful(judges, y, label) for y in tried])
    show("all mutants", sure, fine, torch.ones_like(fine))
    if options.pair:
        old, new = (Reader(models.load(spec), x) for spec in options.pair.split(","))
        broken = [(old(y).argmax(1) == label) & (new(y).argmax(1) != label) for y in tried]
        show("regressions", sure, fine, torch.cat(broken))


if __name__ == "__main__":
    main()
