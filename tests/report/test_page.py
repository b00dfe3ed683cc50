"""What a report says, and what it must never do whatever is put into it."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest

from nnfuzz.records import Mutation
from nnfuzz.report import render
from tests.report.pages import HISTORY, RESULT, finding, noise, page, shown

VOID = {"meta", "img"}
HOSTILE = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "'; --> </style></title><b>")
nan = float("nan")


class Read(HTMLParser):
    """Tags that are closed in order, all attributes, and the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data

    def words(self) -> str:
        return " ".join(self.text.split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def read(**changed: Any) -> Read:
    return Read(render(page(**changed)))


def charts(html: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg viewBox.*?</svg>", html, re.DOTALL)]


def test_the_verdict_stands_at_the_top() -> None:
    words = read().words()
    assert "2,681 distinct inputs answered wrongly, on 716 of 989 images, in 8 s" in words
    assert words.index("2,681 distinct") < words.index("What was tested") < words.index("Findings over time")
    assert words.index("Findings over time") < words.index("What was taken for what") < words.index("What was found")


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        ({"distinct_findings": 0, "kinds": {}, "first_finding_seconds": None}, "Nothing found in 8 s, 249,856 tries"),
        ({"distinct_findings": 1, "seconds": 0.4}, "1 distinct input answered wrongly, on 716 of 989 images, in 0.4 s"),
        ({"kinds": {"raised": 2681}}, "2,681 distinct inputs on which the model raised an error, on 716"),
        ({"kinds": {"raised": 1, "changed": 2680}, "seconds": 5400}, "2,681 distinct inputs that went wrong, on 716"),
    ],
)
def test_the_verdict_fits_what_was_found(result: dict[str, Any], verdict: str) -> None:
    assert verdict in read(result={**RESULT, **result}).words()


def test_a_run_that_found_nothing_is_a_whole_page() -> None:
    result = {**RESULT, "distinct_findings": 0, "seeds_hit": 0, "kinds": {}, "first_finding_seconds": None}
    words = read(found=[], groups=[], result=result, history=[]).words()
    assert "Nothing found" in words
    assert "What was found" not in words


def test_a_card_says_what_happened_and_how_to_see_it_again() -> None:
    some = finding(17, answers=(5,), confidences=(0.654,), repeated=1, group=0)
    words = read(found=[some], groups=[shown(some)], run="runs/my run").words()
    for said in (
        "7 → 5", "41 alike, from 12 images", "seed 17", "answered 5 65%",
        "turned 36° anticlockwise, then contrast × 0.7",
        "flaky, 1 of 3", "found after 2.8 s", "plausibility 0.93", "nnfuzz replay 'runs/my run' 17",
        "Showing 1 of 1 groups",
    ):  # fmt: skip
        assert said in words


def test_a_pair_stands_side_by_side() -> None:
    some = finding(3, kind="regression", seed_answers=(3, 3), answers=(3, 8), confidences=(0.9, 0.4))
    words = read(found=[some], groups=[shown(some)], models=["resnet@old", "resnet@new"]).words()
    assert "old 3 90% new 8 40%" in words
    assert "Old: resnet@old. New: resnet@new." in words
    assert "3 → 8" in words


PAIR: dict[str, Any] = {
    **RESULT, "kinds": {"regression": 2681}, "regression_inputs": 4000, "regression_inputs_distinct": 2681,
    "regression_faults": 912, "general_failures": 9000, "general_failures_distinct": 9000, "faults_in_seeds": 31,
}  # fmt: skip


def test_the_verdict_of_a_pair_names_both() -> None:
    words = read(result=PAIR, models=["nets/lenet5-old.pt", "nets/lenet5-new.pt"]).words()
    assert (
        "2,681 distinct inputs that lenet5-old reads right and lenet5-new reads wrong, on 716 of 989 images"
    ) in words
    assert "regression faults912different seeds" in words
    assert "regression inputs4,000right before, wrong now, 2,681 of them distinct" in words
    assert "general failures9,000wrong now, whatever was before" in words
    assert "faults in seeds31before any change" in words
    assert "doubtful" not in words


