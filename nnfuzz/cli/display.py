"""What a user sees while something runs: a live table on a terminal, plain lines otherwise."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from math import isfinite
from typing import Any
from unicodedata import category

from rich.console import Console
from rich.live import Live
from rich.table import Table

QUIET = 5.0  # seconds between two plain lines
HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # control, direction, halves of surrogates, breaks of lines and paragraphs


def plain(text: str) -> str:
    """Text that a terminal only shows: names come from whoever made the data, and escape sequences would be obeyed."""
    return "".join("\N{REPLACEMENT CHARACTER}" if category(c) in HIDDEN and c not in "\n\t" else c for c in text)


def in_words(now: Mapping[str, Any]) -> dict[str, str]:
    """A snapshot as a user reads it."""
    known = ("seconds", "tries", "executed", "tries_per_second", "findings", "distinct_findings", "seeds_hit", "corpus",
             "flaky", "regression_faults")  # fmt: skip
    faults = f" ({now['regression_faults']:,} faults)" if "regression_faults" in now else ""
    cover = "  ".join(f"{name} {value:.1%}" for name, value in now.items() if name not in known)
    return {
        "time": f"{now['seconds']:.0f} s",
        "tries": f"{now['tries']:,}",
        "tries/s": f"{now['tries_per_second']:,.0f}",
        **({"coverage": cover} if cover else {}),
        "findings": f"{now['distinct_findings']:,} on {now['seeds_hit']:,} seeds{faults}",
        "corpus": f"{now['corpus']:,}",
    }


def finite(value: Any) -> Any:
    """The same with null for NaN and infinity, which JSON does not have."""
    if isinstance(value, Mapping):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not isfinite(value) else value


class Display:
    """A Watch for people. With `--json` everything but the result goes to standard error."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.console = Console(stderr=as_json, highlight=False, emoji=False)
        self._live: Live | None = None
        self._spoke = -QUIET

    def __enter__(self) -> Display:
        return self

    def __exit__(self, *_: object) -> None:
        self.still()

    def title(self, text: str) -> None:
        self.console.print(plain(text), style="bold", markup=False, soft_wrap=True)

    def say(self, name: str, text: str) -> None:
        style = "yellow" if name == "warning" else None
        self.console.print(plain(f"  {name:<15} {text}"), style=style, markup=False, soft_wrap=True)

    def tick(self, now: Mapping[str, Any]) -> None:
        words = in_words(now)
        if not self.console.is_terminal:
            if abs(now["seconds"] - self._spoke) >= QUIET:  # of a next search the clock begins anew
                self._spoke = now["seconds"]
                self.console.print("  " + "  ".join(f"{k} {v}" for k, v in words.items()), markup=False, soft_wrap=True)
            return
        if self._live is None:
            self._live = Live(console=self.console, auto_refresh=False)
            self._live.start()
        table = Table(*words, box=None, padding=(0, 2))
        table.add_row(*words.values())
        self._live.update(table, refresh=True)

    def still(self) -> None:
        """Leave the last state on the screen and stop drawing."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def finish(self, result: Mapping[str, Any]) -> None:
        """The one JSON object, if it was asked for."""
        if self.as_json:
            json.dump(finite(result), sys.stdout, default=str, allow_nan=False)
            sys.stdout.write("\n")


def summary(display: Display, result: Mapping[str, Any]) -> None:
    """A hunt's result in a few lines."""
    display.still()
    r = result
    display.title("result" if r["ended"] != "interrupted" else "result (interrupted)")
    display.say("search", f"{r['seconds']:.1f} s after {r['setup_seconds']:.1f} s of set-up, {r['tries']:,} mutants"
                          f" ({r['tries_per_second']:,.0f}/s)")  # fmt: skip
    for name, c in r["coverage"].items():
        display.say(f"coverage {name}", f"{c['before']:.2%} with the seeds, {c['after']:.2%} after")
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in r["kinds"].items()) or "nothing found"
    display.say("findings", f"{kinds}; {r['seeds_hit']:,} of {r['seeds'] - r['seeds_set_aside']:,} seeds")
    if "regression_inputs" in r:
        display.say("regressions", f"{r['regression_faults']:,} faults in {r['regression_inputs']:,} inputs;"
                                   f" {r['general_failures']:,} general failures")  # fmt: skip
    if r.get("doubtful_share") is not None:
        display.say("doubtful", f"{r['doubtful_share']:.1%} are no longer their label to independent models")
    if r["run"]:
        display.say("run", f"{r['run']} (report.html, findings/, stats.csv, run.db)")
