"""One hunt from start to end: open, look, profile, admit, fuzz, and the numbers that come out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from nnfuzz import budget
from nnfuzz.ci.report import said
from nnfuzz.errors import NnfuzzError
from nnfuzz.fidelity import fidelity
from nnfuzz.hunting.ask import Hunt, check
from nnfuzz.hunting.doubt import judged
from nnfuzz.hunting.pair import read_by_the_old
from nnfuzz.hunting.prepare import Prepared, choose, prepare
from nnfuzz.hunting.record import Recorder
from nnfuzz.hunting.reopen import described, hung_inputs, same_again
from nnfuzz.hunting.result import origin, result_of
from nnfuzz.opening import Subject, covers, open_subject, profiled_set
from nnfuzz.reader import Reader
from nnfuzz.recipes import SCALED
from nnfuzz.records import Step
from nnfuzz.referees import referees
from nnfuzz.store import NOT_YET, RunFolder
from nnfuzz.tally import Tally
from nnfuzz.target import Guard
from nnfuzz.watchdog import Watchdog

CLEAN, CLEAN_BYTES = 256, 1 << 25  # images kept with a run, and what they may take


class Watch(Protocol):
    """Who looks on while a hunt runs."""

    def say(self, name: str, text: str) -> None: ...
    def tick(self, snapshot: dict[str, Any]) -> None: ...


def hunt(ask: Hunt, watch: Watch) -> dict[str, Any]:
    """Do it, tell `watch` how it goes, leave a run folder if one was asked for, and return the result."""
    check(ask)
    folder = RunFolder.create(Path(ask.out), described(ask)) if ask.out else None
    return go(ask, folder, watch)


def go(ask: Hunt, folder: RunFolder | None, watch: Watch) -> dict[str, Any]:
    """Start a run, or go on with the one that the folder holds."""
    started = time.monotonic()
    with ExitStack() as stack:
        if folder:
            stack.callback(folder.close)
        guard = stack.enter_context(Watchdog(ask.hang_seconds, folder.path)) if folder and ask.hang_seconds else None
        try:
            subject = stack.enter_context(_opened(ask, guard or nullcontext, folder, watch))
            jury = referees(ask.referees, subject.images.x, subject.target.classes, ask.settings.device)
            recorder = Recorder(subject, _prepared(ask, subject, watch), folder, ask.reach)
            recorder.summary = partial(result_of, ask, recorder, time.monotonic() - started, NOT_YET)
            if folder:
                _stand(ask, folder, recorder, watch)
                folder.fresh = False
        except NnfuzzError:
            if folder and folder.fresh:
                stack.close()
                folder.discard()
            raise
        return _search(ask, recorder, jury, time.monotonic() - started, watch)


def _opened(ask: Hunt, guard: Guard, folder: RunFolder | None, watch: Watch) -> Subject:
    refused = hung_inputs(folder.path) if folder else None
    looked_at = (*ask.criteria, *("nc",) * (ask.recipe in SCALED))
    subject = open_subject(ask.model, ask.data, ask.settings, looked_at, guard, refused, ask.beside, ask.pair)
    for line in subject.lines():
        watch.say(*line)
    return subject


def _prepared(ask: Hunt, subject: Subject, watch: Watch) -> Prepared:
    train = profiled_set(ask.profile, ask.data, ask.settings)
    held = covers(subject, ask.criteria, train, ask.settings.sigma, watch.say)
    seeds = choose(subject.images.x, subject.images.label, ask.seeds, ask.seed)
    if ask.pair:
        seeds = read_by_the_old(seeds, subject, watch.say)
    rule = fidelity(
        ask.fidelity, subject.target.models[0], seeds, train or subject.images, threshold=ask.threshold,
        guard=ask.guard, device=ask.settings.device, say=watch.say,
    )  # fmt: skip
    prey = prepare(
        subject, held, seeds, ask.recipe, ask.oracle, ask.seed, ask.parameters, ask.turn or ask.tries,
        ask.corpus_ram, rule,
    )  # fmt: skip
    watch.say("seeds", f"{len(prey.campaign.corpus):,}, and {len(prey.aside):,} already wrong, set aside")
    return prey


def _stand(ask: Hunt, folder: RunFolder, recorder: Recorder, watch: Watch) -> None:
    """At the folder's last checkpoint, or at its first."""
    found = folder.state()
    made_of = origin(recorder.subject, recorder.prey)
    if found is None:
        folder.describe({**described(ask), **made_of})
        _sample(recorder, folder)
        recorder.save()
        return
    same_again(folder.path, made_of)
    recorder.restore(folder, found[1])
    tally = recorder.tally
    watch.say("goes on", f"after {tally.seconds:.1f} s and {tally.tries:,} mutants, {tally.distinct:,} findings")


