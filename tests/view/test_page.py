"""The page itself, in headless Chromium; ``make test-view`` has what it takes to drive one."""

import shutil
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch

from nmrgcl.data.loading import load
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.settings import resolve
from nmrgcl.view import Viewed, open_server
from nmrgcl.view.server import Server

CPU = torch.device("cpu")
FLAGS = ["--no-sandbox", "--enable-unsafe-swiftshader", "--no-proxy-server"]
DRAWN = "performance.getEntriesByName('map').length > 0"
NAMELESS = """() => [...document.querySelectorAll('button, select, input, a, summary, [tabindex]')].filter((one) => {
  const label = one.labels?.[0]?.textContent || one.getAttribute('aria-label') || one.textContent;
  return !label.trim();
}).map((one) => one.outerHTML)"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    play = pytest.importorskip("playwright.sync_api", reason="playwright is not installed; make test-view")
    chromium = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no chromium is installed")
    with play.sync_playwright() as started:
        made = started.chromium.launch(executable_path=chromium, args=FLAGS)
        yield made
        made.close()


@pytest.fixture
def page(browser: Any, server: Server) -> Iterator[Any]:
    """The page with its map drawn; errors and requests to others fail the test."""
    wrong: list[str] = []
    made = browser.new_page(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    made.set_default_timeout(60_000)
    made.on("pageerror", lambda error: wrong.append(str(error)))
    made.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    own = (server.address, "data:", "blob:")
    made.on("request", lambda asked: None if asked.url.startswith(own) else wrong.append(asked.url))
    made.goto(server.address)
    made.wait_for_function(DRAWN)
    yield made
    made.close()
    assert wrong == []


def frame_of(page: Any) -> dict[str, float]:
    """Where the map is on the screen."""
    page.evaluate("document.getElementById('frame').scrollIntoView({ block: 'center' })")
    page.wait_for_timeout(300)
    found: dict[str, float] = page.locator("#frame").bounding_box()
    return found


def test_curves_and_map_are_there(page: Any) -> None:
    assert page.title() == "nmrgcl on MUTAG – nmrgcl view"
    assert page.inner_text("#status") == "2 models complete."
    assert "Map of 188 graphs on two principal axes" in page.inner_text("#waits")
    assert page.locator(".uplot canvas").count() == 3
    assert page.inner_text("#legend").split() == ["class", "-1", "class", "1"]
    page.click("#numbers-loss >> xpath=ancestor::details/summary")
    assert page.locator("#numbers-loss tbody tr").count() == 2


def test_the_keyboard_reaches_every_mark_and_its_neighbours(page: Any) -> None:
    page.focus("#frame")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.getElementById('said').textContent.startsWith('graph ')")
    first = page.evaluate("view.state.pointed")
    page.keyboard.press("ArrowLeft")
    page.wait_for_function(f"view.state.pointed !== {first}")
    here, there = page.evaluate(f"[view.state.xy[2 * view.state.pointed], view.state.xy[2 * {first}]]")
    assert here < there
    page.keyboard.press("Enter")
    page.wait_for_selector("#near button")
    assert page.locator("#near button").count() == 8
    assert "opened" in page.inner_text("#said")
    assert page.locator("#drawing svg[role=img]").count() == 1
    page.focus("#near button")
    page.keyboard.press("Enter")
    page.wait_for_function("location.hash.includes('row=')")
    page.focus("#frame")
    for key in ("+", "-", "0", "Escape"):
        page.keyboard.press(key)
    assert page.evaluate("view.state.chosen") == -1


def test_pointing_and_clicking(page: Any) -> None:
    box = frame_of(page)
    place = page.evaluate("view.scatter().getScreenPosition(20)")
    page.mouse.move(box["x"] + place[0] - 40, box["y"] + place[1] - 40)
    page.mouse.move(box["x"] + place[0], box["y"] + place[1], steps=4)
    page.wait_for_function("document.getElementById('chosen').textContent.startsWith('graph ')")
    page.mouse.click(box["x"] + place[0], box["y"] + place[1])
    page.wait_for_selector("#near button")
    assert page.evaluate("view.state.chosen") >= 0


def test_a_lasso_selects_and_the_rows_are_saved(page: Any) -> None:
    page.click("#lasso")
    assert page.get_attribute("#lasso", "aria-pressed") == "true"
    box = frame_of(page)
    left, top, right, low = box["x"] + 4, box["y"] + 4, box["x"] + box["width"] - 4, box["y"] + box["height"] - 4
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((right, top), (right, low), (left, low), (left, top + 6)):
        page.mouse.move(x, y, steps=12)
        page.wait_for_timeout(40)
    page.mouse.up()
    page.wait_for_selector("#selected:not([hidden])")
    assert page.inner_text("#counts") == "188 graphs selected (class 1: 125, -1: 63)."
    with page.expect_download() as saved:
        page.click("#csv")
    lines = Path(saved.value.path()).read_text().splitlines()
    assert (lines[0], len(lines)) == ("row,class", 189)
    with page.expect_download() as saved:
        page.click("#png")
    assert Path(saved.value.path()).read_bytes()[:4] == b"\x89PNG"
    page.click("#clear")
    assert page.locator("#selected").is_hidden()


def test_search_colour_and_links(page: Any, server: Server) -> None:
    page.fill("#text", "5")
    page.click("#find button")
    page.wait_for_function("document.getElementById('chosen').textContent.startsWith('graph 5,')")
    page.fill("#text", "nobody")
    page.click("#find button")
    page.wait_for_function("document.getElementById('said').textContent === 'No graph called nobody'")
    page.select_option("#colour", "nodes")
    page.wait_for_function("document.getElementById('legend').textContent.startsWith('nodes: 10')")
    page.goto(f"{server.address}#row=11&colour=edges")
    page.reload()
    page.wait_for_function("document.getElementById('chosen').textContent.startsWith('graph 12,')")
    assert page.input_value("#colour") == "edges"
    with page.expect_download() as saved:
        page.click("a[data-figure=map]")
    assert "<svg" in Path(saved.value.path()).read_text()


def test_everything_has_a_name_and_nothing_is_cut_off(page: Any) -> None:
    assert page.evaluate(NAMELESS) == []
    levels = page.evaluate("[...document.querySelectorAll('h1, h2, h3')].map((one) => Number(one.tagName[1]))")
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    page.set_viewport_size({"width": 420, "height": 800})
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= 420


def test_a_training_is_followed_while_it_runs(browser: Any, tmp_path: Path) -> None:
    settings = resolve("graphcl", assignments=["epochs=3", "encoder.layers=1", "encoder.units=4"])
    steps = pretrain_seeds(
        load("motifs"), settings, seeds=[0], out=tmp_path / "run", device=CPU, track_every=1, data="motifs"
    )
    next(steps)
    with open_server([Viewed(tmp_path / "run", data=None, device=CPU)], port=0) as served:
        thread = threading.Thread(target=served.serve_forever, args=(0.01,))
        thread.start()
        page = browser.new_page()
        page.set_default_timeout(60_000)
        try:
            page.goto(served.address)
            says = "document.getElementById('status').textContent.startsWith('{}')"
            page.wait_for_function(says.format("training seed 0, epoch 1 of 3"))
            assert "once the first model is complete" in page.inner_text("#waits")
            next(steps)
            page.wait_for_function(says.format("training seed 0, epoch 2 of 3"))
            assert page.locator(".uplot").count() == 3
            list(steps)
            page.wait_for_function(says.format("1 model complete"))
            page.wait_for_function(DRAWN)
        finally:
            page.close()
            served.shutdown()
            thread.join()
