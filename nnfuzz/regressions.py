"""Findings of a run that failed, kept to be tried first by the next one."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nnfuzz.errors import NnfuzzError
from nnfuzz.hunting import Hunt
from nnfuzz.hunting.replay import judge
from nnfuzz.opening import open_subject
from nnfuzz.records import Finding, Kind, Mutation
from nnfuzz.store import inputs
from nnfuzz.target import Target

MOST = 64  # kept
REGRESSED = ("regressions", "regression_inputs", "regression_inputs_distinct")
PICTURE = re.compile(r"[0-9a-f]{16}\.(png|npz)")


@dataclass(frozen=True)
class Stored:
    """A finding under the folder that it is stored in, and where it came from."""

    finding: Finding
    run: str


@dataclass(frozen=True)
class Retried:
    """What stored findings came to: those that are still wrong, with the answers of now."""

    still: tuple[Stored, ...] = ()
    fixed: int = 0  # or not to be tried any more: unreadable, or of another size than the data

    def counted(self) -> dict[str, float]:
        """The numbers of a gate that a search can only make larger."""
        kinds = [one.finding.kind for one in self.still]
        errors = {"errors": len(kinds), "findings": len(kinds), "seeds_hit": len({s.finding.seed for s in self.still})}
        regressed = kinds.count(Kind.REGRESSION.label)
        of_pairs = dict.fromkeys(REGRESSED, regressed) if regressed else {}
        return {**{name: float(count) for name, count in {**errors, **of_pairs}.items()},
                **{kind: float(kinds.count(kind)) for kind in kinds}}  # fmt: skip


def retry(folder: Path, ask: Hunt) -> Retried:
    """Run what the folder holds on the models that are to be hunted; what they get right is dropped from the folder."""
    stored = _read(folder)
    if not stored:
        return Retried()
    with open_subject(ask.model, ask.data, ask.settings, beside=ask.beside, pair=ask.pair) as subject:
        shape = subject.images.x.shape[1:]  # what has another is of other data, and no finding here
        held = [(one, x) for one in stored if (x := _pixels(folder / one.finding.image)) is not None]
        held = [(one, x) for one, x in held if x.shape == shape]
        still = _still([one for one, _ in held], [x for _, x in held], subject.target, ask.oracle_name)
    _write(folder, still)
    return Retried(still, len(stored) - len(still))


def _pixels(path: Path) -> Tensor | None:
    try:
        return inputs.read(path)
    except NnfuzzError:  # gone, or damaged
        return None


def _still(stored: Sequence[Stored], x: Sequence[Tensor], target: Target, oracle: str) -> tuple[Stored, ...]:
    """Those that are findings still, with the answers of now."""
    if not stored:
        return ()
    findings = [one.finding for one in stored]
    before = torch.tensor([finding.seed_answers[0] for finding in findings])
    verdict, seen = judge(findings, torch.stack(list(x)), before, target, oracle)
    sure, answer = seen.logits.softmax(2).max(2)
    answer = torch.where(seen.raised != 0, -1, answer)
    now = zip(stored, verdict.tolist(), answer.T.tolist(), sure.T.tolist(), seen.raised.tolist(), strict=True)
    return tuple(
        replace(one, finding=replace(
            one.finding, kind=Kind(kind).label, answers=tuple(answers), confidences=tuple(confidences),
            error=target.complaints[raised - 1] if raised > 0 else "",
        ))
        for one, kind, answers, confidences, raised in now
        if kind > Kind.NOTHING
    )  # fmt: skip


def remember(folder: Path, run: Path, found: Iterable[Finding], before: Sequence[Stored] = ()) -> None:
    """Copy a run's findings to the folder, beside those of before that are still wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    stored = {one.finding.image: one for one in before}
    for finding in found:
        if len(stored) >= MOST:
            break
        if finding.kind == Kind.HUNG.label:
            continue  # tried first, it would keep the next run from ever starting
        content = (run / finding.image).read_bytes()
        name = f"{hashlib.sha256(content).hexdigest()[:16]}{Path(finding.image).suffix}"
        (folder / name).write_bytes(content)
        stored.setdefault(name, Stored(replace(finding, image=name), str(run)))
    _write(folder, stored.values())


def one_a_seed(found: Iterable[Finding]) -> list[Finding]:
    """The first finding of each seed, then the others: the first few show different things."""
    found = list(found)
    first = {finding.seed: finding for finding in reversed(found)}
    return sorted(found, key=lambda finding: first[finding.seed] is not finding)


def _read(folder: Path) -> list[Stored]:
    """A cache may be damaged or of another version, and is then as good as empty."""
    try:
        rows = json.loads((folder / "stored.json").read_text(encoding="utf-8"))
        stored = [Stored(_from_json(row["finding"]), str(row["run"])) for row in rows]
        return [one for one in stored if PICTURE.fullmatch(one.finding.image)]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return []


def _from_json(values: dict[str, Any]) -> Finding:
    mutations = tuple(Mutation(m["operator"], tuple(m["param"])) for m in values["mutations"])
    tuples = {name: tuple(values[name]) for name in ("seed_answers", "answers", "confidences")}
    return Finding(**{**values, **tuples, "mutations": mutations})


def _write(folder: Path, stored: Iterable[Stored]) -> None:
    """These and no others: the pictures of what is fixed go."""
    rows = [asdict(one) for one in stored]
    (folder / "stored.json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    for picture in {*folder.glob("*.png"), *folder.glob("*.npz")} - {folder / row["finding"]["image"] for row in rows}:
        picture.unlink()
