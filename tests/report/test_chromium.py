"""The page in a browser: it is drawn, its style sheet passes its own policy, and a phone shows all of its width."""

from __future__ import annotations

import html
import io
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from nnfuzz.report import Page, render
from tests.report.pages import finding, noise, page, shown

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
)  # fmt: skip
# The page stands in a frame, because a window of headless Chromium is never narrower than 500 pixels, and because
# the page's own policy rightly stops a script that is put into it.
MEASURE = """<!doctype html><body style="margin:0"><iframe style="border:0;width:{width}px;height:{height}px"
srcdoc="{page}"></iframe><pre></pre><script>onload = () => {{
  const page = document.querySelector('iframe').contentDocument, root = page.documentElement;
  const style = of => getComputedStyle(page.querySelector(of));
  const wide = [...page.querySelectorAll('body *')].filter(e => !e.closest('.scroll, .replay, pre, svg')
    && e.getBoundingClientRect().right > {width} + 0.5).map(e => e.outerHTML.slice(0, 80));
  document.querySelector('pre').textContent = JSON.stringify({{
    scroll: root.scrollWidth, wide, paper: style('body').backgroundColor, rendering: style('.small').imageRendering,
    broken: [...page.images].filter(i => !i.naturalWidth).length, images: page.images.length,
    height: root.scrollHeight}});
}}</script>"""

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CHROMIUM is None, reason="no chromium on PATH")]


def chromium(tmp_path: Path, document: str, *flags: str) -> str:
    file = tmp_path / "page.html"
    file.write_text(document, encoding="utf-8")
    command = [CHROMIUM or "", *FLAGS, f"--user-data-dir={tmp_path / 'profile'}", *flags, file.as_uri()]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def measured(tmp_path: Path, some: Page, width: int, *flags: str) -> dict[str, Any]:
    framed = MEASURE.format(width=width, height=900, page=html.escape(render(some)))
    dumped = chromium(tmp_path, framed, "--dump-dom", f"--window-size={max(500, width)},1000", *flags)
    (said,) = re.findall(r"<pre>(\{.*\})</pre><script>", dumped)
    return dict(json.loads(html.unescape(said)))


def full() -> Page:
    """Names as long as they come, a pair, photos and digits."""
    long = "American Staffordshire terrier, Staffordshire terrier, American pit bull terrier, pit bull terrier"
    found = [finding(i, label=i % 100, answers=(i % 100, (3 * i + 1) % 90), confidences=(0.9, 0.6), error="E" * 300,
                     seed_answers=(i % 100, i % 100)) for i in range(300)]  # fmt: skip
    groups = [shown(f, noise(3, 300, 400) if f.id % 2 else noise(1, 28, 28)) for f in found[:10]]
    configuration = [("model", "x" * 300), ("data", "photos/" + "y" * 60)]
    return page(found, groups=groups, classes=[long] * 50 + ["W" * 80] * 50, models=["m" * 90, "n" * 90],
                configuration=configuration, run="/" + "r" * 200, title="t" * 100)  # fmt: skip


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
@pytest.mark.parametrize("make", [page, full])
def test_nothing_sticks_out_at_any_width(tmp_path: Path, make: Any, width: int) -> None:
    seen = measured(tmp_path, make(), width)
    assert seen["wide"] == []
    assert seen["scroll"] <= width
    assert seen["images"] >= 30
    assert seen["broken"] == 0
    assert seen["rendering"] == "pixelated"
    assert seen["height"] > 1500


def test_light_and_dark_follow_the_reader(tmp_path: Path) -> None:
    light = measured(tmp_path, page(), 390, "--blink-settings=preferredColorScheme=1")
    dark = measured(tmp_path, page(), 390, "--blink-settings=preferredColorScheme=0")
    assert light["paper"] == "rgb(252, 252, 251)"
    assert dark["paper"] == "rgb(19, 21, 23)"


def test_a_picture_of_it_shows_ink_and_the_accent(tmp_path: Path) -> None:
    shot = tmp_path / "shot.png"
    chromium(tmp_path, render(page()), f"--screenshot={shot}", "--window-size=1280,1600")
    image = Image.open(io.BytesIO(shot.read_bytes())).convert("RGB")
    assert image.size == (1280, 1600)
    colours = {colour: count for count, colour in image.getcolors(1 << 24) or []}
    paper = colours[252, 252, 251]
    assert 0.5 < paper / (1280 * 1600) < 0.97
    assert colours.get((13, 109, 117), 0) > 500  # lines of charts and bars
    assert colours.get((27, 28, 30), 0) > 500  # letters
