"""The pytest plugin: the fixture `nnfuzz`, whose `hunt` fails a test by what it finds."""

# pytest starts this in every project beside which nnfuzz is installed: nothing heavy before a test asks for it.
from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nnfuzz.errors import NnfuzzError

if TYPE_CHECKING:
    from nnfuzz.gate import Condition, Failed
    from nnfuzz.hunting import Hunt
    from nnfuzz.records import Finding
    from nnfuzz.regressions import Retried

SECONDS = 10.0  # of search, unless the test says seconds or tries
KEPT = 3  # run folders of a test
SHOWN = 3  # findings in a failure's message
SEVERAL = ("criteria", "layers", "exclude", "mean", "std", "beside", "referees")  # options of one value or more


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "nnfuzz(**options): options of nnfuzz.hunt that hold unless the call has its own"
    )


@pytest.fixture(name="nnfuzz")
def nnfuzz_fixture(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Hunter:
    """`nnfuzz.hunt(model, data, seconds=10, fail_on="errors>0")` fails the test if the model does."""
    marked: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers("nnfuzz"))):  # the closest one last
        if mark.args:
            pytest.fail("nnfuzz: expected options by name, like @pytest.mark.nnfuzz(seconds=5)", pytrace=False)
        marked |= mark.kwargs
    cache = getattr(request.config, "cache", None)  # there is none with -p no:cacheprovider
    place = cache.mkdir("nnfuzz") if cache else tmp_path_factory.mktemp("nnfuzz")
    name = re.sub(r"[^A-Za-z0-9]+", "-", request.node.name).strip("-")[:60]
    folder = place / f"{name}-{hashlib.sha256(request.node.nodeid.encode()).hexdigest()[:8]}"
    return Hunter(folder, request.path.parent, request.config.invocation_params.dir, marked)


@dataclass
class Hunter:
    """What a test gets from the fixture."""

    folder: Path  # of this test: its runs, and the findings of one that failed
    beside: Path  # the folder of the test's file
    started: Path  # the folder that pytest was started in
    marked: Mapping[str, Any] = field(default_factory=dict)
    hunts: int = 0

    def hunt(self, model: str | Path, data: str | Path, **options: Any) -> dict[str, Any]:
        """Try what failed last time, then search; fail the test if a condition of `fail_on` holds.

        `model` and `data` are what the command line takes; files are also looked for beside the test. Options are
        those of nnfuzz.hunting.Hunt and nnfuzz.opening.Settings, and `fail_on`.
        """
        __tracebackhide__ = True
        self.hunts += 1
        try:
            result, complaint = self._hunt(str(model), str(data), {**self.marked, **options})
        except NnfuzzError as error:
            result, complaint = {}, str(error)
        if result.get("ended") == "interrupted":
            raise KeyboardInterrupt  # the hunt took the Ctrl-C that was meant for pytest
        if complaint:
            pytest.fail(f"nnfuzz: {complaint}", pytrace=False)
        return result

    def _hunt(self, model: str, data: str, options: dict[str, Any]) -> tuple[dict[str, Any], str]:
        from nnfuzz import gate, hunting, regressions
        from nnfuzz.store import Run

        if options.get("profile"):
            options["profile"] = data_near(str(options["profile"]), self.beside)
        ask, conditions = asked(model_near(model, self.beside), data_near(data, self.beside), options)
        named = " with ".join((model, *ask.beside))
        ask = replace(ask, beside=tuple(model_near(one, self.beside) for one in ask.beside))
        folder = self.folder if self.hunts == 1 else self.folder.with_name(f"{self.folder.name}-{self.hunts}")
        stored = folder / "stored"
        before = regressions.retry(stored, ask)
        if failed := gate.at_least(conditions, before.counted()):
            return {}, self._still(named, failed, before, stored)
        run = fresh(folder / "runs")
        watch = Listening()
        result = hunting.hunt(replace(ask, out=str(run)), watch)
        failed = gate.judge(conditions, gate.numbers(result)) if result["ended"] != "interrupted" else []
        if not failed:
            return result, ""
        found = regressions.one_a_seed(Run(run).findings)
        regressions.remember(stored, run, found, before.still)
        return result, self._failed(named, failed, result, found, run, watch.warnings)

    def _failed(
        self, model: str, failed: Iterable[Failed], result: Mapping[str, Any], found: list[Finding], run: Path,
        warnings: Iterable[str],
    ) -> str:  # fmt: skip
        from nnfuzz.ci.report import replay

        where = self._shown(run)
        searched = result["seeds"] - result["seeds_set_aside"]
        return "\n".join([
            f"{model} fails by {_listed(failed)}",
            f"{len(found):,} different inputs, on {result['seeds_hit']:,} of {searched:,} seeds, found with"
            f" {result['tries']:,} mutants in {result['seconds']:.1f} s",
            *self._pictures(found, run),
            *[f"  and {len(found) - SHOWN:,} more in {where}"] * (len(found) > SHOWN),
            *[f"again: {replay(where, finding.id)}" for finding in found[:1]],
            *(f"warning: {text}" for text in warnings),
        ])  # fmt: skip

    def _still(self, model: str, failed: Iterable[Failed], before: Retried, stored: Path) -> str:
        from nnfuzz.ci.report import replay

        found = [one.finding for one in before.still]
        fixed = f", {before.fixed} {'is' if before.fixed == 1 else 'are'} fixed" * bool(before.fixed)
        origin = before.still[0]
        return "\n".join([
            f"{model} still fails by {_listed(failed)}",
            f"{len(found):,} stored findings of an earlier run are still wrong{fixed}; nothing was searched",
            *self._pictures(found, stored),
            *[f"  and {len(found) - SHOWN:,} more in {self._shown(stored)}"] * (len(found) > SHOWN),
            *[f"again: {replay(self._shown(Path(origin.run)), origin.finding.id)}"] * Path(origin.run).is_dir(),
        ])  # fmt: skip

    def _pictures(self, found: Iterable[Finding], folder: Path) -> list[str]:
        from nnfuzz.ci.report import said

        return [f"  {self._shown(folder / one.image)}: {said(one)}" for one in list(found)[:SHOWN]]

    def _shown(self, path: Path) -> str:
        """As one types it where pytest was started."""
        return str(path.relative_to(self.started) if path.is_relative_to(self.started) else path)


