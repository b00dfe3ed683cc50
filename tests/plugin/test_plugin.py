"""The pytest plugin, on the sample project that comes with it."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from nnfuzz import pytest_plugin
from nnfuzz.pytest_plugin import KEPT, data_near, fresh, model_near

# A pytest inside this one forgets every module that it was the first to import, and these do not bear a second import.
for module in ("nnfuzz.hunting", "nnfuzz.regressions", "nnfuzz.ci", "nnfuzz.recipes", "PIL.PngImagePlugin"):
    import_module(module)

ROOT = Path(__file__).parent.parent.parent
SAMPLE = ROOT / "examples" / "pytest-project"
Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """pytest with the plugin at hand, so that it is this one whether or not nnfuzz is installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("NNFUZZ_DATA", str(pytester.path / "home"))
    return lambda *options: pytester.runpytest_inprocess(
        "-W", "error", *options, plugins=[pytest_plugin], no_reraise_ctrlc=True
    )


@pytest.fixture
def sample(pytester: pytest.Pytester) -> Path:
    for path in SAMPLE.glob("*.*"):
        shutil.copy(path, pytester.path)
    return pytester.path


def runs(place: Path) -> list[Path]:
    return sorted(place.glob(".pytest_cache/d/nnfuzz/*-with-a-bug-*/runs/*"))


def test_the_sample_project_from_failure_to_repair(sample: Path, run: Run) -> None:
    first = run()
    first.assert_outcomes(passed=1, failed=1)
    text = first.stdout.str()
    assert "nnfuzz: model.py:planted fails by misclassified>0" in text
    assert "Traceback" not in text
    assert "pytest_plugin.py" not in text
    pictures = re.findall(r"^  (\S+\.png): seed \d+, rightly [01], is answered [01] ", text, re.MULTILINE)
    assert pictures
    assert all((sample / picture).is_file() for picture in pictures)
    (folder,) = runs(sample)
    assert f"again: nnfuzz replay {folder.relative_to(sample)} " in text

    started = time.monotonic()
    again = run("-k", "bug")
    again.assert_outcomes(failed=1, deselected=1)
    again.stdout.fnmatch_lines([
        "nnfuzz: model.py:planted still fails by misclassified>0*",
        "* stored findings of an earlier run are still wrong; nothing was searched",
        "  *stored/*.png: seed *", f"again: nnfuzz replay {folder.relative_to(sample)} *",
    ])  # fmt: skip
    assert runs(sample) == [folder], "no new run: it did not search"
    assert time.monotonic() - started < 5

    model = sample / "model.py"
    model.write_text(model.read_text().replace("return WithABug()", "return BrighterHalf()"))
    run("-k", "bug").assert_outcomes(passed=1, deselected=1)
    assert len(runs(sample)) == 2
    assert not list(sample.glob(".pytest_cache/d/nnfuzz/*/stored/*.png"))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ('nnfuzz.hunt("model.py:good", "p.npz", tires=5)', "expected options among .*fail_on, and came 'tires'"),
        ('nnfuzz.hunt("model.py:good", "p.npz", out="here")', "expected options among .*, and came 'out'"),
        ('nnfuzz.hunt("model.py:good", "p.npz", fail_on="errs>0")', "expected a condition on one of .*came errs"),
        ('nnfuzz.hunt("model.py:good", "p.npz", fail_on="coverage.nc<1")', r"measures \(coverage.kmnc\), and came"),
        ('nnfuzz.hunt("model.py:gone", "p.npz")', "expected a function gone"),
        ('nnfuzz.hunt("model.py:good", "gone.npz")', "'gone.npz' is none"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_a_sentence(sample: Path, run: Run, call: str, sentence: str) -> None:
    (sample / "test_model.py").write_text(
        f"from pictures import write\ndef test(nnfuzz):\n    write('p.npz')\n    {call}\n"
    )
    done = run()
    done.assert_outcomes(failed=1)
    complaints = [line for line in done.stdout.lines if line.startswith("nnfuzz: ")]
    assert len(complaints) == 1
    assert re.search(sentence, complaints[0])
    assert "Traceback" not in done.stdout.str()


def test_the_closest_marker_wins_and_the_call_over_it(sample: Path, run: Run) -> None:
    (sample / "test_model.py").write_text("""
import pytest
from pictures import write
pytestmark = pytest.mark.nnfuzz(tries=64, criteria="nc", seeds=8)

@pytest.mark.nnfuzz(seeds=5, mean=0.0)
def test_results(nnfuzz, tmp_path):
    data = write(tmp_path / "p.npz")
    one = nnfuzz.hunt("model.py:good", data)
    assert (one["seeds"], list(one["coverage"]), one["ended"]) == (5, ["nc"], "tries")
    two = nnfuzz.hunt("model.py:planted", data, seeds=3, criteria="tknc,nc", fail_on="rate>1, hung>0")
    assert (two["seeds"], list(two["coverage"])) == (3, ["tknc", "nc"])
    assert one["run"] != two["run"]

@pytest.mark.nnfuzz(5)
def test_by_position(nnfuzz): ...
""")
    done = run("--strict-markers", "-p", "no:cacheprovider")
    done.assert_outcomes(passed=1, errors=1)
    done.stdout.fnmatch_lines(["nnfuzz: expected options by name*"])


def test_ctrl_c_is_for_pytest(sample: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from nnfuzz import hunting

    ended = {"ended": "interrupted", "kinds": {}, "coverage": {}, "seeds": 1, "seeds_set_aside": 0}
    monkeypatch.setattr(hunting, "hunt", lambda ask, watch: ended)
    done = run("--no-header")
    assert done.ret == pytest.ExitCode.INTERRUPTED


def test_old_runs_are_removed(tmp_path: Path) -> None:
    for _ in range(KEPT + 2):
        fresh(tmp_path / "runs").mkdir()
    assert [path.name for path in sorted((tmp_path / "runs").iterdir())] == ["0003", "0004", "0005"]


def test_files_beside_the_test_are_meant(tmp_path: Path) -> None:
    for name in ("model.py", "w.safetensors", "p.npz", "digits"):
        (tmp_path / name).touch()
    assert model_near("model.py:make@w.safetensors", tmp_path) == f"{tmp_path}/model.py:make@{tmp_path}/w.safetensors"
    assert model_near("lenet5@w.safetensors", tmp_path) == f"lenet5@{tmp_path}/w.safetensors"
    for spec in ("lenet5", "package.module:make", "/else/where@home/net.py:make", "other.py:make@v.safetensors", ""):
        assert model_near(spec, tmp_path) == spec
    assert data_near("p.npz", tmp_path) == f"{tmp_path}/p.npz"
    for spec in ("digits", "mnist:train", "else/where", ""):
        assert data_near(spec, tmp_path) == spec


def test_pytest_finds_the_plugin_once_nnfuzz_is_installed() -> None:
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.entry-points.pytest11]\nnnfuzz = "nnfuzz.pytest_plugin"\n' in declared
