"""The page as a browser would read it, about a tiny run of ``motifs``."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree

import pytest
import torch

from nmrgcl import atomic
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.ids import as_ids
from nmrgcl.data.motifs import motifs
from nmrgcl.errors import ModelError, SettingError
from nmrgcl.report import write_report
from nmrgcl.run.evaluate import evaluate_run
from nmrgcl.run.pretrain import pretrain_seeds
from nmrgcl.settings import Settings

CPU = torch.device("cpu")
VOID = {"meta", "link", "img", "br", "hr", "input"}
SVG = "{http://www.w3.org/2000/svg}"
DATA = motifs(60)


class Page(HTMLParser):
    """Elements and what they refer to; every element must end, inside the one it began in."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.ids: list[str] = []
        self.references: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.references += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def pretrained(folder: Path, dataset: Dataset = DATA, **changed: Any) -> Path:
    settings = Settings().updated(
        {"epochs": 2, "encoder.units": 4, "layers": 2, "svm.folds": 3, "c": "default", **changed}
    )
    for _ in pretrain_seeds(dataset, settings, seeds=range(2), out=folder, device=CPU):
        pass
    return folder


def written(run: Path, dataset: Dataset, out: Path, **options: Any) -> str:
    return write_report(run, dataset, out, device=CPU, jobs=1, **options).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pretrained(tmp_path_factory.mktemp("report") / "run")


@pytest.fixture(scope="module")
def text(run: Path) -> str:
    return written(run, DATA, run.parent / "page.html", figures=run.parent / "figures")


def drawings(text: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)]


def test_the_page_is_well_formed_and_needs_nothing_else(text: str) -> None:
    page = Page(text)
    assert page.open == []
    assert page.seen.count("script") == 1  # names under the maps; all else works without it
    assert "link" not in page.seen
    assert not re.search(r"fetch|XMLHttp|import|eval|http", text[text.index("<script>") :])
    assert "default-src 'none'" in text
    own = [reference for reference in page.references if not reference.startswith("http://127.0.0.1:8686/")]
    assert all(reference.startswith("#") for reference in own)  # links lead elsewhere, but nothing is loaded by them
    assert {reference[1:] for reference in own} <= set(page.ids)
    assert set(re.findall(r"url\(#(.*?)\)", text)) <= set(page.ids)
    assert "@import" not in text
    assert len(page.ids) == len(set(page.ids))


def test_every_drawing_is_xml_with_a_title_a_description_and_the_page_s_ink(text: str) -> None:
    found = drawings(text)
    assert len(found) == 10  # folds, loss, rank, spectrum, two maps, four examples
    for svg in found:
        assert svg.get("role") == "img"
        assert svg.findtext(f"{SVG}title")
        assert svg.findtext(f"{SVG}desc")
        assert svg.get("aria-label", "").startswith(svg.findtext(f"{SVG}title") or "?")
        assert svg.get("width") is None  # as wide as its place
    assert "currentColor" in text


def test_accuracies_are_those_that_evaluate_prints(run: Path, text: str) -> None:
    found = evaluate_run(run, DATA, device=CPU, jobs=1).to_dict()
    assert f"{found['mean']:.2f} ± {found['std']:.2f} %" in text
    assert f"{found['untrained']['mean']:.2f} ± {found['untrained']['std']:.2f} %" in text
    assert "RBF SVM on standardised embeddings, C: default; 3 folds × 2 models; honest selection" in text


def test_settings_versions_and_commands_are_listed(run: Path, text: str) -> None:
    assert text.index("train.epochs") < text.index("more settings, all at their defaults") < text.index("svm.inner")
    for word in ("options.delta", "train.epochs", "svm.folds", torch.__version__, "class 2"):
        assert str(word) in text
    assert f"nmrgcl pretrain motifs --config {run}/seed-0/config.json --seeds 2 --device cpu --out {run}-again" in text


def test_figures_are_saved_as_svg_and_pdf(run: Path, text: str) -> None:
    saved = {p.name for p in (run.parent / "figures").iterdir()}
    assert {"spectrum.svg", "spectrum.pdf", "folds.pdf", "example-3.svg"} <= saved
    ElementTree.parse(run.parent / "figures" / "spectrum.svg")


def test_the_same_run_gives_the_same_page(run: Path, text: str) -> None:
    assert written(run, DATA, run.parent / "page.html") == text