def test_of_a_pair_the_new_answer_is_the_wrong_one() -> None:
    found = [
        finding(i, kind="regression", label=3, seed_answers=(3, 3), answers=(3, 8), confidences=(0.9, 0.4))
        for i in range(5)
    ]
    html = render(page(found, models=["old", "new"], result=PAIR))
    table = html[html.index('<table class="heat') : html.index("</table>", html.index('<table class="heat'))]
    assert 'title="3 answered 8">5<' in table


@pytest.mark.parametrize(("doubtful", "said"), [(True, "doubtful: independent"), (False, "undoubted"), (None, "")])
def test_a_card_says_whether_it_is_doubted(doubtful: bool | None, said: str) -> None:
    some = finding(3, doubtful=doubtful)
    words = read(found=[some, finding(4, doubtful=False)], groups=[shown(some)]).words()
    assert said in words
    assert ("doubted" in words) == (doubtful is False)
    assert ("doubtful50%" in words) == (doubtful is True)
    assert "doubtful7%" in read(found=[], groups=[], result={**RESULT, "doubtful_share": 0.07}).words()


def test_models_that_say_nothing_are_shown_with_what_they_raised() -> None:
    silent = finding(0, kind="raised", answers=(-1,), confidences=(nan,), error="IndexError: out of range")
    strange = finding(1, kind="not-finite", confidences=(nan,), asked=0, repeated=0)
    words = read(found=[silent, strange], groups=[shown(silent, plausibility=nan), shown(strange)]).words()
    assert "0 → no answer" in words
    assert "IndexError: out of range" in words
    assert "scores not finite" in words
    assert "not run again" in words


def test_without_labels_the_answer_on_the_seed_is_the_right_one() -> None:
    found = [finding(i, label=-1, kind="changed", seed_answers=(4,), answers=(9,)) for i in range(5)]
    words = read(found=found).words()
    assert "4 → 9" in words
    assert "unknown" not in words


def test_of_a_thousand_classes_the_frequent_ones_are_named_and_nothing_is_lost() -> None:
    found = [finding(i, label=i % 900, answers=((i * 3 + 1) % 1000,)) for i in range(2000)]
    html = render(page(found, groups=[], classes=[f"class {i}" for i in range(1000)]))
    table = html[html.index('<table class="heat') : html.index("</table>", html.index('<table class="heat'))]
    assert table.count('<th scope="col"') == 14  # twelve, the others, and all
    assert table.count('<th scope="row"') == 14
    assert re.search(r"<td>2,000</td></tr></tfoot>", table)


@pytest.mark.parametrize("rows", [0, 1, 100_000])
def test_charts_of_any_length_stay_small(rows: int) -> None:
    history = [{"seconds": (s + 1) / 10, "distinct_findings": s, "kmnc": s / rows, "nbc": nan} for s in range(rows)]
    html = render(page(history=history))
    drawn = charts(html)
    assert len(drawn) == (2 if rows else 0)
    assert len(html) < 500_000
    for chart in drawn:
        assert chart.findtext("title")
        assert chart.findtext("desc")
        ends = [line.attrib["points"].split() for line in chart.iter("polyline")]
        assert all(2 <= len(points) <= 300 for points in ends)
        assert ends[0][-1].startswith("368,")  # the last second is the right edge


def test_axes_carry_round_numbers_in_fitting_units() -> None:
    history = [{"seconds": 3600.0 * h, "findings": 40_000 * h} for h in range(1, 8)]
    (chart,) = charts(render(page(history=history)))
    texts = ["".join(text.itertext()) for text in chart.iter("text")]
    assert texts[0] == "Findings over timeinputs"
    assert {"0", "100k", "200k", "300k", "2", "4", "6", "hours", "280,000"} <= set(texts)


