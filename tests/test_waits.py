"""``benchmarks/waits.py``: what a row says of a command, whatever becomes of it."""

import json
import sys
from argparse import Namespace
from pathlib import Path

import pytest

import waits
from waits import Wait, measure

PYTHON = sys.executable
ARGS = Namespace(repeats=2, enough=60.0, limit=20.0)


def test_a_row_has_the_processor_time_of_the_command_and_its_children(tmp_path: Path) -> None:
    (tmp_path / "child.py").write_text("import time\nwhile time.process_time() < 0.3: pass\n")
    (row,) = measure([Wait("nested", f"sh -c '{PYTHON} -S child.py; true'")], [], tmp_path, ARGS)
    assert row["runs"] == 2
    assert 0.3 <= row["cpu"] < 3
    assert "failed" not in row


def test_failed_and_slow_commands_are_named_and_the_next_one_still_runs(tmp_path: Path) -> None:
    rows = [
        Wait("stuck", "sleep 60"),
        Wait("wrong", "sh -c 'echo no such thing >&2; exit 3'"),
        Wait("killed", "sh -c 'kill -9 $$'"),
        Wait("refused", "sh -c 'exit 2'", code=2),
    ]
    found = list(measure(rows, rows, tmp_path, Namespace(repeats=1, enough=60.0, limit=1.0)))
    failed = [row.get("failed") for row in found]
    assert failed == ["stopped after 1 s", "exit status 3: no such thing", "exit status -9: ", None]
    assert found[0]["value"] < 10


def test_cold_rows_find_empty_caches_and_warm_ones_what_an_earlier_command_left(tmp_path: Path) -> None:
    look = "sh -c 'ls $NMRGCL_HOME $TRITON_CACHE_DIR 2>/dev/null; mkdir -p $NMRGCL_HOME $TRITON_CACHE_DIR"
    cold = Wait("cold", f"{look}; test ! -e $NMRGCL_HOME/used && touch $NMRGCL_HOME/used'", "one", cold=True)
    warm = Wait("warm", f"{look}; test -e $NMRGCL_HOME/used'", "one")
    assert not any("failed" in row for row in measure([cold, warm], [], tmp_path, ARGS))
    alone = Wait("warm", f"{look}; echo x >> $NMRGCL_HOME/runs; test $(wc -l < $NMRGCL_HOME/runs) -gt 1'", "two")
    assert not any("failed" in row for row in measure([alone], [], tmp_path, ARGS))  # warmed by an unmeasured run


def test_a_command_that_reads_a_run_is_preceded_by_the_one_that_writes_it(tmp_path: Path) -> None:
    writer, reader = Wait("write", "mkdir run", writes="run"), Wait("read", "test -d run", reads="run")
    rows = list(measure([reader], [writer, reader], tmp_path, ARGS))
    assert [(row["name"], "failed" in row) for row in rows] == [("read", False)]


def test_the_file_has_the_rows_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "waits.json"
    seen = Wait("second", f'{PYTHON} -S -c \'import json; assert len(json.load(open("{file}"))["rows"]) == 1\'')
    rows = [Wait("first", "true"), seen, Wait("other", "false")]
    monkeypatch.setattr(waits, "waits", lambda device, node_epochs: rows)
    monkeypatch.setattr(waits, "READ_PACKAGES", "print('{\"cores\": 2}')")
    monkeypatch.setattr(sys, "argv", ["waits.py", "--only", "first", "sec*", "--repeats", "1", "--json", str(file)])
    waits.main()
    found = json.loads(file.read_text())
    assert [row["name"] for row in found["rows"]] == ["first", "second"]
    assert not any("failed" in row for row in found["rows"])
    assert found["machine"] == {"cores": 2}
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_every_row_has_its_own_name_and_every_run_that_is_read_is_written() -> None:
    rows = waits.waits("cpu", 1)
    assert len({row.name for row in rows}) == len(rows)
    assert {row.reads for row in rows if row.reads} <= {row.writes for row in rows}
