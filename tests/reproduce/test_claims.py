"""All claims on one page: each with its verdict and what would change it; scores by fold as CSV."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from nmrgcl import reproduce
from nmrgcl.reproduce import find_item
from nmrgcl.reproduce.claims import SCORES_HEAD, claims_as_markdown, write_claims
from nmrgcl.reproduce.compute import Computing
from nmrgcl.reproduce.item_file import as_text
from nmrgcl.reproduce.request import Request, judge_all
from nmrgcl.reproduce.statistics import Comparison
from nmrgcl.reproduce.verdict import greater, no_data, similar
from tests.reproduce.planted import rows_of
from tests.reproduce.planted_tables import FOLDS, table_rows_of
from tests.test_cli import run


def found(mean: float, margin: float, n: int) -> Comparison:
    """An interval of ``mean`` ± ``margin`` from ``n`` pairs."""
    return Comparison(mean, mean - margin, mean + margin, 0.01 if abs(mean) > margin else 0.5, n, 2)


def test_what_would_change_a_verdict_is_the_other_side_of_its_rule() -> None:
    confirmed, refuted = (greater("", found(mean, 0.5, 10), "") for mean in (2.0, -2.0))
    assert confirmed.rule == refuted.rule
    assert confirmed.rule is not None
    assert confirmed.would_change == confirmed.rule.refutes != confirmed.rule.confirms == refuted.would_change
    assert no_data("", "").would_change == "scores, of which there are none yet"


def test_an_open_claim_says_how_many_pairs_would_decide_it() -> None:
    # 0.5 ± 0.9 of 10 pairs: ± 0.5 would decide, from 0 to 1, which takes (0.9 / 0.5)² = 3.24 times as many.
    words = greater("", found(0.5, 0.9, 10), "").would_change
    count = int(words.split("about ")[1].split()[0])
    assert 32 <= count <= 36
    assert greater("", found(0.5, 0.9 * (10 / count) ** 0.5, count), "").outcome != "inconclusive"
    assert (
        "about" not in similar("", replace(found(0.0, 2.0, 10), low=float("-inf"), high=float("inf")), "").would_change
    )


NAMES = ("table1", "figure5", "figure6", "theory")


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with planted results of Table 1 and Figure 5; of two other items there are none."""
    monkeypatch.setattr(reproduce, "NAMES", NAMES)
    folder = tmp_path / "results"
    folder.mkdir()
    for name, plant in (("table1", table_rows_of), ("figure5", rows_of)):
        item = find_item(name)
        plan = item.plan(only=["PTC_MR", "DD"], seeds=2)
        text = as_text(plan, plant(item, plan, lambda *at: 70.0), [])
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return folder


def test_every_claim_is_on_the_page_with_its_scores_beside(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, results: Path
) -> None:
    out = tmp_path / "out"
    text, _ = run(
        capsys, "reproduce", "claims", "--from", str(results), "--results", "none", "--out", str(out), "--json"
    )
    facts = json.loads(text)
    assert [one["item"] for one in facts["items"]] == list(NAMES)
    page = Path(facts["page"]).read_text(encoding="utf-8")
    for name in NAMES:
        assert f"nmrgcl reproduce {name}" in page
    outcomes = {one["item"]: {v["outcome"] for v in one["verdicts"]} for one in facts["items"]}
    assert outcomes["figure6"] == {"no data"}
    assert outcomes["theory"] == set()
    assert "confirmed" in outcomes["figure5"]
    for verdict in (v for one in facts["items"] for v in one["verdicts"]):
        assert verdict["claim"] in page.replace("&#39;", "'")
        assert verdict["would_change"] != "another measurement"
    with Path(facts["scores"]).open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == list(SCORES_HEAD)
    row = find_item("table1").plan(only=["PTC_MR", "DD"], seeds=2)
    kept = {name: [line for line in lines if line["item"] == name] for name in ("table1", "figure5")}
    assert len(kept["table1"]) == FOLDS * len(find_item("table1").cells(row))
    assert {line["fold"] for line in kept["table1"]} == set(map(str, range(FOLDS)))
    assert {line["fold"] for line in kept["figure5"]} == {""}
    assert (out / "claims.html").exists()
    assert not (out / "figure5.html").exists()


def test_pages_of_items_are_linked_where_they_exist_and_foreign_files_are_kept(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, results: Path
) -> None:
    made = judge_all(Request(Computing(tmp_path / "none"), tmp_path, source=results))
    assert "figure5.html" not in write_claims(made, tmp_path).read_text(encoding="utf-8")
    (tmp_path / "figure5.html").write_text("")
    assert 'href="figure5.html"' in write_claims(made, tmp_path).read_text(encoding="utf-8")
    assert "| claim | verdict | statistics | what would change it |" in claims_as_markdown(made)
    (tmp_path / "claims.csv").write_text("mine")
    ways = ["--from", str(results), "--results", str(tmp_path / "none"), "--out", str(tmp_path)]
    _, err = run(capsys, "reproduce", "claims", *ways, code=2)
    assert "claims.csv: was not written by nmrgcl" in err
    assert (tmp_path / "claims.csv").read_text() == "mine"