@pytest.mark.parametrize("evil", HOSTILE)
def test_nothing_a_user_controls_becomes_markup(evil: str) -> None:
    some = finding(
        3, kind=evil, image=evil, error=evil, mutations=(Mutation(evil), Mutation("blur", (77.0,))), answers=(5, 3),
        confidences=(0.5, 0.5), seed_answers=(3, 3),
    )  # fmt: skip
    result = {**RESULT, "kinds": {evil: 3, "b": 1}, "coverage": {evil: {"before": 0.1, "after": 0.2}}}
    history = [{"seconds": 1.0, "findings": 3, evil: 0.2}]
    everywhere: dict[str, Any] = {
        "title": evil, "ended": evil, "configuration": [(evil, evil)], "result": result, "history": history,
        "classes": [evil] * 10, "models": [evil, evil], "run": evil,
    }  # fmt: skip
    html = read(found=[some], groups=[shown(some)], **everywhere)
    plain = read(found=[finding(3)], groups=[shown(finding(3))])
    assert {tag for tag, _ in html.tags} <= {tag for tag, _ in plain.tags} | {"pre"}
    assert not html.all("script")
    assert all((image["src"] or "").startswith("data:image/png;base64,") for image in html.all("img"))
    assert not [name for _, attributes in html.tags for name in attributes if name.startswith("on") or name == "style"]
    assert html.text.count(evil) >= 8
    three = read(found=[some], groups=[shown(some)], **{**everywhere, "models": [evil] * 3})
    assert evil[:8] in three.text


def test_nothing_is_loaded_from_anywhere() -> None:
    html = render(page())
    assert not re.search(r"https?:|url\(|@import|<script|<link|<iframe|javascript:", html)
    metas = Read(html).all("meta")
    policy = next(m["content"] or "" for m in metas if m.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert "unsafe" not in policy


def test_it_stays_within_five_megabytes() -> None:
    found = [finding(i, group=i) for i in range(5000)]
    x, seed = noise(3, 224, 224), noise(3, 224, 224, seed=1)
    groups = [shown(f, x, seed=seed) for f in found]
    html = render(page(found, groups=groups))
    assert len(html.encode()) <= 5_000_000
    some = re.search(r"Showing (\d+) of 5,000 groups", html)
    assert some
    assert int(some[1]) == html.count("<article") >= 20


def test_it_stays_within_five_megabytes_whatever_the_texts_are() -> None:
    long = "<&'\"" * 100_000
    found = [
        finding(i, error=long, kind=long, answers=(5,) * 50, seed_answers=(5,) * 50, mutations=(Mutation(long),) * 999)
        for i in range(60)
    ]
    changed = {"configuration": [(long, long)] * 1000, "classes": [long] * 10, "models": [long] * 50}
    result = {**RESULT, "kinds": {long: 1, "changed": 2}}
    groups = [shown(f, noise(1, 110, 110)) for f in found]  # as large as all of them may be
    html = render(page(found, groups=groups, title=long, ended=long, run=long, result=result, **changed))
    assert html.count("<article") == 60
    assert 4_000_000 < len(html.encode()) <= 5_000_000


def test_photos_are_shrunk_and_small_images_enlarged_whole() -> None:
    found = [finding(0), finding(1)]
    photo, digit = shown(found[0], noise(3, 600, 900)), shown(found[1], noise(1, 28, 28))
    images = read(found=found, groups=[photo, digit]).all("img")
    assert [(i["width"], i["height"], i.get("class")) for i in images] == [
        *[("224", "149", None)] * 3,
        *[("28", "28", "small")] * 3,
    ]


def test_text_that_no_file_can_hold_is_made_to_fit() -> None:
    html = render(page(title="photos/\udcff\x00.png"))
    assert "photos/?\N{REPLACEMENT CHARACTER}.png" in html
    html.encode("utf-8")


def test_the_history_of_a_run_is_drawn_from_its_beginning() -> None:
    findings, coverage = charts(render(page(history=HISTORY)))
    assert next(findings.iter("polyline")).attrib["points"].startswith("52,220 ")
    assert findings.findtext("desc") == "After 8 s: findings 2,720."
    assert "kmnc 68.0%, nbc 13.3%." in (coverage.findtext("desc") or "")
