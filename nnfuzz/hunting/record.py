"""What is written down of each step: counters, what the corpus took, and each new finding, confirmed and described."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from nnfuzz.errors import NnfuzzError
from nnfuzz.hunting.prepare import Prepared
from nnfuzz.lineage import lineage
from nnfuzz.opening import Subject
from nnfuzz.records import Batch, Finding, Kind, Step
from nnfuzz.roles import Oracle
from nnfuzz.store import RunFolder, ending
from nnfuzz.tally import Tally, fingerprints
from nnfuzz.target import Target

COMMIT, CHECKPOINT = 0.5, 1.0  # seconds of search between two, at least
SHARE = 25  # and at least so many times what one costs; what was found is on disk all the same
TOGETHER = 256  # findings that are confirmed, and then kept, at once: thousands would be seconds without one on disk


def confirm(target: Target, oracle: Oracle, found: Batch, verdict: Tensor) -> Tensor:
    """[B] how often the same verdict comes again: in another batch, in another order, and alone."""
    backwards = torch.arange(len(found)).flip(0)
    together = oracle(found[backwards], target(found.x[backwards]))[backwards]
    alone = oracle(found, target.alone(found.x))
    return (together == verdict).long() + (alone == verdict).long()


ASKED = 2  # by `confirm`


class Recorder:
    """Reads the steps of one campaign, in order."""

    def __init__(
        self, subject: Subject, prey: Prepared, folder: RunFolder | None, reach: Mapping[str, int] | None = None
    ) -> None:
        self.subject, self.prey, self.folder, self.reach = subject, prey, folder, dict(reach or {})
        self.tally = Tally()
        self.reached: dict[str, float] = {}  # seconds at which counts of `reach` were reached
        self.summary: Callable[[], Mapping[str, Any]] = dict  # what readers are told until the run has ended
        self._saved, self._written, self._pause = 0.0, 0.0, CHECKPOINT
        mutate = prey.campaign.mutate
        self._operators = tuple((o.name, o.width) for o in getattr(mutate, "operators", ()))

    def read(self, step: Step) -> list[Finding]:
        """The findings that are new."""
        tally, folder, corpus = self.tally, self.folder, self.prey.campaign.corpus
        first, seconds = tally.distinct, tally.seconds  # before they are confirmed: that is no search
        rows = tally.read(step)
        found: list[Finding] = []
        for some in torch.split(rows, TOGETHER) if len(rows) else ():
            new = self._describe(step, some, first + len(found), round(seconds, 3))
            self._store(step, some, new)
            found += new
        tally.flaky += sum(not finding.confirmed for finding in found)
        if self.prey.ledger:
            self.prey.ledger.read(step)
        self._look_for_reached()
        if folder:
            if len(step.kept):
                batch = corpus[step.kept]
                parent = corpus.note("parent", step.kept)
                folder.keep(tally.steps, Batch(batch.x, batch.label, batch.seed, parent, batch.notes))
            folder.step(tally.steps, {"seconds": tally.seconds, **self.prey.counts(tally)}, self.prey.coverage())
            if tally.seconds - self._saved >= self._pause:
                self.save()
            elif tally.seconds - self._written >= COMMIT:
                folder.commit()
                self._tell()
        return found

    @property
    def all_reached(self) -> bool:
        """Every count that was asked for is reached."""
        return bool(self.reach) and self.reached.keys() == self.reach.keys()

    def _look_for_reached(self) -> None:
        missing = self.reach.keys() - self.reached.keys()
        if missing and self.prey.ledger:
            counts = {**self.prey.counts(self.tally), **self.prey.ledger.counts()}
            now = round(self.tally.seconds, 3)
            self.reached |= {name: now for name in sorted(missing) if counts[name] >= self.reach[name]}

    def _describe(self, step: Step, rows: Tensor, first: int, seconds: float) -> list[Finding]:
        found, seen, verdict = step.children[rows], step.seen[rows], step.verdict[rows]
        runs = verdict != Kind.HUNG
        repeated = torch.zeros_like(verdict)
        repeated[runs] = confirm(self.subject.target, self.prey.campaign.oracle, found[runs], verdict[runs])
        sure, answer = seen.logits.softmax(2).max(2)  # [M,B]
        answer = torch.where(seen.raised != 0, -1, answer)
        seed_answer = found.notes.get("answer", torch.full_like(found.label, -1)).reshape(len(found), -1)
        if self.prey.ledger:  # seeds that both versions read are the only ones admitted
            seed_answer = seed_answer.expand(-1, 2)
        sure = sure.double().mul(1e6).round().div(1e6)
        columns = zip(
            [Kind(kind).label for kind in verdict.tolist()], found.seed.tolist(), found.label.tolist(),
            map(tuple, seed_answer.tolist()), map(tuple, answer.T.tolist()), map(tuple, sure.T.tolist()),
            lineage(self.prey.campaign.corpus, found, self._operators), repeated.tolist(),
            (ASKED * runs).tolist(), map(self._error, seen.raised.tolist()), strict=True,
        )  # fmt: skip
        end = ending(found.x[0])
        return [
            Finding(
                number, kind, f"findings/{number:06d}-{kind}.{end}", seed, label, seed_answers, answers, confidences,
                mutations, again, asked, seconds, error,
            )
            for number, (kind, seed, label, seed_answers, answers, confidences, mutations, again, asked, error)
            in enumerate(columns, first)
        ]  # fmt: skip

    def _error(self, raised: int) -> str:
        return self.subject.target.complaints[raised - 1] if raised > 0 else ""

    def _store(self, step: Step, rows: Tensor, found: list[Finding]) -> None:
        folder = self.folder
        if not folder:
            return
        children, neurons = step.children[rows], step.seen.neurons[rows.to(step.seen.neurons.device)].cpu()
        seen = neurons[:, self.subject.target.penultimate]
        for seed in sorted(set(children.seed.tolist())):
            folder.original(seed, self.subject.images.x[seed])
        folder.add(self.tally.steps, found, children.x, children.parent, fingerprints(children.x), seen)

    def save(self) -> None:
        """A checkpoint: from here a run goes on."""
        if self.folder:
            began = self.tally.seconds
            self.folder.checkpoint(self.tally.steps, self.state_dict())
            self._saved = self.tally.seconds
            self._pause = max(CHECKPOINT, SHARE * (self._saved - began))
            self._tell()

    def _tell(self) -> None:
        """Those who read while the run goes on, or was killed."""
        self._written = self.tally.seconds
        if self.folder and (summary := self.summary()):
            self.folder.summarise(summary)

    def state_dict(self) -> dict[str, Any]:
        campaign = self.prey.campaign
        return {
            "campaign": campaign.state_dict(corpus=False), "corpus": len(campaign.corpus),
            "tally": self.tally.state_dict(), "reached": self.reached,
            **({"ledger": self.prey.ledger.state_dict()} if self.prey.ledger else {}),
        }  # fmt: skip

    def restore(self, folder: RunFolder, state: Mapping[str, Any]) -> None:
        """Stand where the checkpoint stood; the seeds are admitted already."""
        try:
            self._restore(folder, state)
        except (AttributeError, IndexError, KeyError, OverflowError, RuntimeError, TypeError, ValueError) as error:
            raise NnfuzzError(f"expected a checkpoint in {folder.path} and came {error!r}; it is damaged") from error
        folder.take_back()  # only now, so that what is refused is left as it was

    def _restore(self, folder: RunFolder, state: Mapping[str, Any]) -> None:
        campaign = self.prey.campaign
        for batch in folder.kept():
            self._check(batch, folder)
            campaign.corpus.add(batch)
        if len(campaign.corpus) != state["corpus"]:
            raise NnfuzzError(
                f"expected a corpus of {state['corpus']:,} in {folder.path} and came {len(campaign.corpus):,}; the run"
                " is damaged, or its model or data have changed"
            )
        campaign.load_state_dict(state["campaign"])
        self.tally.load_state_dict(state["tally"], folder.fingerprints())
        self.reached = dict(state["reached"])
        if self.prey.ledger:
            self.prey.ledger.load_state_dict(state["ledger"])
        self._saved = self._written = self.tally.seconds

    def _check(self, batch: Batch, folder: RunFolder) -> None:
        """What a corpus relies on: a lineage that runs in a circle would never come to an end."""
        images, rows = self.subject.images, len(self.prey.campaign.corpus)
        bounds = {"parent": rows, "seed": len(images), "label": len(images.classes) or 1}
        for name, most in bounds.items():
            column = getattr(batch, name)
            if column.dtype != torch.int64 or column.dim() != 1 or ((column < -1) | (column >= most)).any():
                raise NnfuzzError(f"expected {name}s from -1 to {most - 1} in {folder.path}; the run is damaged")
        if batch.x.dtype != torch.uint8 or batch.x.shape[1:] != images.x.shape[1:]:
            raise NnfuzzError(f"expected images like the data's in {folder.path}; the run is damaged")
