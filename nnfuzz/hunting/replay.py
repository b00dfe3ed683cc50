"""Stored findings, executed again: by the same model, or by the one that is to replace it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from math import nan
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nnfuzz import data
from nnfuzz.errors import NnfuzzError
from nnfuzz.hunting.ask import ORACLES, Hunt
from nnfuzz.hunting.reopen import asked, where
from nnfuzz.opening import Settings, Subject, open_subject
from nnfuzz.records import Batch, Finding, Kind, Seen
from nnfuzz.store import Run
from nnfuzz.target import Target
from nnfuzz.watchdog import Watchdog, python

REPRODUCED, FIXED, CHANGED = "REPRODUCED", "FIXED", "CHANGED"
ROWS, BYTES = 1000, 1 << 28  # loaded at once
USUAL = Settings()


@dataclass(frozen=True)
class Replayed:
    """What became of a finding: the same wrong answer again, a right one, or another wrong one."""

    finding: Finding
    status: str
    kind: str
    answers: tuple[int, ...]
    confidences: tuple[float, ...]


def replay(
    path: Path, ids: Sequence[int] = (), model: str | None = None, settings: Settings | None = None,
    trust: bool = False, patient: bool = True,
) -> Iterator[Replayed]:  # fmt: skip
    """Execute findings from their files; no ids: all of them. `settings` hold where they differ from the usual ones,
    and those of the run elsewhere. What once hung is executed last, in processes of its own unless not `patient`."""
    run = Run(path.absolute())
    findings = run.chosen(tuple(dict.fromkeys(ids)))
    apart = Kind.HUNG.label if patient else None
    others = [finding for finding in findings if finding.kind != apart]
    if others:
        rows = max(1, min(ROWS, BYTES // run.pixels(others[0]).nbytes))
        with opened(run, others, model, settings, trust) as (ask, subject):
            for i in range(0, len(others), rows):
                yield from _judged(run, others[i : i + rows], subject.target, ask.oracle_name)
    for finding in findings:
        if finding.kind == apart:
            yield again(run.path, finding, model, settings, trust)


@contextmanager
def opened(
    run: Run, findings: Sequence[Finding], model: str | None = None, settings: Settings | None = None,
    trust: bool = False,
) -> Iterator[tuple[Hunt, Subject]]:  # fmt: skip
    """What was asked, and the run's model, or another one, watched over; the images are the seeds of these findings."""
    ask = asked(run, str(Path(model).absolute()) if model and Path(model).exists() else model, trust)
    settings = replace(_fed(ask.settings, settings), trust_model=ask.settings.trust_model)
    images = _originals(run, findings)
    with (
        where(run, trust) if model is None else nullcontext(),
        Watchdog(ask.hang_seconds or 60.0) as guard,
        open_subject(ask.model, images, settings, (), guard, beside=ask.beside) as subject,
    ):
        yield ask, subject


def _fed(before: Settings, now: Settings | None) -> Settings:
    """As the run fed its model, unless something else is said; which layers were probed does not matter any more."""
    said = {} if now is None else {name: value for name, value in asdict(now).items() if value != getattr(USUAL, name)}
    where = {} if now is None else {"device": now.device, "batch_size": now.batch_size}
    return replace(before, layers=(), exclude=(), resize=None, **{**said, **where})


def _originals(run: Run, findings: Sequence[Finding]) -> data.Images:
    """The seeds' images, for a look at the model, and for its own answers on them."""
    label = {finding.seed: finding.label for finding in findings}
    x = torch.stack([run.original(seed) for seed in label])
    return data.Images(x, torch.tensor(list(label.values())), tuple(run.configuration.get("classes", ())), "replay")


def _judged(run: Run, findings: Sequence[Finding], target: Target, oracle: str) -> list[Replayed]:
    x = torch.stack([run.pixels(finding) for finding in findings])
    seeds = torch.tensor([finding.seed for finding in findings])
    verdict, seen = judge(findings, x, _answers_on_seeds(run, seeds, target), target, oracle)
    return [_compared(finding, seen[row : row + 1], int(verdict[row])) for row, finding in enumerate(findings)]


def judge(
    findings: Sequence[Finding], x: Tensor, answer: Tensor, target: Target, oracle: str = "auto"
) -> tuple[Tensor, Seen]:
    """Each input by the oracle that complained of its finding, `oracle` of the run where the model only broke; `answer`
    [B] is what is said of the seeds."""
    label = torch.tensor([finding.label for finding in findings])
    none = torch.full_like(label, -1)
    batch, seen = Batch(x, label, none, none, {"answer": answer}), target(x)
    verdict, names = torch.zeros_like(label), [_oracle(finding, oracle) for finding in findings]
    for name in set(names):
        asked = torch.tensor([one == name for one in names])
        verdict = torch.where(asked, ORACLES[name](batch, seen), verdict)
    return verdict, seen


def _oracle(finding: Finding, usual: str) -> str:
    """The name of the one that complained; which kinds are no one's own, `usual` would have asked about next."""
    if usual == "auto":
        usual = "changed" if finding.label < 0 else "misclassified"
    return finding.kind if finding.kind in ORACLES else usual


def _answers_on_seeds(run: Run, seeds: Tensor, target: Target) -> Tensor:
    """What this model, which may be another one, says of the originals."""
    rows = {seed: row for row, seed in enumerate(dict.fromkeys(seeds.tolist()))}
    answer = target(torch.stack([run.original(seed) for seed in rows])).answer
    return answer[torch.tensor([rows[seed] for seed in seeds.tolist()])]


def _compared(finding: Finding, seen: Seen, verdict: int) -> Replayed:
    sure, answer = seen.logits[:, 0].softmax(1).max(1)
    answers = tuple(torch.where(seen.raised != 0, -1, answer).tolist())
    kind = Kind(verdict).label
    same = kind == finding.kind and (answers == finding.answers or kind == Kind.NOT_FINITE.label)
    status = FIXED if verdict <= Kind.NOTHING else REPRODUCED if same else CHANGED
    return Replayed(finding, status, kind, answers, tuple(sure.tolist()))


def again(path: Path, finding: Finding, model: str | None, settings: Settings | None, trust: bool) -> Replayed:
    """One that hung, in a process that is ended if it hangs again."""
    said = json.dumps([str(path), finding.id, model, None if settings is None else asdict(settings), trust])
    done = subprocess.run(python(__name__, said), capture_output=True, text=True)
    if done.returncode == -signal.SIGKILL:
        nothing = len(finding.answers)
        return Replayed(finding, REPRODUCED, Kind.HUNG.label, (-1,) * nothing, (nan,) * nothing)
    if done.returncode:
        raise NnfuzzError((done.stderr.strip().splitlines() or ["the replay ended without a word"])[-1])
    status, kind, answers, confidences = json.loads(done.stdout.splitlines()[-1])
    return Replayed(finding, status, kind, tuple(answers), tuple(confidences))


def _main(said: str) -> None:
    path, number, model, settings, trust = json.loads(said)
    given = None if settings is None else Settings(**{name: _tupled(value) for name, value in settings.items()})
    try:
        (one,) = replay(Path(path), (number,), model, given, trust, patient=False)
    except NnfuzzError as error:
        sys.exit(str(error))
    print(json.dumps([one.status, one.kind, one.answers, one.confidences]))


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


if __name__ == "__main__":
    _main(sys.argv[1])
