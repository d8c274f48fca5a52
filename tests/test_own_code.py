"""Methods from anywhere: a file that a user names is a method, and nothing else is ever run."""

import json
import pickle
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from torch import Tensor

import nmrgcl
from nmrgcl import GraphEmbedder, Graphs, Pretraining, Progress, own_code
from nmrgcl.errors import SettingError, UserError
from nmrgcl.method_files import load_method, method_reference
from nmrgcl.model_folder import load_model
from nmrgcl.reproduce import find_item
from nmrgcl.run.cell import Cell
from nmrgcl.run.recipe import recipe
from nmrgcl.settings import Settings
from tests.test_cli import run

pytestmark = pytest.mark.usefixtures("new_user")

ROOT = Path(__file__).parents[1]
SMALL = {"train.epochs": 2, "encoder.layers": 2, "encoder.units": 8}
FAST = ("--set", "epochs=2", "--set", "encoder.layers=2", "--set", "encoder.units=8", "--device", "cpu")


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    return Path(shutil.copy(ROOT / "examples" / "vicreg.py", tmp_path / "mine.py"))


def test_a_file_is_a_method_from_the_first_command_to_the_last(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out, _ = run(capsys, "methods", "mine.py")
    assert out.startswith("mine: Two views of a graph agree")
    assert "covariance  1.0   weight of covariances between dimensions" in out
    options = ("--method", "mine.py", "--set", "covariance=2", *FAST, "--seeds", "2", "--out", "run", "--quiet")
    run(capsys, "pretrain", "motifs", *options)
    settings = json.loads((tmp_path / "run" / "seed-0" / "config.json").read_text())["settings"]
    assert settings["options"] == {"invariance": 25.0, "variance": 25.0, "covariance": 2.0}
    mine.unlink()  # models and workers find the copy that was kept
    own_code._live.clear()
    out, _ = run(capsys, "evaluate", "run", "motifs", "--device", "cpu")
    assert "mine " in out
    card = (tmp_path / "run" / "seed-0" / "README.md").read_text()
    assert "# mine on motifs" in card
    assert "| Covariance | 2 |" in card
    run(capsys, "diagnose", "run", "motifs", "--device", "cpu")


def test_workers_find_it_and_it_has_a_row_in_every_table(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = str(tmp_path / "r")
    names = ("--method", str(mine), "--method", "graphcl")
    out, _ = run(capsys, "sweep", "motifs", *names, *FAST, "--seeds", "2", "--jobs", "2", "--results", results)
    assert [line.split()[0] for line in out.splitlines()[2:4]] == ["mine", "graphcl"]
    item = find_item("table1")
    plan = item.plan(only=["NCI1"], seeds=1, rows=[str(mine), "GraphCL"])
    assert {placed.at[0] for placed in item.cells(plan)} == {"mine", "GraphCL"}


def test_the_digest_of_the_file_is_part_of_the_key(mine: Path) -> None:
    one = Cell("MUTAG", recipe(str(mine)))
    assert Cell("MUTAG", recipe(str(mine))).key == one.key
    mine.write_text(mine.read_text() + "# another version\n")
    other = Cell("MUTAG", recipe(str(mine)))
    assert (one.method, other.method) == ("mine", "mine")
    assert one.key != other.key
    assert pickle.loads(pickle.dumps(one)) == one


def test_a_preset_may_be_beside_the_file(mine: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(
        "options.covariance = 3.0\nencoder = { units = 4 }\n[dataset.MUTAG]\nepochs = 7\n"
    )
    mine.write_text(
        mine.read_text().replace(
            "    options: Options\n", '    options: Options\n    PRESETS = {"graph": "mine.toml"}\n'
        )
    )
    settings = recipe(str(mine), dataset="MUTAG")
    assert (settings.options.covariance, settings.encoder.units, settings.train.epochs) == (3.0, 4, 7)
    assert recipe("graphcl", preset=str(tmp_path / "mine.toml")).encoder.units == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("METHOD = ", r"mine\.py, line 1: SyntaxError"),
        ("x = 1\nraise ValueError('no')\n", r"mine\.py, line 2: ValueError: no"),
        ("import nothing_of_that_name\n", r"mine\.py, line 1: ModuleNotFoundError"),
        ("x = 1\n", r"mine\.py: defines no method; end it with METHOD ="),
        ("METHOD = int\n", "defines no method"),
        (None, r"mine\.py: cannot be read"),
    ],
)
def test_a_broken_file_is_one_line(
    text: str | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(SettingError, match=words):
        recipe(str(path))
    out, err = run(capsys, "pretrain", "motifs", "--method", str(path), code=2)
    assert (out, err.count("\n")) == ("", 1)


def test_two_methods_of_one_name_do_not_become_one_row(
    mine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Path(shutil.copy(mine, tmp_path / "graphcl.py"))
    command = ["sweep", "motifs", "--method", "graphcl", "--results", str(tmp_path / "r"), "--dry-run"]
    _, err = run(capsys, *command, "--method", str(other), code=2)
    assert err == "nmrgcl: two different methods are called graphcl; rename the file of one of them\n"
    run(capsys, *command, "--method", "graphcl", "--method", str(mine))


def test_one_broken_file_in_the_package_hides_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_one.py").write_text("raise RuntimeError('oh')\n")
    monkeypatch.setattr(nmrgcl.methods, "__path__", [*nmrgcl.methods.__path__, str(tmp_path)])
    out, err = run(capsys, "methods")
    assert "graphcl" in out
    assert "method broken_one cannot be imported: RuntimeError: oh" in err


def test_no_file_from_elsewhere_brings_code_that_is_run(mine: Path, tmp_path: Path) -> None:
    """A model, a config or a result may refer to code by digest; it is found only if this user has named it."""
    GraphEmbedder(str(mine), settings=SMALL, device="cpu").fit("motifs").save(tmp_path / "model")
    shutil.rmtree(tmp_path / "home")
    own_code._live.clear()
    with pytest.raises(UserError, match=r"its file .*mine\.py is unknown on this machine; name it once"):
        load_model(tmp_path / "model")
    evil = tmp_path / "evil.py"
    evil.write_text("raise SystemExit('executed')\n")
    for name in (str(evil), "../evil", "evil@" + "0" * 32, "os"):
        with pytest.raises(UserError):
            Settings.from_dict({"method": name})
    loaded = GraphEmbedder.load(tmp_path / "model", method=str(mine), device="cpu")
    assert loaded.transform("motifs").shape == (300, 16)
    kept = next((tmp_path / "home" / "code").glob("*.py"))
    kept.write_text(kept.read_text() + "\n")
    own_code._live.clear()
    with pytest.raises(UserError, match="was changed after it was copied"):
        load_model(tmp_path / "model")


class Plain(Pretraining):
    """Pull two embeddings of a graph together: it collapses, but it is short."""

    def losses(self, graphs: Graphs, progress: Progress):  # type: ignore[no-untyped-def]
        z: Tensor = self.embed(graphs)
        yield z.square().mean()


def test_a_class_is_a_method_in_python(tmp_path: Path) -> None:
    embedder = GraphEmbedder(Plain, settings=SMALL, device="cpu").fit("motifs")
    z = embedder.transform("motifs")
    embedder.save(tmp_path / "model")
    np.testing.assert_array_equal(GraphEmbedder.load(tmp_path / "model", device="cpu").transform("motifs"), z)
    own_code._live.clear()
    with pytest.raises(UserError, match="Plain"):
        load_model(tmp_path / "model")
    again = GraphEmbedder.load(tmp_path / "model", method=Plain, device="cpu")
    np.testing.assert_array_equal(again.transform("motifs"), z)
    assert method_reference(load_method("graphcl")) == "graphcl"


def test_a_method_of_ones_own_continues_after_a_kill(mine: Path, tmp_path: Path) -> None:
    """In another process, which has never seen the file."""
    command = [sys.executable, "-m", "nmrgcl", "pretrain", "motifs", "--method", str(mine), *FAST, "--seeds", "1"]
    for out in ("whole", "killed"):
        subprocess.run([*command, "--out", str(tmp_path / out), "--quiet"], check=True, capture_output=True)
    shutil.rmtree(tmp_path / "killed" / "seed-0")
    again = [*command, "--out", str(tmp_path / "killed"), "--quiet", "--resume"]
    subprocess.run(again, check=True, capture_output=True)
    one, other = (tmp_path / out / "seed-0" / "model.safetensors" for out in ("whole", "killed"))
    assert one.read_bytes() == other.read_bytes()


def test_the_method_of_the_readme_runs_as_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    section = (ROOT / "docs" / "methods.md").read_text().partition("## Add a method")[2].partition("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    (shell,) = re.findall(r"```bash\n(.*?)```", section, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("yours.py").write_text(code)
    lines = shell.strip().splitlines()
    assert len(lines) == 3
    for line in lines:
        words = line.split()
        assert words.pop(0) == "nmrgcl"
        short = {"pretrain": [*FAST, "--seeds", "1"], "sweep": [*FAST, "--jobs", "1"]}.get(words[0], [])
        run(capsys, *words, *short)
    assert (tmp_path / "runs" / "yours" / "seed-0" / "config.json").exists()
