"""What can be asked for, and what is refused at once."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nnfuzz import fidelity, ledger
from nnfuzz.campaign import Campaign
from nnfuzz.errors import NnfuzzError
from nnfuzz.opening import Settings, check_criteria
from nnfuzz.oracles import FirstOf, changed, disagreeing, failed, misclassified, not_finite
from nnfuzz.recipes import RECIPES
from nnfuzz.roles import Oracle
from nnfuzz.store import vacant
from nnfuzz.versions import Regressed

ORACLES: dict[str, Oracle] = {
    "misclassified": FirstOf((failed, not_finite, misclassified)),
    "changed": FirstOf((failed, not_finite, changed)),
    "disagreeing": FirstOf((failed, not_finite, disagreeing)),
    "regression": FirstOf((failed, not_finite, Regressed())),
}
# The papers' own oracles.
USUAL = {"dlfuzz": "changed", "deepxplore": "disagreeing", "drfuzz": "regression", "elites": "regression"}


@dataclass(frozen=True)
class Hunt:
    """What was asked for; stored with the run."""

    model: str
    data: str
    recipe: str = "deephunter"
    criteria: tuple[str, ...] = ("kmnc",)
    oracle: str = "auto"
    seconds: float | None = None
    tries: int | None = None
    seeds: int = 1000
    seed: int = 0
    profile: str | None = None
    out: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)  # of the recipe
    settings: Settings = field(default_factory=Settings)
    until_first: bool = False
    plateau: float | None = None  # seconds without anything new after which it stops
    hang_seconds: float | None = 60.0  # a pass that takes longer is ended; needs a run folder
    corpus_ram: float = 1.0  # GiB of the corpus that are held in memory
    beside: tuple[str, ...] = ()  # further models of the same task; of a pair of versions, the new one
    fidelity: str = "none"
    threshold: float | None = None  # of the fidelity
    guard: str | None = None
    referees: tuple[str, ...] = ()  # asked after the search what findings show
    turn: int | None = None  # most mutants a turn makes, where the limit on tries has changed since
    reach: Mapping[str, int] = field(default_factory=dict)  # counts at which the search ends, all of them reached

    @property
    def oracle_name(self) -> str:
        """The recipe's own, where none was asked for and labels do not decide."""
        return USUAL.get(self.recipe, self.oracle) if self.oracle == "auto" else self.oracle

    @property
    def pair(self) -> bool:
        """Are the models two versions, the old one first?"""
        return self.oracle_name == "regression"


def check(ask: Hunt) -> None:
    """Refuse at once what would only be refused after everything is loaded."""
    known("recipe", ask.recipe, RECIPES)
    known("oracle", ask.oracle, ("auto", *ORACLES))
    known("fidelity", ask.fidelity, fidelity.NAMES)
    versions = USUAL.get(ask.recipe) == "regression"
    if versions and not ask.pair:
        raise NnfuzzError(
            f"expected the oracle regression for {ask.recipe}, and came {ask.oracle}; use nnfuzz regress OLD NEW"
        )
    if ask.criteria or not versions:  # the others look for nothing else
        check_criteria(ask.criteria)
    if ask.pair and len(ask.beside) != 1:
        raise NnfuzzError(
            f"expected two versions of a model for {ask.recipe}, and came one; use nnfuzz regress OLD NEW"
        )
    for name in ask.reach:
        known("a count for --until", name, ledger.REACHABLE)
    fitting(RECIPES[ask.recipe], ask.recipe, ask.parameters)
    if ask.out:
        vacant(Path(ask.out))


def known(kind: str, name: str, names: Collection[str]) -> None:
    if name not in names:
        raise NnfuzzError(f"expected {kind} to be one of {', '.join(names)}, and came {name!r}")


def fitting(make: Callable[..., Campaign], recipe: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters in the types of the recipe's defaults; one it does not have is refused with those it has."""
    defaults = {n: p.default for n, p in inspect.signature(make).parameters.items() if p.kind is p.KEYWORD_ONLY}
    simple = {name: default for name, default in defaults.items() if isinstance(default, int | float | str)}
    fitted = {}
    for name, value in given.items():
        try:
            fitted[name] = type(simple[name])(value)
        except (KeyError, OverflowError, TypeError, ValueError):
            listed = ", ".join(f"{n}={d}" for n, d in simple.items())
            raise NnfuzzError(f"expected a parameter of {recipe} ({listed}), and came {name}={value}") from None
    return fitted
