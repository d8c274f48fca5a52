"""Every figure in the README is one that a command printed into ``results/`` or ``benchmarks/results/``."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from docs.draw_removal import interval_text, mean_difference, rank_differences, removal_picture
from docs.render_readme import BLOCK, PAGES, rendered

from nmrgcl.errors import DataError
from nmrgcl.reproduce import find_item
from nmrgcl.reproduce.item_file import as_text
from tests.reproduce.planted_tables import table_rows_of

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
ACCURACY = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8").splitlines()
PERFORMANCE = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8").splitlines()
CORE = sorted((ROOT / "results" / "core").glob("*.json"))


@pytest.mark.parametrize("file", CORE, ids=lambda p: p.stem)
def test_accuracies_are_those_of_the_result_files(file: Path) -> None:
    found = json.loads(file.read_text())
    row = next(
        line for line in ACCURACY if line.startswith(f"| {found['dataset']} |") and f"`{found['preset']}`" in line
    )
    for scores in (found, found["untrained"]):
        assert f"{scores['mean']:.2f} ± {scores['std']:.2f}" in row


def test_every_row_of_accuracies_has_a_result_file() -> None:
    first, last = (ACCURACY.index(f"<!-- {mark} core -->") for mark in ("make readme:", "end of"))
    assert sum(" ± " in line and line.startswith("| ") for line in ACCURACY[first:last]) == len(CORE) > 0
    assert not any(" ± " in line and line.startswith("| ") for line in ACCURACY[:first])


def test_the_tables_of_results_are_what_make_readme_writes() -> None:
    blocks = []
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert rendered(text, ROOT / "results") == text, "run make readme"
        blocks += [name for _, name, *_ in BLOCK.findall(text)]
    nodes = ["table2 random-10-10-80", "table2 public"]
    graphs = ["collapse", "rank", "figures", "criteria", "criteria small", "tuning", "tuned", "table3", "claims"]
    assert blocks == ["headline", "core", "table1", "table2", *nodes, *graphs]


def test_the_picture_is_drawn_from_the_results() -> None:
    drawn = (ROOT / "docs" / "removal.svg").read_text(encoding="utf-8")
    folder = ROOT / "results" / "collapse"
    assert f"<desc>{removal_picture(folder).description}</desc>" in drawn, "run make readme"  # fonts draw other strokes
    ranks = rank_differences(folder)
    higher = sum(one["difference"] > 0 for one in ranks.values())
    text = " ".join(README)
    assert f"higher on {higher} of {len(ranks)} datasets" in text
    assert interval_text(mean_difference(ranks)) in text
    verdicts = json.loads((ROOT / "results" / "rank.json").read_text(encoding="utf-8"))["verdicts"]
    rank, accuracy = (one["sentence"] for one in verdicts if one["claim"].startswith("removal raises"))
    assert "+1.39 dimensions" in rank, "README says 1.4"
    assert "+0.03 points" in text
    assert "+0.03 points" in accuracy
    assert "(−0.21 … +0.27)" in text
    assert "−0.21 … +0.27" in accuracy


def test_a_table_of_the_paper_stands_beside_what_it_prints(tmp_path: Path) -> None:
    item = find_item("table1")
    plan = item.plan(rows=["nmrGCL", "GraphCL", "untrained"], only=["NCI1", "DD"], seeds=2)
    rows = table_rows_of(item, plan, lambda data, row, line: 80.0 if row == "nmrGCL" else 75.0, noise=0)
    (tmp_path / "table1.json").write_text(as_text(plan, rows, []))
    text = rendered("<!-- make readme: table1 -->\nstood here before\n<!-- end of table1 -->\n", tmp_path)
    assert "| nmrGCL | **80.00 ± 0.00 (81.04)** | **80.00 ± 0.00 (80.61)** |" in text
    assert "| untrained | 75.00 ± 0.00 | 75.00 ± 0.00 |" in text
    assert "- **confirmed**: DD: nmrGCL surpasses GraphCL" in text
    assert "stood here before" not in text
    assert rendered(text, tmp_path) == text
    (tmp_path / "table1.json").write_text(as_text(replace(plan, quick=True), rows, []))
    with pytest.raises(DataError, match="a quick version"):
        rendered(text, tmp_path)


def test_another_split_stands_beside_what_other_papers_print_for_it(tmp_path: Path) -> None:
    item = find_item("table2")
    plan = item.plan(rows=["nmrGCL", "CCA-SSG"], only=["PubMed", "Amazon-Photo"], seeds=2)
    rows = table_rows_of(item, plan, lambda data, row, line: {"public": 70.0}.get(line, 80.0), noise=0)
    (tmp_path / "table2.json").write_text(as_text(plan, rows, []))
    text = rendered("<!-- make readme: table2 public -->\n<!-- end of table2 public -->\n", tmp_path)
    assert "| row | PubMed |\n" in text  # the other dataset has no such split
    assert "| CCA-SSG | **70.00 ± 0.00 (81.60)** |" in text
    assert "confirmed" not in text


def test_speed_is_that_of_the_benchmark_file() -> None:
    rows = json.loads((ROOT / "benchmarks" / "results" / "epoch.json").read_text())["rows"]
    for row in rows:
        cells = [f"{row['seconds'][k]:.3f} s ({row['ratio to floor'][k]:.2f}×)" for k in row["seconds"] if k != "floor"]
        expected = f"| {row['dataset']} | {row['seconds']['floor']:.3f} s | {' | '.join(cells)} |"
        assert expected in PERFORMANCE


def test_speed_on_a_gpu_is_that_of_the_benchmark_file() -> None:
    rows = json.loads((ROOT / "benchmarks" / "results" / "h200.json").read_text())["rows"]
    values = {row["name"]: row["value"] for row in rows}
    lines = [line.strip("| ").split(" | ") for line in PERFORMANCE if line.endswith(" s |") and " ms | " in line]
    assert len(lines) >= 5
    for dataset, views, batch, precision, step, per_second, epochs in lines:
        title = f"{dataset}, {views}, batch {batch.replace(',', '')}, {precision}"
        assert step == f"{values[f'{title}: a step']:.3f} ms"
        assert per_second == f"{1e6 / values[f'{title}: a graph']:,.0f}"
        assert epochs == f"{values[f'{title}: 20 epochs']:.3f} s"


def test_a_step_on_nodes_is_that_of_the_benchmark_file() -> None:
    rows = json.loads((ROOT / "benchmarks" / "results" / "h200_node_step.json").read_text())["rows"]
    text = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    for form in ("streamed", "plain"):
        cells = [f"{r['seconds'] * 1000:.1f} ms, {r['peak_gb']:.2f} GB" for r in rows if r["form"] == form]
        assert f"| {form} | {' | '.join(cells)} |" in text


def test_large_models_and_losses_on_a_gpu_are_those_of_the_benchmark_files() -> None:
    results, text = ROOT / "benchmarks" / "results", "\n".join(PERFORMANCE)
    rows = [
        row for name in ("scale", "loss") for row in json.loads((results / f"h200_{name}.json").read_text())["rows"]
    ]
    found = {row["name"]: row for row in rows}
    step = found["5 × 300 molecular GIN, batch 1,024, bf16: step, to floor"]
    epoch = found["2,000,000 graphs, chunks: epoch, to resident"]
    time, memory = (found[f"N = 8192, D = 512: {what}, to plain"] for what in ("time", "memory"))
    for figure in (
        f"{step['value']:.2f} ms",
        f"{1 / step['ratio']:.2f} times",
        f"{epoch['value']:.2f} s",
        f"{found['2,000,000 graphs, chunks: memory of the device']['value'] / 1e3:.2f} GB",
        f"{time['ratio']:.2f}",
        f"{100 / memory['ratio']:.1f} %",
    ):
        assert figure in text


def test_the_three_lines_on_speed_are_those_of_the_benchmark_files() -> None:
    results, text = ROOT / "benchmarks" / "results", "\n".join(README)
    ratio = next(r for r in json.loads((results / "epoch.json").read_text())["rows"] if r["dataset"] == "NCI1")
    ratio = ratio["ratio to floor"]
    assert f"takes {ratio['three views']:.2f} times as long as bare encoder passes" in text
    assert f"{ratio['PyG by batch, three views']:.2f} times where views are made batch by batch" in text
    assert f"{ratio['PyG by graph, three views']:.2f} times graph by graph" in text
    graph = {row["name"]: row for row in json.loads((results / "h200.json").read_text())["rows"]}
    per_second = 1e6 / graph["NCI1, three views, batch 128, float32: a graph"]["value"]
    assert f"{per_second:,.0f} graphs per second on NCI1" in text
    rows = {row["name"]: row for row in json.loads((results / "h200_scale.json").read_text())["rows"]}
    assert f"2,000,000 molecules takes {rows['2,000,000 graphs, chunks: epoch, to resident']['value']:.2f} s" in text


def test_accuracy_by_precision_is_that_of_the_result_files() -> None:
    guide = (ROOT / "docs" / "performance.md").read_text()
    files = list((ROOT / "results" / "precision").glob("*.json"))
    assert len(files) >= 4
    for file in files:
        found = json.loads(file.read_text())
        _, units, precision = file.stem.split("-")
        row = next(line for line in guide.splitlines() if line.startswith(f"| 3 × {units} | "))
        place = ["float32", "tf32", "bf16"].index(precision)
        assert row.strip("| ").split(" | ")[1 + place] == f"{found['mean']:.2f} ± {found['std']:.2f}"


def test_the_figures_of_reliability_are_those_of_the_last_run() -> None:
    rows = json.loads((ROOT / "benchmarks" / "results" / "faults.json").read_text())
    text = (ROOT / "docs" / "reliability.md").read_text()
    for row in rows.values():
        if "promise" in row:
            assert f"| {row['promise']} | {row['tried']:,} | {row['survived']:,} | {row['seconds']:.1f} |" in text


def test_the_figures_on_collapse_are_those_of_the_result_files() -> None:
    text = (ROOT / "docs" / "collapse.md").read_text()
    folder = ROOT / "results" / "collapse"
    calibration = json.loads((folder / "calibration.json").read_text())
    for case in calibration["cases"]:
        assert f"| {case['kind']} | {case['case']} | {case['planted']:,} | {case['right']:,} |" in text
    assert f"dimensional {100 * calibration['right']['dimensional']:.2f} %" in text
    for claim in json.loads((folder / "theory.json").read_text())["claims"]:
        name = claim["claim"].replace("|", "\\|")
        kind = {True: "holds", False: "fails", None: "open"}[claim["holds"]]
        assert f"| {kind} | {name} | {claim['predicted']:.4g} | {claim['measured']:.4g} |" in text


def test_how_the_judges_agree_is_what_the_benchmark_printed() -> None:
    text = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    found = json.loads((ROOT / "benchmarks/results/judges.json").read_text())["datasets"]

    def row(cells: list[str]) -> str:
        return f"| {' | '.join(cells)} |"

    for name in ("tau", "rho"):
        values = [one["same_folds"][name] for one in found]
        assert row([f"{v['value']:.2f} ({v['low']:.2f} … {v['high']:.2f})" for v in values]) in text
    for number in (1, 2):
        values = [one["ordered_alike"][number] for one in found]
        assert row([f"{100 * v['share']:.0f} % of {v['pairs']}" for v in values]) in text
    assert row([f"{one['again']['tau']['value']:.2f}" for one in found]) in text
    others = [[half["tau"]["value"] for half in one["other_folds"]] for one in found]
    assert row([f"{first:.2f}, {second:.2f}" for first, second in others]) in text
    assert row([f"{one['mean_difference']:+.2f} points" for one in found]) in text
    assert row([f"{one['times_faster']:.1f}" for one in found]) in text


def test_what_tracking_costs_is_what_the_benchmark_printed() -> None:
    text = (ROOT / "docs" / "collapse.md").read_text()
    rows = json.loads((ROOT / "benchmarks" / "results" / "tracking.json").read_text())["rows"]
    cost = {(row["dataset"], row["preset"]): row["percent"] for row in rows}
    for dataset in sorted({row["dataset"] for row in rows}):
        assert f"{dataset} {cost[dataset, 'graphcl']} and {cost[dataset, 'strong']} %" in text
