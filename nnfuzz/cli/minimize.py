"""nnfuzz minimize: the same mistake with a smaller change."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nnfuzz.cli import options as o
from nnfuzz.cli.display import Display

if TYPE_CHECKING:
    from nnfuzz.hunting.smaller import Smaller

Ids = Annotated[
    list[int] | None,
    typer.Argument(metavar="[ID]...", help="Findings [default: one of each group]", show_default=False),
]
Asks = Annotated[int, typer.Option(min=1, help="Most candidates that the model is asked about, for each finding")]


def minimize(
    run: o.Run, ids: Ids = None, asks: Asks = 5000, threads: o.Threads = None, trust_model: o.TrustModel = False,
    as_json: o.Json = False,
) -> None:  # fmt: skip
    """Make the changes of findings smaller while the model gives the same wrong answer."""
    from nnfuzz.concluding import triaged
    from nnfuzz.hunting.smaller import smaller
    from nnfuzz.records import Kind
    from nnfuzz.store import Run

    o.use_threads(threads)
    with Display(as_json) as display:
        display.title(f"minimising findings of {run}")
        if not ids:
            groups = triaged(Run(Path(run))).groups
            ids = [group.representative for group in groups if group.kind != Kind.HUNG.label]
        done = smaller(Path(run), ids, asks, trust_model) if ids else []
        for one in done:
            display.say(f"{one.finding.id:06d}", _said(one))
        display.say("all", f"{len(done):,} minimised" if done else "nothing to minimise")
        display.finish({
            "run": run,
            "findings": [
                {"id": one.finding.id, "image": one.image, "reproduced": one.made.reproduced,
                 "before": asdict(one.made.before), "after": asdict(one.made.after)} for one in done
            ],
        })  # fmt: skip


def _said(one: Smaller) -> str:
    if not one.made.reproduced:
        return "does not fail any more; it is left as it is"
    before, after = one.made.before, one.made.after
    return (
        f"L2 {before.l2:.0f} → {after.l2:.0f}, L∞ {before.linf} → {after.linf}, L0 {before.l0:,} → {after.l0:,}, "
        f"SSIM {before.ssim:.3f} → {after.ssim:.3f}, {one.image}"
    )
