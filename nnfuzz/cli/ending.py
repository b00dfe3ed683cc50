"""What every run ends with: its groups, its page, its gate, and what CI reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nnfuzz.cli.display import Display, summary
from nnfuzz.cli.exits import after
from nnfuzz.errors import NnfuzzError

if TYPE_CHECKING:
    from nnfuzz.concluding import Triaged
    from nnfuzz.gate import Condition

SHOWN = 5  # groups


def conditions(fail_on: Sequence[str] | None, criteria: Sequence[str] | None = None) -> tuple[Condition, ...]:
    """The gate, refused before anything is loaded if it makes no sense."""
    from nnfuzz import gate

    return gate.conditions(fail_on or (), criteria)


def end(
    display: Display, result: Mapping[str, Any], conditions: Sequence[Condition] = (), junit: str | None = None,
    markdown: str | None = None,
) -> int:  # fmt: skip
    """Say how it went and what came of it; the exit code comes back."""
    from nnfuzz import ci, gate
    from nnfuzz.concluding import conclude, models, representatives

    found, result = conclude(Path(result["run"]))
    summary(display, result)
    groups(display, found, SHOWN)
    failed = gate.judge(conditions, gate.numbers(result)) if result["ended"] != "interrupted" else []
    for one in failed:
        display.say("gate", f"FAILED: {one}")
    if conditions and not failed and result["ended"] != "interrupted":
        display.say("gate", f"passed: {', '.join(map(str, conditions))}")
    asked = found.run.configuration["asked"]
    report = ci.Report.of(
        f"{' → '.join(models(asked))} on {asked['data']}", result, representatives(found), conditions, failed,
        result["run"], tuple(found.run.configuration.get("classes", ())),
    )  # fmt: skip
    for path, text in ((junit, ci.junit), (markdown, ci.markdown)):
        if path:
            _write(Path(path), text(report))
    display.finish({**result, "gate": [str(one) for one in failed]})
    return after(result["ended"], failed)


def groups(display: Display, found: Triaged, most: int) -> None:
    """A line for each, the best first."""
    from nnfuzz.ci.report import said

    classes = tuple(found.run.configuration.get("classes", ()))
    for group in found.groups[:most]:
        one = found.by_id[group.representative]
        where = f"{_several(group.size, 'input')} on {_several(group.seeds, 'seed')}"
        display.say(f"group {group.id}", f"{where}, like {said(one, classes)}, {one.image}")
    if len(found.groups) > most:
        display.say("", f"and {len(found.groups) - most:,} more groups: nnfuzz findings {found.run.path}")
    if found.left_out:
        display.say("warning", f"{found.left_out:,} findings more than can be compared are in no group")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise NnfuzzError(f"expected to write {path} and came {error.strerror or error}; give another path") from error


def _several(count: int, what: str) -> str:
    return f"{count:,} {what}{'s'[: count != 1]}"
