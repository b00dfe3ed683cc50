"""nnfuzz replay: execute stored findings again."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nnfuzz.cli import options as o
from nnfuzz.cli.display import Display

if TYPE_CHECKING:
    from nnfuzz.hunting.replay import Replayed

Ids = Annotated[list[int] | None, typer.Argument(metavar="[ID]...", help="Findings [default: all]", show_default=False)]


def replay(
    run: o.Run, ids: Ids = None, model: o.OtherModel = None, mean: o.Mean = None, std: o.Std = None,
    output: o.Output = "auto", batch_size: o.BatchSize = None, threads: o.Threads = None, device: o.Device = "cpu",
    trust_model: o.TrustModel = False, as_json: o.Json = False,
) -> None:  # fmt: skip
    """Execute findings again, from their pictures: REPRODUCED, FIXED or CHANGED; exit code 1 if any still fails."""
    from nnfuzz.hunting.replay import FIXED
    from nnfuzz.hunting.replay import replay as go
    from nnfuzz.records import Kind

    o.use_threads(threads)
    settings = o.settings(device, batch_size, mean, std, output, None, None, None, False, 0.0)
    with Display(as_json) as display:
        display.title(f"replaying {run}")
        done = []
        for one in go(Path(run), ids or (), model, settings, trust_model):
            f = one.finding
            says = f"seed {f.seed}, rightly {f.right}, was answered {f.answer}, now {one.answers[f.accused]}"
            kinds = f.kind if one.kind in (f.kind, Kind.NOTHING.label) else f"{f.kind}, now {one.kind}"
            display.say(f"{f.id:06d}", f"{one.status:<10} {kinds}: {says}, {f.image}")
            done.append(one)
        counts = Counter(one.status for one in done)
        display.say("all", ", ".join(f"{n:,} {status}" for status, n in counts.items()) or "nothing to replay")
        display.finish({
            "run": run, "replayed": len(done), **{s.lower(): counts[s] for s in ("REPRODUCED", "FIXED", "CHANGED")},
            "findings": [_plain(one) for one in done],
        })  # fmt: skip
    if counts[FIXED] < len(done):
        raise typer.Exit(1)


def _plain(one: Replayed) -> dict[str, Any]:
    """For `--json`, which knows no NaN."""
    from nnfuzz.concluding import plain

    now = plain(replace(one.finding, answers=one.answers, confidences=one.confidences))
    names = ("id", "image", "answers", "confidences")
    return {
        **{name: now[name] for name in names}, "status": one.status, "kind": one.kind, "was": plain(one.finding),
    }  # fmt: skip