def test_names_from_files_are_shown_and_not_obeyed(run: Path, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script> & $x$"
    data = replace(DATA, name=evil, source=evil, classes=cast(Any, (evil, '"><b>', "c")))
    text = written(run, data, tmp_path / "page.html")
    page = Page(text)
    assert page.open == []
    assert page.seen.count("script") == 1
    assert "b" not in page.seen
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; $x$" in text
    assert drawings(text)


def test_without_labels_the_page_says_why_there_is_no_accuracy(run: Path, tmp_path: Path) -> None:
    text = written(run, replace(DATA, held=replace(DATA.graphs, y=None), classes=()), tmp_path / "page.html")
    assert "has no graph labels" in text
    assert "Accuracy by fold" not in text
    assert "nmrgcl evaluate" not in text
    assert len(drawings(text)) == 9
    assert "there are no labels to judge them by" in text
    assert "Largest class" not in text
    assert Page(text).open == []


def test_an_untrained_run_of_one_model_has_no_curves(tmp_path: Path) -> None:
    run = pretrained(tmp_path / "run", method="untrained", epochs=0)
    text = written(run / "seed-1", DATA, tmp_path / "page.html")
    assert "No curves" in text
    assert "The untrained encoder reaches an accuracy of" in text
    assert len(drawings(text)) == 7  # folds, spectrum, one map, four examples
    assert "3 folds × 5 fold seeds" in text
    assert "--seeds 1 --device cpu" in text


def test_a_page_is_replaced_whole_or_not_at_all(
    run: Path, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "page.html"
    out.write_text("old")
    with monkeypatch.context() as patch:
        patch.setattr(atomic.os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(SettingError, match="No space left"):
            written(run, DATA, out)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]
    assert written(run, DATA, out) != "old"
    assert list(tmp_path.iterdir()) == [out]


def test_places_that_cannot_be_read_or_written_are_named(run: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such run"):
        written(tmp_path / "nowhere", DATA, tmp_path / "new" / "page.html")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(SettingError, match="is a folder"):
        written(run, DATA, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="cannot be created"):
        written(run, DATA, tmp_path / "file" / "page.html")


def test_every_mark_of_both_maps_says_which_graph_it_is(text: str) -> None:
    both = [svg for svg in drawings(text) if svg.findall(f".//{SVG}use[@data-row]")]
    assert len(both) == 2
    assert DATA.y is not None
    for svg in both:
        named = {
            int(mark.attrib["data-row"]): mark.findtext(f"{SVG}title")
            for mark in svg.findall(f".//{SVG}use[@data-row]")
        }
        assert named == {row: f"graph {row + 1} (class {DATA.classes[y]})" for row, y in enumerate(DATA.y)}


def test_long_class_names_stay_inside_the_map(run: Path, tmp_path: Path) -> None:
    data = replace(DATA, classes=tuple(letter * 60 for letter in "abc"))
    svg = next(one for one in drawings(written(run, data, tmp_path / "page.html")) if "…" in "".join(one.itertext()))
    width = float(svg.attrib["viewBox"].split()[2])
    names = [name for name in svg.iter(f"{SVG}text") if (name.text or "").endswith("…")]
    assert len(names) == 3
    for name in names:
        assert float(name.attrib["x"]) + 6 * len(name.text or "") < width  # a letter of 9 points is 6 wide at most


def test_predictions_add_up_to_the_first_seed_s_accuracy(run: Path, text: str) -> None:
    found = evaluate_run(run, DATA, device=CPU, jobs=1)
    assert found.untrained is not None
    for scores in (found.untrained, found.trained):
        right = round(0.6 * scores.folds[0].mean())  # 60 graphs in three folds of twenty
        assert f"{right} of 60 held-out graphs right." in text


def test_graphs_with_ids_are_called_by_them(run: Path, tmp_path: Path) -> None:
    named = replace(DATA, graph_ids=as_ids(f"<$graph & {number}$>" for number in range(60)))
    titles = re.findall(r"(graph \S+ &amp; \S+) .*and its neighbours</h3>", written(run, named, tmp_path / "n.html"))
    plain = re.findall(r"(graph [0-9]+).* and its neighbours</h3>", written(run, DATA, tmp_path / "p.html"))
    assert len(plain) == 4
    assert titles == [f"graph &lt;$graph &amp; {int(title.split()[1]) - 1}$&gt;" for title in plain]


def test_the_report_links_to_the_live_page_and_works_without_it(text: str) -> None:
    links = re.findall(r'<a href="([^"]*)"', text)
    assert links[0] == "http://127.0.0.1:8686/"
    assert len(links) == 5
    assert all(re.fullmatch(r"http://127\.0\.0\.1:8686/#row=\d+", link) for link in links[1:])
    assert "run <code>nmrgcl view " in text
