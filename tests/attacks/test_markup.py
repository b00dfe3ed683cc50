"""Names and texts of other people's: shown, and never obeyed by a browser, a terminal or a build server."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from nnfuzz import ci, data
from nnfuzz.cli.display import Display, plain
from nnfuzz.concluding import conclude, representatives
from nnfuzz.errors import NnfuzzError
from tests.attacks.conftest import Command

HOSTILE = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "<svg onload=alert(1)>", "' onmouseover='alert(1)",
    "</style><script>alert(1)</script>", "]]></failure><failure>", "`rm -rf ~` | [x](javascript:alert(1))",
    "javascript:alert(1)", "{{ 7 * 7 }}{% include '/etc/passwd' %}",
)  # fmt: skip
ESCAPES = ("\x1b]0;owned\x07", "\x1b[2J\x1b[31mred", "\x9b31m", "\x1b]8;;http://evil\x1b\\click", "a\rb", "\u202eevil",
           "\u2066x", "a\x08\x08b", "\x00", "\u2028", "\ud800")  # fmt: skip
MARKUP = ("[red]x[/red]", "[/nothing]", "[link=http://evil]x[/link]", "[")


class Tags(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


@pytest.mark.parametrize("evil", [*HOSTILE, *(text for text in ESCAPES if text != "\ud800"), *MARKUP])
def test_a_run_whose_every_text_is_hostile(run: Path, nnfuzz: Command, evil: str) -> None:
    content = json.loads((run / "run.json").read_text())
    content |= {"classes": [evil] * 10, "model_digest": evil, "data_digest": evil, "versions": {evil: evil}}
    content["asked"] |= {"model": evil, "data": evil, "recipe": evil, "criteria": [evil]}
    (run / "run.json").write_text(json.dumps(content))
    result = json.loads((run / "summary.json").read_text())
    result |= {"ended": evil, "kinds": {evil: 3}, "coverage": {evil: {"before": 0.1, "after": 0.2}}}
    (run / "summary.json").write_text(json.dumps(result))
    mutations = json.dumps([[evil, 1.0]])
    with closing(sqlite3.connect(run / "run.db")) as base, base:
        base.execute("UPDATE findings SET kind = 'raised', error = ?, mutations = ?", (evil, mutations))
    for command in ("report", "findings"):
        code, out, err = nnfuzz(command, run)
        assert code == 0
        assert not set(out + err) & set("\x1b\x9b\x07\r\x00\u202e\u2066\u2028")
    _clean_page((run / "report.html").read_text())
    _clean_summaries(run)


def _clean_page(page: str) -> None:
    tags = Tags(page).seen
    assert {tag for tag, _ in tags}.isdisjoint({"script", "iframe", "object", "link", "a", "form", "base"})
    assert all((of["src"] or "").startswith("data:image/png;base64,") for tag, of in tags if tag == "img")
    assert not [name for _, of in tags for name in of if name.startswith("on") or name in ("style", "href")]
    assert "{{" not in page or "{{ 7 * 7 }}" in page


def _clean_summaries(run: Path) -> None:
    found, result = conclude(run)
    said = found.run.configuration
    report = ci.Report.of(said["asked"]["model"], result, representatives(found), (), (), "r", tuple(said["classes"]))
    suite = ElementTree.fromstring(ci.junit(report))
    assert len(suite.findall("testsuite/testcase")) == len(found.groups)
    written = ci.markdown(report)
    assert not set("<>`") & set(written)
    assert "](" not in written


@pytest.mark.parametrize("text", [*ESCAPES, *MARKUP])
def test_what_is_displayed_is_only_text(capsys: pytest.CaptureFixture[str], text: str) -> None:
    display = Display(False)
    display.title(text)
    display.say("x", text)
    shown = capsys.readouterr().out
    assert not set(shown) & set("\x1b\x9b\x07\r\x08\x00\u202e\u2066\u2028\ud800")
    if text in MARKUP:
        assert shown.count(text) == 2


def test_letters_of_all_languages_stay() -> None:
    text = "Žluťoučký 猫 кот قط 🐈 a\tb\nc"
    assert plain(text) == text


@pytest.mark.parametrize("name", ["\x1b[31mred", "[red]", "\u202ecat", "<script>"])
def test_hostile_names_of_class_folders(tmp_path: Path, made: Path, nnfuzz: Command, name: str) -> None:
    for number, folder in enumerate((name, "b")):
        (tmp_path / "data" / folder).mkdir(parents=True)
        Image.new("L", (8, 8), 255 * number).save(tmp_path / "data" / folder / "a.png")
        (tmp_path / "data" / folder / f"{name}.png").write_text("no picture")
    code, out, err = nnfuzz("cover", f"digits@{made / 'net.safetensors'}", "--data", tmp_path / "data", "--criterion",
                            "tknc")  # fmt: skip
    assert code == 0, err
    assert "skipped" in out
    assert not set(out + err) & set("\x1b\u202e")


@pytest.mark.parametrize("evil", ["/etc/passwd", "../../etc/passwd", "a/../../b.png", "\x00", "~/x.png"])
def test_a_label_file_that_leads_out(tmp_path: Path, evil: str) -> None:
    Image.new("L", (8, 8)).save(tmp_path / "a.png")
    (tmp_path / "labels.csv").write_text(f"a.png,0\n{evil},1\n")
    try:
        images = data.load(str(tmp_path))
    except NnfuzzError:
        return
    assert images.files == ("a.png",)


@pytest.mark.parametrize("text", ESCAPES[:-1])
def test_errors_are_only_text(tmp_path: Path, refused: Callable[..., str], text: str) -> None:
    said = refused(tmp_path, "report", tmp_path / text.replace("\x00", ""))
    assert not set(said) & set("\x1b\x9b\x07\r\x08\u202e\u2066\u2028")
