"""Reports of tables: HTML, Markdown, LaTeX and CSV, complete, with gaps, and quick."""

import csv
import json
from pathlib import Path

import pytest

from nmrgcl import reproduce
from nmrgcl.errors import DataError
from nmrgcl.reproduce import find_item
from nmrgcl.reproduce.item_file import read_item_file
from nmrgcl.reproduce.item_page import Made, repeat_command, write_item
from nmrgcl.reproduce.tables import cells
from tests.reproduce.planted_tables import table_rows_of
from tests.test_cli import run

ASKED = {"rows": ["nmrGCL", "GraphCL", "untrained", "GIN", "WL"], "only": ["NCI1", "DD"], "seeds": 2}


@pytest.fixture(autouse=True)
def wl_has_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row WL stands for those whose method is not there."""
    real = cells.computable
    monkeypatch.setattr(cells, "computable", lambda row, level: row.name != "WL" and real(row, level))


def score(data: str, row: str, line: str) -> float:
    return {"nmrGCL": 80.0, "GraphCL": 75.0, "GIN": 90.0}.get(row, 70.0) + (2.0 if line == "paper" else 0.0)


def written(folder: Path, keep: slice = slice(None), **asked: object) -> Made:
    item = find_item("table1")
    plan = item.plan(**ASKED | asked)  # type: ignore[arg-type]
    return write_item(item, plan, table_rows_of(item, plan, score, noise=0)[keep], folder)


def test_markdown_shows_ours_beside_the_printed_figures(tmp_path: Path) -> None:
    text = written(tmp_path).page.with_suffix(".md").read_text(encoding="utf-8")
    lines = text.splitlines()
    for line in (
        "| row | figures | NCI1 | DD |",
        "| GIN | printed | 82.70 ± 1.70 | 78.90 ± 1.30 |",
        "|  | ours: finetune, honest | 90.00 ± 0.00 | 90.00 ± 0.00 |",
        "| WL | printed | 80.01 ± 0.50 | 79.78 ± 0.36 |",
        "| GraphCL | printed | 77.87 ± 0.41 | 78.62 ± 0.40 |",
        "|  | ours: svm, honest | 75.00 ± 0.00 | 75.00 ± 0.00 |",
        "| nmrGCL | printed | **81.04 ± 1.85** | **80.61 ± 1.25** |",
        "|  | ours: svm, honest | **80.00 ± 0.00** | **80.00 ± 0.00** |",
        "|  | ours: svm, by evaluated folds | **82.00 ± 0.00** | **82.00 ± 0.00** |",
        "| nmrGCL | **+2.00 (+2.00 … +2.00)** | **+2.00 (+2.00 … +2.00)** | **+2.00 (+2.00 … +2.00)** |",
        "| nmrGCL | **−1.04 (−1.04 … −1.04)** | **−0.61 (−0.61 … −0.61)** |",
        "| nmrGCL | **+5.00 (p < 0.001)** | **+5.00 (p < 0.001)** |",
        "| nmrGCL | 2.0 + 1.0 | 2.0 + 1.0 |",
        "| nmrGCL | 1.00 |",
    ):
        assert line in lines
    assert "nmrgcl reproduce table1 --only NCI1 --only DD --seeds 2 --row nmrGCL" in text
    assert "quick" not in text.lower()


def test_missing_cells_are_dashes_and_fewer_trials_are_reported(tmp_path: Path) -> None:
    made = written(tmp_path, slice(0, 9))
    text = made.page.with_suffix(".md").read_text(encoding="utf-8")
    assert "| nmrGCL | printed | **81.04 ± 1.85** | **80.61 ± 1.25** |" in text
    assert "|  | ours: svm, by evaluated folds | **77.00 ± 0.00** | – |" in text
    assert f"9 of 28 cells, {made.missing} missing" in text
    partial = written(tmp_path, slice(1, None)).page.with_suffix(".md").read_text(encoding="utf-8")
    assert "|  | ours: finetune, honest | 90.00, n = 1 | 90.00 ± 0.00 |" in partial


def test_latex_has_a_table_for_each_part(tmp_path: Path) -> None:
    text = written(tmp_path).page.with_suffix(".tex").read_text(encoding="utf-8")
    assert r"& ours: svm, honest & \textbf{80.00 $\pm$ 0.00} & \textbf{80.00 $\pm$ 0.00} \\" in text
    assert r"WL & printed & 80.01 $\pm$ 0.50 & 79.78 $\pm$ 0.36 \\" in text
    assert text.count(r"\begin{table}") == text.count(r"\toprule") == text.count(r"\end{table}") == 6
    for key in ("results", "distance", "optimism", "pairs", "ranking", "times"):
        assert rf"\label{{tab:table1-{key}}}" in text
    assert not set("±−…–") & set(text)


def test_csv_has_one_line_per_figure(tmp_path: Path) -> None:
    with written(tmp_path).page.with_suffix(".csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = {(row["row"], row["dataset"], row["line"]): row for row in rows}
    assert len(found) == len(rows)
    ours = found["nmrGCL", "NCI1", "honest"]
    assert (ours["mean"], ours["std"], ours["n"], ours["best"], ours["quick"]) == ("80.0", "0.0", "2", "yes", "no")
    assert found["nmrGCL", "NCI1", "printed"]["n"] == ""
    added = found["GraphCL", "DD", "optimism"]
    assert (added["mean"], added["low"], added["high"]) == ("2.0", "2.0", "2.0")


def test_a_quick_version_is_marked_in_every_file(tmp_path: Path) -> None:
    made = written(tmp_path, quick=True)
    assert {path.name.split(".")[0] for path in tmp_path.iterdir()} == {"table1-quick"}
    assert {path.suffix for path in tmp_path.iterdir()} == {".html", ".json", ".svg", ".md", ".tex", ".csv"}
    page, text, tex = (made.page.with_suffix(s).read_text(encoding="utf-8") for s in (".html", ".md", ".tex"))
    assert "(quick version)</h1>" in page
    assert "Results (quick version)" in page
    assert "**Quick version" in text
    assert tex.count(r"\caption{QUICK VERSION") == tex.count(r"\caption{")
    assert "QUICK VERSION" in made.pictures[0].read_text(encoding="utf-8")
    assert all(",yes," in line for line in made.page.with_suffix(".csv").read_text().splitlines()[1:])


def test_the_page_needs_no_network_and_shows_every_part(tmp_path: Path) -> None:
    page = written(tmp_path).page.read_text(encoding="utf-8")
    for key in ("results", "distance", "optimism", "pairs", "ranking", "times", "claims", "again"):
        assert f'id="{key}"' in page
    assert "<strong>80.00 ± 0.00</strong>" in page
    assert "src=" not in page
    assert "<script" not in page


@pytest.mark.parametrize("name", ["table1", "table2", "table3"])
def test_without_results_a_table_shows_what_is_printed(name: str, tmp_path: Path) -> None:
    item = find_item(name)
    made = write_item(item, item.plan(), [], tmp_path)
    assert made.pictures == ()
    text = made.page.with_suffix(".md").read_text(encoding="utf-8")
    assert "| nmrGCL | printed |" in text
    assert "| ours:" not in text


def test_the_small_file_makes_the_same_again(tmp_path: Path) -> None:
    made = written(tmp_path / "a", slice(0, 20), quick=True, most_epochs=4)
    item = find_item("table1")
    again = write_item(item, *read_item_file(made.rows, item), tmp_path / "b")
    for first, second in zip([made.page, *made.texts, made.rows], [again.page, *again.texts, again.rows], strict=True):
        assert first.read_bytes() == second.read_bytes()
    kept = json.loads(made.rows.read_text())
    assert {"folds", "train_seconds", "judge_seconds", "selection"} <= set(kept["columns"]) | set(kept["same"])


@pytest.mark.parametrize(("word", "other"), [('"folds"', '"fold"'), ("2.0, 1.0", '"x", "y"')])
def test_a_damaged_file_is_reported_in_one_line(word: str, other: str, tmp_path: Path) -> None:
    item = find_item("table1")
    plan = item.plan(**ASKED)  # type: ignore[arg-type]
    rows = table_rows_of(item, plan, score)
    rows[0] = rows[0] | {"train_seconds": 3.0, "judge_seconds": 3.0}
    made = write_item(item, plan, rows, tmp_path)
    path = made.rows
    path.write_text(path.read_text().replace(word, other))
    with pytest.raises(DataError, match=r"table1\.json: damaged") as raised:
        read_item_file(path, item)
    assert "\n" not in str(raised.value)


def test_the_command_computes_the_same_plan_again() -> None:
    item = find_item("table1")
    plan = item.plan(rows=["nmrGCL, bi"], preset="graphcl", selection="paper", most_epochs=3, assignments=["delta=0.5"])
    words = "--preset graphcl --row 'nmrGCL, bi' --selection paper --most-epochs 3 --set delta=0.5"
    assert repeat_command(item, plan) == f"nmrgcl reproduce table1 {words}"
    quick = find_item("table2").plan(quick=True)
    assert quick.assignments == ("encoder.units=64", "alpha=0.2")
    assert repeat_command(find_item("table2"), quick) == "nmrgcl reproduce table2 --quick"


def test_every_item_is_on_one_index_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reproduce, "NAMES", ("table1", "table3", "figure1", "figure6"))
    item = find_item("table1")
    plan = item.plan(**ASKED)  # type: ignore[arg-type]
    write_item(item, plan, table_rows_of(item, plan, score), tmp_path / "results")
    folders = ["--results", str(tmp_path / "cells"), "--out", str(tmp_path / "site")]
    source = str(tmp_path / "results")
    out, _ = run(capsys, "reproduce", "all", "--render-only", "--from", source, *folders, "--json")
    found = json.loads(out)
    page = Path(found["index"]).read_text(encoding="utf-8")
    assert '<a href="table1.html">' in page
    assert '<a href="figure6.html">' in page
    assert '<a href="figure1.html">' not in page  # measured, and there is no file
    assert "28 of 28 cells" in page
    assert {item["item"] for item in found["items"]} == {"table1", "table3", "figure6"}


BAD_INPUT = {
    "a row of all": (["all", "--row", "GIN"], "--row"),
    "a file for all": (["all", "--render-only", "--from", "nowhere"], "folder"),
    "a row that is none": (["table1", "--row", "GNI", "--dry-run"], "GIN"),
    "searches that are not there": (["table1", "--row", "untrained", "--searches", "nowhere"], "no such folder"),
    "searches of a figure": (["figure5", "--searches", "nowhere", "--dry-run"], "no tuned row"),
    "a limit of all": (["all", "--limit", "3"], "--limit"),
    "graphs for a table of nodes": (["table2", "--only", "MUTAG", "--dry-run"], "embeds nodes"),
    "nodes for a figure of graphs": (["figure8", "--only", "PubMed", "--dry-run"], "embeds graphs"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_one_line_and_exit_code_2(case: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments, word = BAD_INPUT[case]
    out, err = run(capsys, "reproduce", *arguments, "--out", str(tmp_path / "out"), code=2)
    assert out == ""
    assert err.startswith("nmrgcl: ")
    assert err.count("\n") == 1
    assert word in err
    assert list(tmp_path.iterdir()) == []
