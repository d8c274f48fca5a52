"""``nmrgcl report`` as a command."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from nmrgcl.checksums import write_checksums
from nmrgcl.cli.report import report
from nmrgcl.data.loading import load
from nmrgcl.errors import DataError, ModelError
from tests.report.test_page import pretrained
from tests.test_cli import run

app = typer.Typer()
app.command()(report)


def test_the_model_s_own_dataset_is_the_default(tmp_path: Path) -> None:
    run = pretrained(tmp_path / "run", load("motifs"))
    result = CliRunner().invoke(app, [str(run), "--device", "cpu", "--jobs", "1"], catch_exceptions=False)
    assert result.output.strip() == str(run / "report.html")
    assert "<h1>nmrgcl on motifs</h1>" in (run / "report.html").read_text(encoding="utf-8")


def test_a_dataset_that_is_not_found_by_name_is_asked_for(tmp_path: Path) -> None:
    run = pretrained(tmp_path / "run")
    config = run / "seed-0" / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), "dataset": "MINE"}))
    write_checksums(run / "seed-0")
    with pytest.raises(DataError, match=f"nmrgcl report {run} DATA"):
        CliRunner().invoke(app, [str(run), "--device", "cpu"], catch_exceptions=False)


def test_a_missing_run_is_named_and_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such run"):
        CliRunner().invoke(app, [str(tmp_path / "nowhere")], catch_exceptions=False)
    assert list(tmp_path.iterdir()) == []


def test_an_edited_score_never_becomes_the_headline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = str(pretrained(tmp_path / "run"))
    run(capsys, "evaluate", made, "motifs", "--jobs", "1", "--device", "cpu")
    path = tmp_path / "run" / "evaluation.json"
    values = json.loads(path.read_text())
    values["mean"], values["folds"][0] = 99.99, [100.0] * len(values["folds"][0])
    path.write_text(json.dumps(values))
    out, err = run(capsys, "report", made, "motifs", "--jobs", "1", "--device", "cpu", code=2)
    assert out == ""
    assert err.count("\n") == 1
    assert (
        f"evaluation.json: was changed after it was written (its checksum does not match); run nmrgcl evaluate {made}"
        in err
    )
    assert not (tmp_path / "run" / "report.html").exists()


def test_help_loads_neither_torch_nor_matplotlib() -> None:
    code = "import sys, nmrgcl.cli.report; assert not {'torch', 'matplotlib', 'jinja2'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
