"""Whether a run passes: conditions such as `errors>0` on its numbers. Any one that holds fails it."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from nnfuzz.errors import NnfuzzError
from nnfuzz.records import Kind

RELATIONS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge, "<=": operator.le, "==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt,
}  # fmt: skip
KINDS = tuple(kind.label for kind in Kind if kind > Kind.NOTHING)
NAMES = (
    "errors", *KINDS, "rate", "groups", "flaky", "findings", "seeds_hit", "seeds", "seeds_set_aside", "tries",
    "executed", "seconds", "regressions", "regression_inputs", "regression_inputs_distinct", "regression_faults",
    "general_failures", "general_failures_distinct", "faults_in_seeds", "doubtful", "doubtful_share",
)  # fmt: skip
COVERAGE = "coverage."
WRITTEN = re.compile(r"\s*([\w.-]+?)\s*(>=|<=|==|!=|>|<)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Condition:
    """`name` of a number, how it compares, and with what."""

    name: str
    relation: str
    bound: float

    @classmethod
    def parse(cls, text: str) -> Condition:
        written = WRITTEN.fullmatch(text)
        if written is None:
            raise NnfuzzError(
                f"expected a condition as NAME, one of {' '.join(RELATIONS)} and a number, like errors>0, and came"
                f" {text.strip()!r}"
            )
        name, relation, bound = written.groups()
        return cls(_known(name), relation, float(bound))

    def __str__(self) -> str:
        return f"{self.name}{self.relation}{plain(self.bound)}"

    def holds(self, value: float) -> bool:
        """A number that is none (NaN) is no pass: nobody measured what was asked for."""
        return math.isnan(value) or RELATIONS[self.relation](value, self.bound)


@dataclass(frozen=True)
class Failed:
    """A condition that holds, and the number it holds for."""

    condition: Condition
    actual: float

    def __str__(self) -> str:
        return f"{self.condition} (it is {plain(self.actual)})"


def conditions(texts: Iterable[str], criteria: Collection[str] | None = None) -> tuple[Condition, ...]:
    """What repeated options with commas say, each once; on coverage only of `criteria`, where those are known."""
    parsed = tuple(dict.fromkeys(Condition.parse(part) for text in texts for part in text.split(",")))
    if criteria is not None:
        measured = {f"{COVERAGE}{criterion}" for criterion in criteria}
        for one in parsed:
            if one.name.startswith(COVERAGE) and one.name not in measured:
                raise NnfuzzError(
                    f"expected a condition on coverage that this run measures ({', '.join(sorted(measured))}), and came"
                    f" {one}"
                )
    return parsed


def judge(conditions: Iterable[Condition], numbers: Mapping[str, float]) -> list[Failed]:
    """The conditions that hold. One on a number that was not counted is refused: it would pass unseen."""
    failed = []
    for condition in conditions:
        if condition.name not in numbers:
            raise NnfuzzError(
                f"expected this run to count {condition.name} for the condition {condition}, and it counted"
                f" {', '.join(numbers)}"
            )
        if condition.holds(actual := numbers[condition.name]):
            failed.append(Failed(condition, actual))
    return failed


def at_least(conditions: Iterable[Condition], numbers: Mapping[str, float]) -> list[Failed]:
    """The conditions that hold already if more counting can only make these numbers larger."""
    growing = [one for one in conditions if one.name in numbers and one.relation in (">", ">=")]
    return judge(growing, numbers)


def numbers(result: Mapping[str, Any]) -> dict[str, float]:
    """The numbers that conditions are about, from a hunt's result."""
    kinds: Mapping[str, int] = result["kinds"]
    searched = result["seeds"] - result["seeds_set_aside"]
    counted = {name: result[name] for name in NAMES if result.get(name) is not None}
    covered = {f"{COVERAGE}{name}": values["after"] for name, values in result["coverage"].items()}
    of_kinds = {kind: kinds.get(kind, 0) for kind in KINDS}
    errors = {"errors": result["distinct_findings"], "rate": result["seeds_hit"] / max(1, searched)}
    if "regression_inputs" in result:
        errors["regressions"] = of_kinds[Kind.REGRESSION.label]
    return {name: float(value) for name, value in {**errors, **of_kinds, **counted, **covered}.items()}


def plain(value: float) -> str:
    """Whole numbers in full, others with as many digits as a person wants to read."""
    return f"{value:.0f}" if value.is_integer() else f"{value:.6g}"


def _known(name: str) -> str:
    """The name as it is counted; - and _ mean the same."""
    if name.lower().startswith(COVERAGE) and len(name) > len(COVERAGE):
        return name.lower()
    spelled = {one.replace("_", "-"): one for one in NAMES}
    found = spelled.get(name.lower().replace("_", "-"))
    if found is None:
        raise NnfuzzError(f"expected a condition on one of {', '.join(NAMES)} or {COVERAGE}CRITERION, and came {name}")
    return found
