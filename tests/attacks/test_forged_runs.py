"""run.db, run.json, summary.json and stats.csv as somebody else would write them."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from nnfuzz.store.packing import pack, unpack
from tests.attacks.conftest import Command

Refused = Callable[..., str]
ALL = ("replay", "findings", "minimize", "report")


def sql(run: Path, query: str, *values: object) -> None:
    with closing(sqlite3.connect(run / "run.db", isolation_level=None)) as base:
        base.execute("PRAGMA writable_schema = ON")
        base.execute(query, values)


def both(run: Path, refused: Refused, *commands: str) -> None:
    for command in commands:
        refused(run, command, run, *["--tries", "800"] * (command == "resume"))


@pytest.mark.parametrize(
    "query",
    [
        "CREATE TRIGGER t AFTER INSERT ON steps BEGIN DELETE FROM findings; END",
        "CREATE VIEW v AS SELECT load_extension('/tmp/evil.so')",
        "CREATE INDEX i ON findings (abs(id))",
        "CREATE TABLE more (a)",
        "ALTER TABLE findings ADD COLUMN huge TEXT GENERATED ALWAYS AS (hex(zeroblob(1 << 29))) VIRTUAL",
        "DROP TABLE seeds",
        "UPDATE sqlite_master SET sql = replace(sql, 'image TEXT', 'image TEXT AS (hex(zeroblob(1 << 29)))')",
        "UPDATE sqlite_master SET sql = 'CREATE VIRTUAL TABLE seeds USING dbstat(main)' WHERE name = 'seeds'",
        "UPDATE sqlite_master SET sql = 'CREATE VIRTUAL TABLE seeds USING fts5(seed, x)' WHERE name = 'seeds'",
        "UPDATE sqlite_master SET rootpage = 1 WHERE name = 'seeds'",
        "PRAGMA application_id = 7",
        "PRAGMA user_version = 99",
    ],
)
def test_a_schema_that_is_not_ours(run: Path, refused: Refused, query: str) -> None:
    sql(run, query)
    if "rootpage" in query:  # the base itself reads as whole until somebody asks for the table
        both(run, refused, "resume")
    else:
        both(run, refused, "resume", "findings")


@pytest.mark.parametrize("size", [0, 100, 4096, -1])
def test_a_base_that_is_cut_or_of_nothing(run: Path, refused: Refused, size: int) -> None:
    base = run / "run.db"
    base.write_bytes(os.urandom(9000) if size < 0 else base.read_bytes()[:size])
    both(run, refused, "resume", "findings")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("image", "../../../etc/passwd"), ("image", "/etc/passwd"), ("image", "findings/../../a.png"),
        ("image", "findings/000000-misclassified.svg"), ("image", "findings/000000-misclassified.png\n"),
        ("image", "findings/999999-misclassified.png"), ("image", b"\x00"), ("image", None),
        ("kind", "<script>"), ("kind", "nothing"), ("kind", None), ("seed", -5), ("seed", "many"), ("seed", 2**62),
        ("seed", None), ("label", -9), ("label", 2**62), ("label", b"x"), ("answers", "[]"), ("answers", "[1e999]"),
        ("answers", "[1, 2]"), ("answers", "{}"), ("answers", "[[[]]]"), ("answers", "[" * 100_000),
        ("answers", f"[{10**30}]"), ("answers", "[9" + "9" * 5000 + "]"), ("confidences", "[]"),
        ("confidences", '["a"]'), ("seed_answers", "[]"), ("mutations", "[1]"), ("mutations", '[["blur", {}]]'),
        ("mutations", "[" * 100_000), ("mutations", "\x00"), ("repeated", 99), ("repeated", -1), ("asked", "x"),
        ("seconds", "inf"), ("seconds", "soon"),
    ],
)  # fmt: skip
def test_a_finding_that_cannot_be(run: Path, refused: Refused, column: str, value: object) -> None:
    sql(run, f"UPDATE findings SET {column} = ? WHERE id = 1", value)
    both(run, refused, "report")


def test_a_finding_with_a_negative_id(run: Path, refused: Refused) -> None:
    sql(run, "UPDATE findings SET id = -3 WHERE id = 1")
    both(run, refused, *ALL)


@pytest.mark.parametrize(
    "x",
    [
        torch.zeros(1, 9, 9, dtype=torch.uint8), torch.zeros(1, 8, 8), torch.zeros(0, 8, 8, dtype=torch.uint8),
        torch.zeros(8, dtype=torch.uint8), torch.tensor(3, dtype=torch.uint8), [1, 2], {"a": 1}, None, "x",
    ],
    ids=str,
)  # fmt: skip
def test_a_seed_that_is_no_image_like_the_others(run: Path, refused: Refused, x: Any) -> None:
    sql(run, "UPDATE seeds SET x = ?", pack(x))
    both(run, refused, *ALL)


@pytest.mark.parametrize("features", [b"abc", "text", 7])
def test_features_that_are_no_numbers(run: Path, refused: Refused, features: object) -> None:
    sql(run, "UPDATE findings SET features = ? WHERE id = 1", features)
    both(run, refused, "report")


@pytest.mark.parametrize(
    "trail",
    [
        [["pixel_change", 1e15, 3.0]], [["pixel_change", 1e300, 1e300]], [["scale", 0.0]], [["rotation", 1e308]],
        [["blur", 77.0]], [["blur"]], [["noise", 9.0, 9.0, 9.0]], [["noise", 1.0]], [["translation", float("nan")]],
        [["contrast", float("inf")]], [["contrast", 1.0]] * 100_000,
    ],
    ids=lambda trail: str(trail)[:30],
)  # fmt: skip
def test_a_lineage_that_would_take_for_ever(run: Path, nnfuzz: Command, trail: object) -> None:
    sql(run, "UPDATE findings SET mutations = ? WHERE id = 1", json.dumps(trail))
    assert nnfuzz("minimize", run, 1, "--asks", 50)[0] == 0


def corpus(run: Path, change: Callable[[dict[str, Any]], object]) -> None:
    with closing(sqlite3.connect(run / "run.db")) as base, base:
        step, packed = base.execute("SELECT step, columns FROM corpus ORDER BY step LIMIT 1").fetchone()
        columns = unpack(packed)
        change(columns)
        base.execute("UPDATE corpus SET columns = ? WHERE step = ?", (pack(columns), step))


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["parent"].fill_(10**6), lambda c: c["parent"].fill_(-2),
        lambda c: c.update(parent=torch.arange(len(c["x"])) + 60), lambda c: c["seed"].fill_(10**9),
        lambda c: c["label"].fill_(77), lambda c: c.update(label=c["label"].double()), lambda c: c.pop("notes"),
        lambda c: c.update(notes=3), lambda c: c.update(notes={"op": c["label"]}), lambda c: c.update(more=3),
        lambda c: c.update(x=c["x"].float()), lambda c: c.update(x=c["x"][:, :, :3]), lambda c: c.update(x=c["x"][:1]),
    ],
)  # fmt: skip
def test_a_corpus_that_cannot_be(run: Path, refused: Refused, change: Callable[[dict[str, Any]], object]) -> None:
    """Circles in the lineage among it: whoever walks up one would never arrive."""
    corpus(run, change)
    both(run, refused, "resume")


@pytest.mark.parametrize("state", [{}, [], None, 3, {"campaign": {}, "corpus": 60, "tally": {}}, {"corpus": "x"}])
def test_a_checkpoint_that_cannot_be(run: Path, refused: Refused, state: Any) -> None:
    sql(run, "UPDATE checkpoint SET state = ?", pack(state))
    both(run, refused, "resume")


def test_a_packed_state_that_is_nested_without_end(run: Path, refused: Refused) -> None:
    deep = '{"dict":{"a":' * 50_000
    head = json.dumps({"__metadata__": {"state": deep}}).encode()
    sql(run, "UPDATE checkpoint SET state = ?", len(head).to_bytes(8, "little") + head)
    both(run, refused, "resume")


def changed(run: Path, name: str, *path: str, value: object) -> None:
    content = json.loads((run / name).read_text())
    inner = content
    for step in path[:-1]:
        inner = inner[step]
    if value is KeyError:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    (run / name).write_text(json.dumps(content))


DEEP: list[Any] = []
for _ in range(500):
    DEEP = [DEEP]


@pytest.mark.parametrize("value", [KeyError, None, 7.5, "x", -(10**400), DEEP, {"a": 1}], ids=lambda v: str(v)[:20])
@pytest.mark.parametrize("name", ["model", "criteria", "settings"])
def test_a_configuration_that_cannot_be(run: Path, refused: Refused, name: str, value: Any) -> None:
    changed(run, "run.json", "asked", name, value=3 if (name, value) == ("model", "x") else value)
    both(run, refused, "resume")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("asked", "settings", "batch_size"), -5), (("asked", "settings", "batch_size"), "many"),
        (("asked", "settings", "resize"), [1]), (("asked", "settings", "mean"), ["a"]),
        (("asked", "settings", "device"), 7), (("asked", "settings", "device"), "nonsense"),
        (("asked", "settings", "more"), 1), (("asked", "more"), 1), (("asked", "hang_seconds"), "x"),
        (("asked", "recipe"), "no-such"), (("asked", "parameters"), {"alpha": [1]}), (("folder",), 3),
        (("asked",), KeyError), (("folder",), KeyError), (("classes",), "x"), (("classes",), [1]), (("threads",), "x"),
        (("batch_size",), -5), (("batch_size",), "x"), (("preflight",), 3), (("versions",), [3]),
    ],
)  # fmt: skip
def test_parts_of_a_configuration_that_cannot_be(
    run: Path, refused: Refused, path: tuple[str, ...], value: Any
) -> None:
    changed(run, "run.json", *path, value=value)
    both(run, refused, "resume")


@pytest.mark.parametrize("text", ["", "[]", "7", "{", "[" * 100_000, '{"a":' * 100_000, "\x00", '"\\ud800"'])
@pytest.mark.parametrize("name", ["run.json", "summary.json"])
def test_json_that_is_none(run: Path, refused: Refused, name: str, text: str) -> None:
    (run / name).write_text(text)
    both(run, refused, "report")


def test_json_of_a_gigabyte(run: Path, refused: Refused) -> None:
    with (run / "run.json").open("r+b") as file:
        file.truncate(1 << 30)  # a hole: it takes no room
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "read_bytes", lambda path: path.stat().st_size)  # or the test itself would read it
        assert "ValueError in run.json" in refused(run, "replay", run)


@pytest.mark.parametrize("value", [KeyError, None, "x", -(10**400), float("nan"), float("inf"), DEEP, [1]],
                         ids=lambda v: str(v)[:20])  # fmt: skip
@pytest.mark.parametrize("name", ["seconds", "tries", "kinds", "coverage", "ended"])
def test_a_result_that_cannot_be(run: Path, refused: Refused, name: str, value: Any) -> None:
    changed(run, "summary.json", name, value=3 if (name, value) == ("ended", "x") else value)
    both(run, refused, "report")


@pytest.mark.parametrize(
    "text", ["a", "seconds,a\n1", "seconds,a\nx,y\n", "seconds\n1,2,3\n", f"seconds\n{'9' * 200_000}\n", "\udcff"]
)
def test_statistics_that_are_none(run: Path, nnfuzz: Command, text: str) -> None:
    (run / "stats.csv").write_text(text, errors="surrogateescape")
    code, _, said = nnfuzz("report", run)
    assert code in (0, 2)
    assert "Traceback" not in said


@pytest.mark.parametrize("values", ["1e308,1e308", "-5,-5", "nan,inf", "1,-1e308", "0,0"])
def test_statistics_of_any_size_are_drawn(run: Path, nnfuzz: Command, values: str) -> None:
    (run / "stats.csv").write_text(f"seconds,distinct_findings\n{values}\n{values}\n")
    assert nnfuzz("report", run)[0] == 0


CODE = "def net():\n    import os; os.mkdir({mark!r})\n"


@pytest.mark.parametrize("signature", [None, "", "0" * 64, "é", KeyError, 7])
@pytest.mark.parametrize("model", ["{evil}:net", "evil:net", "{pt}"])
def test_a_forged_signature_opens_no_code(
    run: Path, tmp_path: Path, refused: Refused, model: str, signature: Any
) -> None:
    evil = tmp_path / "evil.py"
    evil.write_text(CODE.format(mark=str(tmp_path / "PWNED")))
    torch.save(torch.nn.Linear(2, 2), tmp_path / "evil.pt")
    changed(run, "run.json", "asked", "model", value=model.format(evil=evil, pt=tmp_path / "evil.pt"))
    changed(run, "run.json", "asked", "settings", "trust_model", value=True)
    changed(run, "run.json", "folder", value=str(tmp_path))
    if signature is not None:
        changed(run, "run.json", "signed", value=signature)
    for command in ("resume", "replay", "minimize"):
        said = refused(run, command, run)
        assert "--trust-model" in said or "signed" in said
    assert not (tmp_path / "PWNED").exists()
