"""Standard output and error as they may be: closed, full, ASCII, or a terminal that obeys what it is shown."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from nmrgcl.cli.cells import show_cells
from nmrgcl.cli.terminal import LONGEST, Printable
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.motifs import motifs
from nmrgcl.errors import printable
from nmrgcl.run.cell import Cell
from nmrgcl.run.execute import CellOutcome
from nmrgcl.settings import Settings
from tests.test_cli import run

ESCAPE = "e\x1b[31m\x1b]0;title\x07\x9b2J"


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """``command`` by bash, in which ``nmrgcl`` is this package's."""
    given = f'nmrgcl() {{ "{sys.executable}" -m nmrgcl "$@"; }}; {command}'
    return subprocess.run(["bash", "-c", given], capture_output=True, env=os.environ | environment, timeout=300)


def shown(text: str, encoding: str = "utf-8") -> bytes:
    raw = io.BytesIO()
    with io.TextIOWrapper(raw, encoding, errors="backslashreplace", write_through=True) as stream:
        print(text, file=Printable(stream), end="")
        return raw.getvalue()


@given(st.text())
def test_nothing_but_printable_text_lines_and_tabs_reaches_the_terminal(text: str) -> None:
    found = shown(text).decode()
    assert all(c.isprintable() or c in "\n\t" for c in found)
    assert found.count("\n") == text.count("\n")
    if text.isprintable():
        assert found == text


def test_an_ascii_terminal_gets_ascii() -> None:
    assert shown("66.49 ± 1.20, 10 × 5 … ä", "ascii") == b"66.49 +/- 1.20, 10 x 5 ... \\xe4"


def test_what_rich_draws_keeps_its_colours() -> None:
    raw = io.StringIO()
    Console(file=Printable(raw), force_terminal=True, color_system="standard").print("[red]x")  # type: ignore[arg-type]
    assert "\x1b[31mx" in raw.getvalue()


def test_a_bar_is_drawn_and_what_is_printed_beside_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    raw = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Printable(raw))
    with show_cells(2) as follow:
        print("beside", file=sys.stderr)
        for seed in (0, 1):
            follow(Cell("[/bold]", Settings(seed=seed)), CellOutcome("k", "failed", message="[red]"))
    assert "\x1b[" in raw.getvalue()
    assert "\\x1b" not in raw.getvalue()
    assert "beside" in raw.getvalue()
    assert "nmrgcl on [/bold], seed 1: failed: [red]" in raw.getvalue()


def test_names_of_datasets_and_files_are_shown_with_escapes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert Dataset(ESCAPE, motifs(3).graphs).name == "e\\x1b[31m\\x1b]0;title\\x07\\x9b2J"
    _, err = run(capsys, "evaluate", str(tmp_path / ESCAPE), "motifs", code=2)
    assert err.endswith("\n")
    assert err[:-1].isprintable()
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / f"{ESCAPE}.gml").write_text("?")
    _, err = run(capsys, "datasets", "info", str(tmp_path / "d"), code=2)
    assert err[:-1].isprintable()
    assert "\\x1b[31m" in err


def test_a_name_that_is_not_utf8_is_a_name_like_any_other(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    name = os.fsdecode(bytes(tmp_path) + b"/b\xff.jsonl")
    Path(name).write_text("".join(json.dumps({"edges": [[0, 1]], "y": g % 2}) + "\n" for g in range(30)))
    out, _ = run(capsys, "datasets", "info", name)
    assert "b\\udcff" in out
    made = os.fsdecode(bytes(tmp_path) + b"/r\xff")
    fast = ["--set", "epochs=1", "--set", "encoder.units=4", "--set", "svm.c=default", "--seeds", "1", "--quiet"]
    run(capsys, "pretrain", "motifs", *fast, "--device", "cpu", "--out", made)
    out, _ = run(capsys, "report", made, "motifs", "--jobs", "1")
    assert out.endswith("r\\udcff/report.html\n")
    assert "r\\udcff" in (Path(made) / "report.html").read_text(encoding="utf-8")


def test_a_line_about_a_million_characters_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    _, err = run(capsys, "evaluate", "z.npz", "--set", "x" * 10**6 + "=1", code=2)
    assert len(err) < LONGEST + 10


@pytest.mark.parametrize(
    "command", [["evaluate", "z.npz"], ["pretrain", "motifs"], ["sweep", "motifs"], ["tune", "motifs"]]
)
def test_a_billion_seeds_are_refused_before_they_are_listed(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    _, err = run(capsys, *command, "--seeds", "1000000000", code=2)
    assert "10000" in err


def test_results_are_printed_on_an_ascii_terminal(tmp_path: Path) -> None:
    np.savez(tmp_path / "z.npz", z=np.random.default_rng(0).normal(size=(60, 3)), y=np.arange(60) % 2)
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = shell(f"nmrgcl evaluate '{tmp_path}/z.npz' --seeds 2 --jobs 1 --protocol lssvm", **ascii_only)
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b" +/- " in ended.stdout


def test_closed_streams_are_no_reason_to_fail() -> None:
    assert shell("nmrgcl datasets list >&-").returncode == 0
    ended = shell("nmrgcl evaluate nothing MUTAG 2>&-")
    assert (ended.returncode, ended.stdout) == (2, b"")  # not: the error among the results
    assert shell("nmrgcl datasets list >&- 2>&- <&-").returncode == 0


def test_a_full_disk_behind_standard_output_is_one_line() -> None:
    ended = shell("nmrgcl datasets list > /dev/full")
    assert ended.returncode == 2
    assert ended.stderr == b"nmrgcl: No space left on device; make room or choose another place\n"
    assert shell("nmrgcl evaluate nothing MUTAG 2> /dev/full").returncode == 2


def test_printable_leaves_printable_text_alone() -> None:
    assert printable("ä ± 5") == "ä ± 5"
    assert printable("a\nb\x1b\udcff") == "a\\nb\\x1b\\udcff"
