"""Every snippet of docs/python.md and docs/using-embeddings.md runs, in order, in one process per page."""

import re
from pathlib import Path

import matplotlib
import pytest
from docs.draw_how_it_works import example_cosines, how_it_works_picture

ROOT = Path(__file__).parents[1]
SNIPPETS = re.compile(r"```python\n(.*?)```", re.DOTALL)


def run_snippets(page: str) -> int:
    found = SNIPPETS.findall((ROOT / "docs" / page).read_text())
    names: dict[str, object] = {"__name__": "docs"}
    for number, snippet in enumerate(found, 1):
        exec(compile(snippet, f"docs/{page}, snippet {number}", "exec"), names)
    return len(found)


def test_the_page_about_using_embeddings_says_what_is_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    assert run_snippets("using-embeddings.md") >= 6
    agreement, nearest, _, strangest, *_ = capsys.readouterr().out.splitlines()
    assert float(agreement) > 0.5  # clusters are the families
    assert nearest.startswith("[[ 0 ")  # each graph is its own nearest neighbour
    assert strangest == "90"  # the complete graph
    assert (tmp_path / "families.png").exists()


@pytest.mark.filterwarnings("ignore::DeprecationWarning:tensorboard")
def test_the_snippets_run_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch_geometric")
    pytest.importorskip("tensorboard")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    assert run_snippets("python.md") >= 8
    assert (tmp_path / "graphs.png").exists()
    assert list((tmp_path / "runs" / "mine").iterdir())


def test_the_page_about_export_runs_on_files_that_the_command_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(module, reason=f"{module} is not installed (extra onnx)")
    from nmrgcl import GraphEmbedder, load
    from nmrgcl.data.features import apply_features
    from nmrgcl.export import export_model

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("nmrgcl.export.check.SECONDS", 0.0)
    model = GraphEmbedder("untrained", settings={"encoder.units": 4}).fit("MUTAG").model_
    graphs = apply_features(load("MUTAG"), model.features)
    export_model(model, graphs, tmp_path / "mutag.onnx", "onnx")
    export_model(model, graphs, tmp_path / "model.pt2", "torch-export")
    assert run_snippets("export.md") == 2
    assert capsys.readouterr().out == "[[0, 1, 2, 3, 4, 5, 6]]\n"


def test_the_page_about_sharing_runs_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_snippets("sharing.md") == 1
    assert (tmp_path / "shelf/mutag/README.md").is_file()


@pytest.mark.filterwarnings("ignore::DeprecationWarning:tensorboard")
def test_the_page_about_trackers_runs_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("tensorboard", reason="tensorboard is not installed (extra tensorboard)")
    monkeypatch.chdir(tmp_path)
    assert run_snippets("trackers.md") == 1
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["1", "2", "3"]
    assert list((tmp_path / "runs" / "mine").iterdir())


def test_the_page_that_explains_the_method_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_snippets("how-it-works.md") == 1
    page = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    assert f"```\n{capsys.readouterr().out}```" in page
    before, after = (f"{cosine:.2f}" for cosine in example_cosines())
    assert f"(a cosine of {before})" in page
    assert f"the cosine is {after}" in page
    drawn = (ROOT / "docs" / "how-it-works.svg").read_text(encoding="utf-8")
    assert f"<desc>{how_it_works_picture().description}</desc>" in drawn, "run make readme"