@dataclass
class Listening:
    """A Watch that keeps the warnings for the message of a failure."""

    warnings: list[str] = field(default_factory=list)

    def say(self, name: str, text: str) -> None:
        if name == "warning":
            self.warnings.append(text)

    def tick(self, snapshot: Mapping[str, Any]) -> None: ...


def asked(model: str, data: str, options: Mapping[str, Any]) -> tuple[Hunt, tuple[Condition, ...]]:
    """The hunt that these options mean, and its gate."""
    from nnfuzz.gate import conditions
    from nnfuzz.hunting import Hunt
    from nnfuzz.opening import Settings

    of_settings = {one.name for one in fields(Settings)}
    of_hunt = {one.name for one in fields(Hunt)} - {"model", "data", "out", "settings"}
    known = (*sorted(of_hunt), *sorted(of_settings), "fail_on")
    for name in options:
        if name not in known:
            raise NnfuzzError(f"expected options among {', '.join(known)}, and came {name!r}")
    given = {name: _several(value) if name in SEVERAL else value for name, value in options.items()}
    if given.get("seconds") is None and given.get("tries") is None:
        given["seconds"] = SECONDS
    settings = Settings(**{name: value for name, value in given.items() if name in of_settings})
    ask = Hunt(model, data, settings=settings, **{name: value for name, value in given.items() if name in of_hunt})
    texts = given.get("fail_on", "errors>0")
    return ask, conditions([texts] if isinstance(texts, str) else texts, ask.criteria)


def _several(value: Any) -> Any:
    """'nc,kmnc' or a single number as a tuple."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return (value,) if isinstance(value, int | float) else value


def model_near(spec: str, folder: Path) -> str:
    """The files of file.py:function@weights that lie beside the test are meant; others are as on the command line."""
    parts = re.fullmatch(r"(.+?)(:[^\W\d]\w*)?(?:@(.+))?", spec, re.DOTALL)
    if parts is None:
        return spec
    source, weights = (str(folder / p) if p and (folder / p).is_file() else p for p in parts.group(1, 3))
    return f"{source}{parts[2] or ''}" + (f"@{weights}" if weights else "")


def data_near(spec: str, folder: Path) -> str:
    """The same of a file or a folder, unless a data set is called so."""
    from nnfuzz.data.named import NAMED

    return str(folder / spec) if spec and spec not in NAMED and (folder / spec).exists() else spec


def fresh(runs: Path) -> Path:
    """The next numbered folder; of the older ones the last few stay."""
    runs.mkdir(parents=True, exist_ok=True)
    numbers = sorted(int(path.name) for path in runs.iterdir() if path.name.isdigit())
    for number in numbers[: max(0, len(numbers) - KEPT + 1)]:
        shutil.rmtree(runs / f"{number:04d}", ignore_errors=True)
    return runs / f"{(numbers or [0])[-1] + 1:04d}"


def _listed(failed: Iterable[Failed]) -> str:
    return ", ".join(map(str, failed))
