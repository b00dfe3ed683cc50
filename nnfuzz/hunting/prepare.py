"""From an opened subject to a campaign that is ready to turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from nnfuzz.campaign import Campaign, every, seeded
from nnfuzz.coverage import Cover
from nnfuzz.errors import NnfuzzError
from nnfuzz.feedback import Together
from nnfuzz.hunting.ask import ORACLES, USUAL, fitting, known
from nnfuzz.ledger import Ledger
from nnfuzz.opening import Subject
from nnfuzz.recipes import RECIPES, SCALED
from nnfuzz.records import Batch
from nnfuzz.roles import Validity
from nnfuzz.tally import Tally
from nnfuzz.validity import InTurn, WhereItMatters

# What one turn of the loop costs the model at most: a second or so on two cores. Not measured but
# counted, so that the same seed gives the same run on every machine.
TURN_WORK, TURN_ACTIVATIONS, TURN_ROWS = 2**37, 2**28, 4096
GRADIENTS = 4  # times the work where the way to a mutant leads through gradients


@dataclass(frozen=True, eq=False)
class Prepared:
    """A campaign whose seeds are admitted, and what measures it."""

    campaign: Campaign
    covers: Sequence[Cover]
    before: Sequence[float]
    aside: Batch
    ledger: Ledger | None = None  # of two versions

    def counts(self, tally: Tally) -> dict[str, int]:
        """What is the same in every run with the same seed."""
        return {
            "tries": tally.tries, "executed": tally.executed, "findings": tally.findings,
            "distinct_findings": tally.distinct, "seeds_hit": tally.seeds_hit, "corpus": len(self.campaign.corpus),
            "flaky": tally.flaky,
        }  # fmt: skip

    def coverage(self) -> dict[str, float]:
        return {cover.criterion.name: round(cover.coverage, 6) for cover in self.covers}

    def snapshot(self, tally: Tally) -> dict[str, Any]:
        """Where a run stands, in plain numbers."""
        rate = round(tally.tries / max(tally.seconds, 1e-9), 1)
        clock = {"seconds": round(tally.seconds, 2), "tries_per_second": rate}
        faults = {"regression_faults": self.ledger.faults} if self.ledger else {}
        return {**clock, **self.counts(tally), **faults, **self.coverage()}


def choose(x: torch.Tensor, label: torch.Tensor, count: int, seed: int) -> Batch:
    """`count` inputs picked at random, each under its own row number in the data."""
    if count >= len(x):
        return Batch.of_seeds(x, label)  # as they lie: a copy of all would cost as much memory again
    rows = torch.randperm(len(x), generator=seeded(seed))[:count].sort().values
    every = Batch.of_seeds(x[rows], label[rows])
    return Batch(every.x, every.label, rows, every.parent)


def evenly(rows: int, tries: int | None) -> int:
    """Mutants of a turn, at most `rows`, so that whole turns make hardly more than `tries`."""
    return rows if tries is None else -(-tries // -(-tries // rows))


def mutants_a_turn(recipe: str, work: int, activations: int) -> int:
    """What was found is kept after a turn, so that a turn must not be long."""
    most = min(TURN_ROWS, TURN_WORK // work, TURN_ACTIVATIONS // activations)
    return max(16, most // GRADIENTS if recipe in SCALED else most)


def prepare(
    subject: Subject, covers: Sequence[Cover], seeds: Batch, recipe: str = "deephunter", oracle: str = "auto",
    seed: int = 0, parameters: Mapping[str, Any] | None = None, tries: int | None = None, ram: float = 1.0,
    rule: Validity | None = None,
) -> Prepared:  # fmt: skip
    """The recipe's campaign on an opened subject, with its seeds admitted; no turn makes more than `tries`. `rule`
    says, where it matters, which mutants are still fair questions."""
    if oracle == "auto":
        oracle = USUAL.get(recipe, "misclassified" if (seeds.label >= 0).all() else "changed")
    known("recipe", recipe, RECIPES)
    known("oracle", oracle, ORACLES)
    make = RECIPES[recipe]
    target = subject.target
    rows = evenly(mutants_a_turn(recipe, target.work, target.activations), tries)
    parameters = fitting(make, recipe, {"rows": rows, "rng": seed, "ram": ram, **(parameters or {})})
    parameters["rows"] = min(parameters["rows"], tries or parameters["rows"])
    feedback = Together(covers) if len(covers) > 1 else covers[0] if covers else None
    campaign = make(seeds, subject.target, feedback, ORACLES[oracle], **parameters)
    if rule:
        late = WhereItMatters(rule, campaign.oracle, campaign.feedback, campaign.corpus)
        campaign = replace(campaign, fair=late if campaign.fair is every else InTurn((campaign.fair, late)))
    aside = campaign.admit()
    if not len(campaign.corpus):
        right, else_ = ("answered right", ", or use --oracle changed")
        if oracle == "regression":
            right, else_ = "answered right by both versions", ""
        raise NnfuzzError(
            f"none of {len(seeds)} seeds is {right}, so there is nothing to start from; check --mean/--std and the"
            f" order of the classes{else_}"
        )
    ledger = Ledger(aside, target.classes) if oracle == "regression" else None
    return Prepared(campaign, covers, [cover.coverage for cover in covers], aside, ledger)
