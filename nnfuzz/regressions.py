"""Findings of a run that failed, kept to be tried first by the next one."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from nnfuzz.data.pictures import read
from nnfuzz.opening import Settings, open_subject
from nnfuzz.records import Finding, Kind, Mutation, Seen
from nnfuzz.target import Target

MOST = 64  # kept
PICTURE = re.compile(r"[0-9a-f]{16}\.png")


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
        return {**{name: float(count) for name, count in errors.items()},
                **{kind: float(kinds.count(kind)) for kind in kinds}}  # fmt: skip


def retry(folder: Path, model: str, data: str, settings: Settings) -> Retried:
    """Run what the folder holds on the model; what it now gets right is dropped from the folder."""
    stored = [one for one in _read(folder) if (folder / one.finding.image).is_file()]
    if not stored:
        return Retried()
    pictures = read(folder, [one.finding.image for one in stored], None)
    with open_subject(model, data, settings) as subject:
        fits = pictures.x.shape[1:] == subject.images.x.shape[1:]  # else they are of other data, and no finding here
        rows = pictures.rows if fits else ()
        seen = subject.target(pictures.x[: len(rows)])
        tried = [
            (stored[row].run, _now(subject.target, seen[i : i + 1], stored[row].finding)) for i, row in enumerate(rows)
        ]
    still = tuple(Stored(finding, run) for run, finding in tried if finding)
    _write(folder, still)
    return Retried(still, len(stored) - len(still))


def _now(target: Target, seen: Seen, finding: Finding) -> Finding | None:
    """The finding as it is now; None if it is none any more."""
    if raised := int(seen.raised):
        return replace(finding, kind=Kind.RAISED.label, error=target.complaints[raised - 1])
    if not seen.logits[0].isfinite().all():
        return replace(finding, kind=Kind.NOT_FINITE.label)
    confidence, answer = seen.logits[0].softmax(1).max(1)
    if int(answer) == finding.right:
        return None
    return replace(finding, answers=(int(answer),), confidences=(float(confidence),))


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
        name = f"{hashlib.sha256(content).hexdigest()[:16]}.png"
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
    for picture in set(folder.glob("*.png")) - {folder / row["finding"]["image"] for row in rows}:
        picture.unlink()
