"""nnfuzz findings: what a run found, in groups."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nnfuzz.cli import options as o
from nnfuzz.cli.display import Display

if TYPE_CHECKING:
    from nnfuzz.triage import Group

All = Annotated[bool, typer.Option("--all", help="Every finding, not every group")]
Csv = Annotated[bool, typer.Option("--csv", help="Every finding as CSV on standard output, nothing else there")]
COLUMNS = ("id", "kind", "image", "seed", "label", "answers", "confidences", "mutations", "confirmed", "group")


def findings(run: o.Run, everything: All = False, as_csv: Csv = False, as_json: o.Json = False) -> None:
    """List what a run found: groups of findings alike, the most plausible and surest first."""
    from nnfuzz.ci.report import said
    from nnfuzz.cli.ending import groups
    from nnfuzz.concluding import numbered, plain, triaged
    from nnfuzz.store import Run

    with Display(as_json or as_csv) as display:
        found = triaged(Run(Path(run)))
        classes = tuple(found.run.configuration.get("classes", ()))
        count, sets = len(found.findings), len(found.groups)
        display.title(f"{count:,} finding{'s'[: count != 1]} in {sets:,} group{'s'[: sets != 1]}")
        if everything:
            for one in found.findings:
                sure = "" if one.confirmed else f", repeated {one.repeated} of {one.asked} times"
                display.say(f"{one.id:06d}", f"group {one.group}: {said(one, classes)}{sure}, {one.image}")
        else:
            groups(display, found, sets)
        rows = [{name: plain(one)[name] for name in COLUMNS} for one in found.findings] if as_csv or as_json else []
        if as_csv:
            table = csv.DictWriter(sys.stdout, COLUMNS)
            table.writeheader()
            table.writerows(
                {n: json.dumps(v) if isinstance(v, list | tuple | bool) else v for n, v in r.items()} for r in rows
            )
        if as_json:
            listed = [_plain(group) for group in found.groups]
            display.finish({"run": run, **numbered(found), "findings": rows, "groups_found": listed})


def _plain(group: Group) -> dict[str, Any]:
    names = ("id", "kind", "right", "answer", "representative", "size", "seeds", "doubtful")
    return {**{name: getattr(group, name) for name in names}, "plausibility": round(group.plausibility, 4)}
