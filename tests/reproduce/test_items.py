"""Items as data, their pictures with gaps, and the small file that draws them again."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import ttest_1samp

from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.data.loading import load
from nmrgcl.errors import DataError, SettingError
from nmrgcl.methods import method_names
from nmrgcl.reproduce import NAMES, find_item
from nmrgcl.reproduce.drawing import mean_and_deviation, trials
from nmrgcl.reproduce.item import FigureItem, MeasuredItem
from nmrgcl.reproduce.item_file import as_text, read_item_file
from nmrgcl.reproduce.item_page import repeat_command, write_item
from nmrgcl.reproduce.patterns import train_pattern
from nmrgcl.reproduce.plan import Plan
from nmrgcl.reproduce.scores import Row, Scores
from nmrgcl.reproduce.tables.sheet import load_sheet
from nmrgcl.reproduce.tables.table import TableItem
from nmrgcl.reproduce.tuning import SearchItem
from nmrgcl.settings.check import flatten
from tests.reproduce.planted import planted, rows_of
from tests.test_cli import write_tu

CELLS = {"figure5": (240, 54), "figure6": (240, 72), "figure7": (540, 108), "figure8": (1960, 147), "rank": (1125, 50)}
ROOT = Path(__file__).parents[2]
MEASURED = ("figure1", "figure3", "theory")
SEARCHES = {"tuning": (1080, 86)}
TABLES = {"table1": (1840, 184), "table2": (630, 56), "table3": (64, 5)}
PRETRAINED = [row for row in load_sheet("table3").rows if row.pretrained_on and row.method in method_names()]


def middling(*at: object) -> float:
    return 70.0


def half_of(rows: list[Row]) -> list[Row]:
    """Without every third combination, and without some seeds of others."""
    return [row for number, row in enumerate(rows) if number % 15 > 4 and number % 7]


def test_every_item_is_of_one_kind() -> None:
    assert set(NAMES) == set(CELLS) | set(MEASURED) | set(TABLES) | set(SEARCHES)
    for name in NAMES:
        item = find_item(name)
        assert item.name == name
        kinds = {FigureItem: CELLS, MeasuredItem: MEASURED, TableItem: TABLES, SearchItem: SEARCHES}
        assert [isinstance(item, kind) for kind in kinds] == [name in names for names in kinds.values()]
        assert item.claims


@pytest.mark.parametrize("name", [*CELLS, *TABLES, *SEARCHES])
def test_an_item_asks_for_so_many_cells_each_once(name: str) -> None:
    item = find_item(name)
    for quick, count in zip((False, True), (CELLS | TABLES | SEARCHES)[name], strict=True):
        plan = item.plan(quick=quick)
        keys = {placed.cell.key for placed in item.cells(plan)}
        tuned = [placed for placed in item.cells(plan) if placed.at[0] == "nmrGCL, tuned"]
        # Rows that come with every search and method; the others are as many as the paper has.
        more = len(tuned) + (len(PRETRAINED) * 4 * 10 if name == "table3" and not quick else 0)
        assert len(keys) == len(item.cells(plan)) == count + more


@pytest.mark.parametrize(
    ("name", "varied"),
    [
        ("figure5", {"options.removal"}),
        ("figure6", {"options.delta", "method", "train.epochs"}),
        ("figure7", {"views.first", "views.second"}),
        ("figure8", {"views.first", "views.second"}),
        ("rank", {"views.first", "views.second", "options.removal", "options.delta", "method", "train.epochs"}),
    ],
)
def test_cells_differ_in_what_the_item_varies_alone(name: str, varied: set[str]) -> None:
    item = find_item(name)
    seen: dict[str, set[str]] = {}
    for placed in item.cells(item.plan(quick=True, only=["motifs"], seeds=1)):
        for key, value in flatten(placed.cell.settings.to_dict()):
            seen.setdefault(key, set()).add(json.dumps(value))
    assert {key for key, values in seen.items() if len(values) > 1} == varied


def test_figure8_has_the_paper_s_pairs_in_both_orders() -> None:
    item = find_item("figure8")
    cells = {placed.at: placed.cell.settings for placed in item.cells(item.plan(only=["motifs"], seeds=1))}
    views = cells["NodeDrop", "Subgraph"].views
    assert views.first == ({"name": "NodeDrop", "p": 0.7},)
    assert views.second == ({"name": "Subgraph", "p": 0.7},)
    assert cells["Subgraph", "NodeDrop"].views.first == views.second


def test_scores_leave_gaps_and_pass_over_what_is_not_asked_for() -> None:
    item = find_item("figure6")
    plan = item.plan(only=["motifs"], seeds=2)
    rows = rows_of(item, plan, lambda d, at: 50.0, noise=0)
    scores = item.scores(plan, [*rows[:3], rows[0] | {"seed": 7}, rows[0] | {"dataset": "MUTAG"}])
    assert scores.of(0.0).tolist() == [[50.0, 50.0]]
    assert scores.of(0.1)[0, 0] == 50.0
    assert np.isnan(scores.of(0.1)[0, 1])
    assert np.isnan(scores.of(0.75)).all()
    assert scores.missing == 24 - 3


def test_means_are_of_the_seeds_that_are_there() -> None:
    mean, deviation = mean_and_deviation(np.array([[1.0, 3.0, np.nan], [4.0, np.nan, np.nan], [np.nan] * 3]))
    assert mean[:2].tolist() == [2.0, 4.0]
    assert deviation[:2] == pytest.approx([2**0.5, 0.0])
    assert np.isnan(mean[2])
    assert trials(np.array([[1.0, 3.0], [4.0, np.nan], [np.nan, np.nan]])) == "n = 1–2, 1 missing"


@pytest.mark.parametrize(
    ("name", "part"), [*((name, part) for name in CELLS for part in ("all", "half")), ("figure8", "nothing")]
)
def test_an_item_is_drawn_with_what_there_is(name: str, part: str, tmp_path: Path) -> None:
    item = find_item(name)
    plan = item.plan(only=["NCI1"], seeds=2)
    rows = rows_of(item, plan, middling)
    rows = {"all": rows, "half": half_of(rows), "nothing": []}[part]
    made = write_item(item, plan, rows, tmp_path)
    drawn = made.pictures[0].read_text(encoding="utf-8")
    ET.fromstring(drawn)
    assert ("not computed" in drawn) == (part != "all")
    assert "accuracy in %" in drawn.lower()
    assert ("n = 2" in drawn) == (part == "all")
    page = made.page.read_text(encoding="utf-8")
    assert item.title in page
    assert f"{len(rows)} of {item.scores(plan, rows).cells} cells" in page
    assert all(verdict.claim in page.replace("&#39;", "'") for verdict in made.verdicts)
    assert "src=" not in page
    assert "<script" not in page


def test_a_quick_version_says_so_everywhere(tmp_path: Path) -> None:
    item = find_item("figure6")
    plan = item.plan(quick=True)
    made = write_item(item, plan, rows_of(item, plan, middling), tmp_path)
    assert {path.stem for path in tmp_path.iterdir()} == {"figure6-quick"}
    assert "QUICK VERSION" in made.pictures[0].read_text(encoding="utf-8")
    assert "(quick version)</h1>" in made.page.read_text(encoding="utf-8")
    assert json.loads(made.rows.read_text())["plan"]["quick"] is True


@pytest.mark.parametrize("name", ["figure5", "figure7"])
def test_the_small_file_draws_the_same_again(name: str, tmp_path: Path) -> None:
    item = find_item(name)
    plan = item.plan(only=["motifs"], seeds=2, assignments=["epochs=3"])
    first = write_item(item, plan, half_of(rows_of(item, plan, middling)), tmp_path / "a")
    again = write_item(item, *read_item_file(first.rows, item), tmp_path / "b")
    assert again.page.read_bytes() == first.page.read_bytes()
    assert again.rows.read_bytes() == first.rows.read_bytes()
    assert again.pictures[0].read_bytes() == first.pictures[0].read_bytes()


def test_the_small_file_is_small_and_has_one_row_per_line(tmp_path: Path) -> None:
    item = find_item("figure8")
    plan = item.plan()
    (tmp_path / "f.json").write_text(as_text(plan, rows_of(item, plan, middling), []))
    text = (tmp_path / "f.json").read_text()
    assert len(text) < 200_000
    assert len(text.splitlines()) == 1960 + 10


def damaged(text: str) -> dict[str, str]:
    return {
        "not JSON": text[:-20],
        "another kind": '{"format": "other"}',
        "a list": "[]",
        "another item": text.replace('"figure6"', '"figure8"'),
        "a score above 100": text.replace("70.0", "700.0"),
        "a score that is text": text.replace("70.0", '"70"'),
        "a short row": text.replace(", 70.0", ""),
        "no plan": text.replace('"plan"', '"plans"'),
    }


@pytest.mark.parametrize("case", damaged(""))
def test_a_damaged_file_is_reported_in_one_line(case: str, tmp_path: Path) -> None:
    item = find_item("figure6")
    plan = item.plan(only=["motifs"], seeds=1)
    path = tmp_path / "figure6.json"
    path.write_text(as_text(plan, rows_of(item, plan, middling, noise=0), []))
    # All scores are alike and stand in the head; a row of its own brings them into the rows.
    rows = [row | {"score": 70.0 if number else 71.0} for number, row in enumerate(rows_of(item, plan, middling, 0))]
    path.write_text(as_text(plan, rows, []))
    path.write_text(damaged(path.read_text())[case])
    with pytest.raises(DataError, match=r"figure6\.json: ") as raised:
        read_item_file(path, item)
    assert "\n" not in str(raised.value)
    with pytest.raises(DataError, match="no such file; compute it with"):
        read_item_file(tmp_path / "nowhere.json", item)


def test_the_command_computes_the_same_plan_again() -> None:
    item = find_item("figure7")
    assert repeat_command(item, item.plan()) == "nmrgcl reproduce figure7"
    plan = item.plan(quick=True, only=["motifs"], seeds=4, assignments=["epochs=2"])
    assert repeat_command(item, plan) == "nmrgcl reproduce figure7 --quick --only motifs --seeds 4 --set epochs=2"
    assert Plan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


def test_what_cannot_be_planned_is_reported() -> None:
    with pytest.raises(SettingError, match="figure8"):
        find_item("figure9")
    with pytest.raises(SettingError, match="--protocol linear"):
        find_item("figure8").plan(protocol="linear")


def test_figure3_measures_that_views_of_a_graph_are_alike(tmp_path: Path) -> None:
    item = find_item("figure3")
    plan = item.plan(only=["motifs"], seeds=2)
    assert isinstance(item, MeasuredItem)
    rows = list(item.measure(plan, torch.device("cpu")))
    assert [row["seed"] for row in rows] == [0, 1]
    assert all(row["cosine"] > row["cosine_unlike"] for row in rows)
    assert np.shape(rows[0]["first"]) == np.shape(rows[0]["second"]) == (24, 64)
    made = write_item(item, plan, rows, tmp_path)
    assert [verdict.outcome for verdict in made.verdicts].count("no data") == 0
    again = write_item(item, *read_item_file(made.rows, item), tmp_path / "b")
    assert again.page.read_bytes() == made.page.read_bytes()


def test_figure1_shows_the_planted_patterns_and_trains_its_own(tmp_path: Path) -> None:
    item = find_item("figure1")
    mine = str(write_tu(tmp_path / "MINE"))
    plan = item.plan(only=[mine], seeds=2, assignments=["epochs=1", "encoder.units=4"])
    assert isinstance(item, MeasuredItem)
    rows = list(item.measure(plan, torch.device("cpu")))
    kinds = [(row["name"], row["kind"]) for row in rows if row["source"] == "planted"]
    assert kinds == [("complete", "complete"), ("dimensional", "dimensional"), ("none", "none")]
    trained = [row for row in rows if row["source"] == "trained"]
    assert [(row["name"], row["seed"]) for row in trained[:3]] == [
        ("alignment alone", 0),
        ("alignment alone", 1),
        ("contrastive", 0),
    ]
    untrained = [row for row in trained if row["name"] == "untrained"]
    assert [row["seed"] for row in untrained] == [0, 1]
    made = write_item(item, plan, rows, tmp_path)
    again = write_item(item, *read_item_file(made.rows, item), tmp_path / "b")
    assert again.pictures[0].read_bytes() == made.pictures[0].read_bytes()
    broken = replace(plan, item="figure1")
    (tmp_path / "broken.json").write_text(as_text(broken, [{"nothing": 1}], []))
    with pytest.raises(DataError, match="damaged"):
        read_item_file(tmp_path / "broken.json", item)


def test_without_stages_the_encoder_is_as_it_is_initialised() -> None:
    mutag = load("MUTAG")
    graphs = apply_features(mutag, choose_features(mutag))
    short = ["train.epochs=1"]
    first, second = (train_pattern(graphs, name, 0, stages=())[1] for name in ("contrastive", "nmrGCL"))
    torch.testing.assert_close(first, second, rtol=0, atol=0)
    assert not torch.allclose(first, train_pattern(graphs, "contrastive", 0, short, stages=[1e-2])[1])


def figure1_scores(gains: dict[str, float], untrained: str) -> Scores:
    """Effective ranks of three seeds that removal raises by ``gains``; ``untrained`` is the verdict on that encoder."""
    item, rows = find_item("figure1"), []
    for dataset, gain in gains.items():
        for seed in range(3):
            for name, rank in (("contrastive", 10.0), ("nmrGCL", 10.0 + gain), ("untrained", 8.0)):
                kind = untrained if name == "untrained" else "dimensional"
                facts = {"source": "trained", "name": name, "dataset": dataset, "seed": seed}
                rows.append(facts | {"embedding_kind": kind, "embedding_rank": rank + 0.01 * seed})
    return item.scores(item.plan(only=list(gains), seeds=3), rows)


def test_figure1_counts_each_dataset_once_however_many_seeds_it_has() -> None:
    judge = find_item("figure1").judge
    mixed = judge(figure1_scores({"PTC_MR": 3.0, "PROTEINS": 2.0, "NCI1": -0.5}, "none"))[1]
    oracle = ttest_1samp([3.0, 2.0, -0.5], 0)  # seeds are alike, so that nine pairs would have p < 0.001
    assert (mixed.numbers["n"], mixed.outcome) == (3, "inconclusive")
    assert mixed.numbers["p"] == pytest.approx(oracle.pvalue)
    assert mixed.numbers["low"] == pytest.approx(oracle.confidence_interval().low)
    assert "n = 3 datasets)" in mixed.sentence


def test_collapse_of_the_untrained_encoder_is_not_blamed_on_training() -> None:
    judge, gains = find_item("figure1").judge, {"PTC_MR": 1.0, "PROTEINS": 1.0, "NCI1": 1.0}
    assert judge(figure1_scores(gains, "dimensional"))[0].outcome == "confirmed, also untrained"
    assert judge(figure1_scores(gains, "none"))[0].outcome == "confirmed"


def test_theory_has_a_verdict_for_each_statement(tmp_path: Path) -> None:
    item = find_item("theory")
    kept = json.loads((Path(__file__).parents[2] / "results" / "collapse" / "theory.json").read_text())["claims"]
    made = write_item(item, item.plan(), kept, tmp_path)
    outcomes = {True: "confirmed", False: "not confirmed", None: "inconclusive"}
    assert [verdict.outcome for verdict in made.verdicts] == [outcomes[claim["holds"]] for claim in kept]
    assert {claim["holds"] for claim in kept} == {True, False, None}
    again = write_item(item, *read_item_file(made.rows, item), tmp_path / "b")
    assert again.page.read_bytes() == made.page.read_bytes()
    assert "measured" in made.verdicts[0].sentence


def test_planted_scores_are_where_they_belong() -> None:
    scores = planted(find_item("figure5"), lambda d, kind: float(len(d) + len(kind)), noise=0, only=["motifs"], seeds=1)
    assert scores.of("learned").tolist() == [[13.0]]


@pytest.mark.parametrize("name", ["table1", "table2", "figure5", "figure6", "figure7", "figure8"])
def test_every_keyed_row_of_the_stored_results_is_found(name: str) -> None:
    values = json.loads((ROOT / "results" / f"{name}.json").read_text())
    column = values["columns"].index("key")
    keys = {row[column] for row in values["rows"] if row[column]}
    assert keys
    assert keys <= {placed.cell.key for placed in find_item(name).cells(Plan.from_dict(values["plan"]))}