def _sample(recorder: Recorder, folder: RunFolder) -> None:
    """Some clean images, for a later reader to compare findings with."""
    seeds = recorder.prey.campaign.seeds
    most = min(len(seeds), CLEAN, CLEAN_BYTES // max(1, seeds.x[0].nbytes))
    for row in range(most):
        at = row * len(seeds) // most
        folder.original(int(seeds.seed[at]), seeds.x[at])


def limited(steps: Iterator[Step], seconds: float | None, tries: int | None) -> Iterator[Step]:
    """The steps until a limit is reached."""
    if seconds is not None:
        steps = budget.seconds(steps, seconds)
    return steps if tries is None else budget.tries(steps, tries)


def _until_its_end(ask: Hunt, recorder: Recorder) -> Iterator[Step]:
    """The campaign's steps, as long as nothing that was asked for ends them; limits count from the run's beginning."""
    tally = recorder.tally
    if _reached(ask, tally):
        return
    seconds = None if ask.seconds is None else ask.seconds - tally.seconds
    tries = None if ask.tries is None else ask.tries - tally.tries
    steps = limited(recorder.prey.campaign.steps(), seconds, tries)
    if ask.plateau is not None:
        steps = budget.plateau(steps, ask.plateau)
    yield from budget.until_first(steps) if ask.until_first else steps


def _reached(ask: Hunt, tally: Tally) -> str | None:
    """The limit that ended it, if one did."""
    if ask.until_first and tally.findings:
        return "first finding"
    if ask.tries is not None and tally.tries >= ask.tries:
        return "tries"
    return "time" if ask.seconds is not None and tally.seconds >= ask.seconds else None


def _search(ask: Hunt, recorder: Recorder, jury: Sequence[Reader], setup: float, watch: Watch) -> dict[str, Any]:
    """Fuzz; whatever ends it, what was found until then is in the run folder."""
    ended, folder, doubts = "interrupted", recorder.folder, dict[str, Any]()
    with budget.interruptible() as stopped:
        recorder.tally.resume()
        try:
            ended = _turns(ask, recorder, watch, stopped)
            recorder.tally.rest()
            recorder.save()  # not where a step broke off: the last checkpoint stands between two whole ones
            doubts = judged(jury, recorder, watch.say)
        except Exception as error:
            ended = f"error: {error}"
            if folder and isinstance(error, NnfuzzError):
                raise NnfuzzError(f"{error}; what was found until then is in {folder.path}") from error
            raise
        finally:
            result = {**result_of(ask, recorder, setup, ended), **doubts}
            if folder:
                folder.tick(recorder.prey.snapshot(recorder.tally))
                folder.summarise(result)
    return result


def by_the_second(before: dict[str, Any], now: dict[str, Any]) -> list[dict[str, Any]]:
    """A line for each second that has begun since: during a long turn everything stood as before it."""
    first, last = int(before["seconds"]) + 1, int(now["seconds"])
    stood = [{**before, "seconds": s, "tries_per_second": round(before["tries"] / s, 1)} for s in range(first, last)]
    return [*stood, now] if last >= first else []


def _turns(ask: Hunt, recorder: Recorder, watch: Watch, stopped: Callable[[], bool]) -> str:
    """Read the steps until they end; say why they did."""
    tally, folder = recorder.tally, recorder.folder
    now = recorder.prey.snapshot(tally)
    for step in budget.until(_until_its_end(ask, recorder), lambda: stopped() or recorder.all_reached):
        first = not tally.distinct
        found = recorder.read(step)
        if found and first:
            what = said(found[0], recorder.subject.images.classes)
            watch.say("first finding", f"after {tally.first_finding_seconds:.1f} s: {what}, {found[0].image}")
        before, now = now, recorder.prey.snapshot(tally)
        if lines := by_the_second(before, now):
            watch.tick(now)
            if folder:
                folder.tick(*lines)
    if stopped():
        return "interrupted"
    if recorder.all_reached:
        return "counts reached"
    return _reached(ask, tally) or ("plateau" if ask.plateau is not None else "nothing left to try")
