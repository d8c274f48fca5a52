"""``nmrgcl reproduce`` as a command."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_cli import run, write_tu

TINY = ["--set", "epochs=1", "--set", "encoder.units=2", "--set", "folds=2", "--set", "svm.c=default"]


def tiny(tmp_path: Path, *more: str) -> list[str]:
    """Figure 5 on thirty graphs of three nodes."""
    mine = tmp_path / "MINE"
    if not mine.exists():
        write_tu(mine)
    folders = ["--results", str(tmp_path / "cells"), "--out", str(tmp_path / "out")]
    asked = ["--quick", "--only", str(mine), "--seeds", "1", "--jobs", "1"]
    return ["reproduce", "figure5", *asked, *TINY, *folders, *more]


def test_without_an_item_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "reproduce", "--json")
    items = {item["item"]: item for item in json.loads(out)["items"]}
    assert {"table1", "table2", "table3", "figure1", "figure3", "figure5", "figure6", "figure7", "figure8"} <= set(
        items
    )
    assert all(item["claims"] and item["cost"] for item in items.values())
    out, _ = run(capsys, "reproduce")
    assert "figure8" in out


def test_an_item_is_computed_once_then_drawn(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, _ = run(capsys, *tiny(tmp_path, "--dry-run", "--json"))
    outlook = json.loads(out)
    assert (outlook["cells"], outlook["finished"]) == (6, 0)
    assert outlook["seconds"] > 0
    assert not (tmp_path / "cells").exists()
    assert not (tmp_path / "out").exists()

    out, err = run(capsys, *tiny(tmp_path, "--json"))
    made = json.loads(out)
    assert "figure5-quick: 6 cells, 0 finished, 6 missing; about" in err
    assert "besides" not in err  # judging is part of the estimate
    assert (made["missing"], made["quick"], len(made["verdicts"])) == (0, True, 7)
    rows = Path(made["rows"])
    assert rows == tmp_path / "out" / "figure5-quick.json"
    kept = json.loads(rows.read_text())
    assert {"protocol": "svm", "selection": "honest", "device": "cpu"}.items() <= kept["same"].items()
    assert len(kept["rows"]) == 6
    key = kept["rows"][0][kept["columns"].index("key")]
    assert (tmp_path / "cells" / f"{key}.json").exists()

    out, err = run(capsys, *tiny(tmp_path))
    assert "6 cells, 6 finished, 0 missing" in err
    assert "6 of 6 cells" in out
    assert "(quick version)" in out

    page = Path(made["page"]).read_bytes()
    out, _ = run(
        capsys, "reproduce", "figure5", "--render-only", "--from", str(rows), "--out", str(tmp_path / "b"), "--json"
    )
    assert Path(json.loads(out)["page"]).read_bytes() == page


def test_a_part_of_what_is_stored_is_rendered(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, _ = run(capsys, *tiny(tmp_path, "--json"))
    rows = Path(json.loads(out)["rows"])
    _, err = run(capsys, *tiny(tmp_path, "--render-only", "--from", str(rows), "--set", "epochs=2"), code=2)
    assert "a part of the item would replace all of it" in err
    stored = ["--render-only", "--from", str(rows), "--out", str(tmp_path / "part"), "--json"]
    for more, missing in (([], 0), (["--set", "epochs=2"], 6), (["--only", "MUTAG"], 6)):
        out, _ = run(capsys, *tiny(tmp_path, *stored, *more))
        assert json.loads(out)["missing"] == missing
    _, err = run(capsys, *tiny(tmp_path, *stored, "--only", "MUTAGG"), code=2)
    assert "MUTAG" in err


def test_what_another_run_has_is_not_computed_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, _ = run(capsys, *tiny(tmp_path, "--json"))
    rows = Path(json.loads(out)["rows"])
    kept = json.loads(rows.read_text())
    whole = kept["rows"]
    rows.write_text(json.dumps(kept | {"rows": whole[:4]}))
    for cell in (tmp_path / "cells").glob("*.json"):
        cell.unlink()
    out, err = run(capsys, *tiny(tmp_path, "--from", str(rows), "--json"))
    assert "6 cells, 4 finished, 2 missing" in err
    assert json.loads(out)["missing"] == 0
    assert json.loads(rows.read_text())["rows"] == whole
    assert len(list((tmp_path / "cells").glob("*.json"))) == 2


@pytest.mark.parametrize("limit", ["0.0001", "2"])
def test_at_the_end_of_its_time_what_is_there_is_drawn(
    limit: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out, err = run(capsys, *tiny(tmp_path, "--set", "epochs=1000000", "--limit", limit, "--json"), code=1)
    assert "6 cells, 0 finished, 6 missing, in" in err  # no estimate: it would take part of the time
    assert "run the same command to continue" in err
    assert json.loads(out)["missing"] == 6


def test_a_table_is_computed_with_one_training_for_both_selections(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    mine = str(write_tu(tmp_path / "MINE"))
    folders = ["--results", str(tmp_path / "cells"), "--out", str(tmp_path / "out")]
    asked = ["--only", mine, "--seeds", "1", "--jobs", "1", "--row", "nmrGCL", "--row", "GIN", "--row", "untrained"]
    small = ["--most-epochs", "1", "--set", "encoder.units=2", "--set", "folds=2"]
    command = ["reproduce", "table1", "--quick", *asked, *small, *folders, "--json"]
    out, _ = run(capsys, *command, "--dry-run")
    assert (json.loads(out)["cells"], json.loads(out)["finished"]) == (5, 0)
    out, _ = run(capsys, *command)
    made = json.loads(out)
    assert (made["missing"], made["most_epochs"]) == (0, 1)
    assert {Path(text).suffix for text in made["texts"]} == {".md", ".tex", ".csv"}
    kept = json.loads(Path(made["rows"]).read_text())
    rows = [kept["same"] | dict(zip(kept["columns"], row, strict=True)) for row in kept["rows"]]
    times = {(row["row"], row["selection"]): row["train_seconds"] for row in rows}
    assert times["nmrGCL", "honest"] is None  # the other one's training
    assert times["nmrGCL", "paper"] > 0
    assert all(len(row["folds"]) == 2 for row in rows)
    out, err = run(capsys, *command)
    assert "5 cells, 5 finished, 0 missing" in err


def test_what_is_missing_is_drawn_as_missing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, _ = run(capsys, *tiny(tmp_path, "--render-only", "--json"))
    made = json.loads(out)
    assert made["missing"] == 6
    assert "not computed" in Path(made["figures"][0]).read_text()
    assert {verdict["outcome"] for verdict in made["verdicts"]} == {"no data"}


def test_cells_that_fail_leave_exit_code_1(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments = tiny(tmp_path, "--set", "features=attributes", "--json")
    out, err = run(capsys, *arguments, code=2)
    assert out == ""
    assert "there are no node attributes" in err


BAD_INPUT = {
    "unknown item": (["figure9"], "figure8"),
    "unknown protocol": (["figure8", "--protocol", "linear"], "svm"),
    "unknown dataset": (["figure8", "--only", "MUTAGG", "--dry-run"], "MUTAG"),
    "unknown setting": (["figure8", "--set", "epoch=3", "--dry-run"], "epochs"),
    "no file to go on from": (["figure8", "--from", "f.json"], "f.json"),
    "no such file": (["figure8", "--render-only", "--from", "nowhere.json"], "nowhere.json"),
    "a measured item from cells": (["figure3", "--render-only"], "--from"),
    "no GPU": (["figure8", "--device", "tpu", "--dry-run"], "auto, cpu, cuda"),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_one_line_and_exit_code_2(case: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    arguments, word = BAD_INPUT[case]
    folders = ["--results", str(tmp_path / "cells"), "--out", str(tmp_path / "out")]
    out, err = run(capsys, "reproduce", *arguments, *folders, code=2)
    assert out == ""
    assert err.startswith("nmrgcl: ")
    assert err.count("\n") == 1
    assert word in err
    assert list(tmp_path.iterdir()) == []


def test_help_loads_neither_torch_nor_matplotlib() -> None:
    code = "import sys, nmrgcl.cli.reproduce; assert not {'torch', 'matplotlib', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_table_is_printed_as_its_markdown_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folders = ["--results", str(tmp_path / "cells"), "--out", str(tmp_path / "out")]
    out, _ = run(capsys, "reproduce", "table1", "--quick", "--render-only", "--only", "MUTAG", *folders)
    assert out == f"{(tmp_path / 'out/table1-quick.md').read_text()}\n{tmp_path / 'out/table1-quick.html'}\n"
    assert "| claim | verdict | statistics |" in out
