"""What is made of a run when it has ended: groups of its findings, and the page that shows them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from math import isnan
from pathlib import Path
from typing import Any

import torch

from nnfuzz.errors import NnfuzzError
from nnfuzz.records import Finding
from nnfuzz.report import Page, Shown, render
from nnfuzz.report.words import called
from nnfuzz.store import NOT_YET, Run
from nnfuzz.store.writing import RESULT, write
from nnfuzz.triage import Group, triage

CLEAN = 256  # images that findings are compared with
LARGEST = 1 << 30  # bytes of findings' pixels that triage looks at
PAGE = "report.html"


@dataclass(frozen=True, eq=False)
class Triaged:
    """The findings of a run, each with its group."""

    run: Run
    findings: tuple[Finding, ...]
    groups: tuple[Group, ...]
    left_out: int  # findings too many to be compared

    @cached_property
    def by_id(self) -> Mapping[int, Finding]:
        return {finding.id: finding for finding in self.findings}


def triaged(run: Run) -> Triaged:
    """Read the findings again, and group them."""
    run.verify()
    found = run.findings
    if not found:
        return Triaged(run, (), (), 0)
    first = run.pixels(found[0])
    compared = found[: max(1, LARGEST // max(1, first.nbytes))]
    x = torch.stack([run.pixels(finding) for finding in compared])
    groups = triage(compared, x, run.features()[: len(compared)], run.originals(CLEAN))
    place = {number: group.id for group in groups for number in group.members}
    grouped = tuple(replace(finding, group=place.get(finding.id, -1)) for finding in found)
    return Triaged(run, grouped, tuple(groups), len(found) - len(compared))


def page(triaged: Triaged) -> str:
    """The run as one HTML page."""
    run, said = triaged.run, triaged.run.configuration
    asked = said["asked"]
    names = tuple(map(called, models(asked)))
    shown = [_shown(triaged, group) for group in triaged.groups]
    return render(Page(
        title=f"{asked['recipe']} on {' → '.join(names)} with {asked['data']}",
        ended=run.result["ended"], configuration=_configuration(said, run.result),
        result=run.result, history=run.history(), findings=triaged.findings, groups=shown,
        classes=tuple(map(str, said.get("classes", ()))), models=names, run=str(run.path),
    ))  # fmt: skip


def models(asked: Mapping[str, Any]) -> tuple[str, ...]:
    """The model and those beside it: of a pair the old version and the new one."""
    return tuple(map(str, (asked["model"], *asked.get("beside", ()))))


def _shown(triaged: Triaged, group: Group) -> Shown:
    finding = triaged.by_id[group.representative]
    x, seed = triaged.run.pixels(finding), triaged.run.original(finding.seed)
    return Shown(finding, x, seed, group.size, group.seeds, group.plausibility)


def _configuration(said: Mapping[str, Any], result: Mapping[str, Any]) -> list[tuple[str, str]]:
    asked, looked = said["asked"], said.get("preflight", {})
    accuracy, versions = looked.get("accuracy"), said.get("versions", {})
    shares = [] if accuracy is None else [accuracy, *looked.get("beside", ())]
    rows = [
        *((f"Model {i + 1}" if asked.get("beside") else "Model", name) for i, name in enumerate(models(asked))),
        ("Model's digest", said.get("model_digest", "")),
        ("Data", asked["data"]), ("Data's digest", said.get("data_digest", "")),
        ("Clean accuracy", ", ".join(f"{share:.2%}" for share in shares)),
        ("Recipe", asked["recipe"]), ("Criteria", ", ".join(asked["criteria"])), ("Random seed", asked["seed"]),
        ("Seeds", f"{result.get('seeds', asked['seeds']):,}"), ("Begun", said.get("begun", "")),
        ("Versions", ", ".join(f"{name} {version}" for name, version in versions.items())),
    ]  # fmt: skip
    return [(name, str(value)) for name, value in rows if value not in ("", None)]


def conclude(path: Path) -> tuple[Triaged, dict[str, Any]]:
    """Group what a run found, write its page, and count the groups in its result."""
    run = Run(path)
    if not run.result:
        raise NnfuzzError(f"expected a run that has begun to search in {path} and came none; nnfuzz resume {path} does")
    found = triaged(run)
    content = page(found)
    result = {**run.result, **numbered(found)}
    if run.result["ended"] != NOT_YET:  # else whoever goes on with it writes its summary
        write(path, RESULT, json.dumps(result, indent=2, default=str) + "\n")
    write(path, PAGE, content)
    return found, result


def numbered(found: Triaged) -> dict[str, int]:
    """What the gate and `--json` count of it."""
    counts = {"groups": len(found.groups), "flaky": sum(not finding.confirmed for finding in found.findings)}
    asked = [finding.doubtful for finding in found.findings if finding.doubtful is not None]
    return {**counts, "doubtful": sum(asked)} if asked else counts


def plain(finding: Finding) -> dict[str, Any]:
    """A finding for `--json` and `--csv`."""
    content = asdict(finding)
    content["mutations"] = [str(mutation) for mutation in finding.mutations]
    content["confidences"] = [None if isnan(sure) else sure for sure in finding.confidences]
    content["confirmed"] = f"{finding.repeated} of {finding.asked}"
    return content


def representatives(found: Triaged) -> Sequence[tuple[Finding, int]]:
    """One finding of each group, and how many are like it."""
    return [(found.by_id[group.representative], group.size) for group in found.groups]
