"""Every Python snippet of the documentation runs, in order, in one process per page."""

import re
from pathlib import Path

import matplotlib
import networkx as nx
import pytest
import torch
from docs.draw_how_it_works import example_cosines, how_it_works_picture
from docs.draw_spectrum import mean_ranks, spectrum_picture

from nmrgcl import load
from nmrgcl.tune.space import read_space

ROOT = Path(__file__).parents[1]
SNIPPETS = re.compile(r"```python\n(.*?)```", re.DOTALL)


ELSEWHERE = {"methods.md": "tests/test_own_code.py"}
"""Pages whose snippets another test runs; README's is run by tests/quick_start.py."""


def run_snippets(page: str, **names: object) -> int:
    """Run a page's snippets, which may use ``names``; return how many there are."""
    found = SNIPPETS.findall((ROOT / "docs" / page).read_text())
    names["__name__"] = "docs"
    for number, snippet in enumerate(found, 1):
        exec(compile(snippet, f"docs/{page}, snippet {number}", "exec"), names)
    return len(found)


def test_every_page_with_snippets_is_run() -> None:
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "reference"]
    known = {page.relative_to(ROOT / "docs").as_posix() for page in pages if SNIPPETS.search(page.read_text())}
    run = set(re.findall(r'run_snippets\("([^"]+)"', Path(__file__).read_text()))
    assert run | {*ELSEWHERE} == known
    for page, test in ELSEWHERE.items():
        assert f'"{page}"' in (ROOT / test).read_text()


def test_the_snippets_that_use_what_the_reader_has_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    z = torch.randn(40, 6, generator=torch.Generator().manual_seed(0))
    assert run_snippets("collapse.md", z=z.numpy(), codes=[0, 1] * 20) == 1
    assert capsys.readouterr().out.startswith("6 of 6 dimensions are used: no collapse.")
    graph = nx.karate_club_graph()
    nx.set_node_attributes(graph, {node: [float(node % 3), 1.0] for node in graph}, "x")
    assert run_snippets("nodes.md", graph=graph) == 1
    monkeypatch.syspath_prepend(ROOT / "examples")
    assert run_snippets("tutorials/adding-a-method.md") == 1


def test_the_snippet_about_molecules_runs() -> None:
    pytest.importorskip("rdkit", reason="RDKit is not installed (extra chem)")
    assert run_snippets("molecules.md", smiles=["CCO", "c1ccccc1", "CCN", "Cc1ccccc1"], y=[0, 1, 0, 1]) == 1


def test_the_file_formats_that_readers_copy_are_read(tmp_path: Path) -> None:
    def shown(page: str, kind: str) -> str:
        return (ROOT / "docs" / page).read_text().partition(f"```{kind}\n")[2].partition("```")[0]

    (tmp_path / "graphs.jsonl").write_text(shown("your-data.md", "json"))
    graphs = load(tmp_path / "graphs.jsonl").graphs
    assert (graphs.num_graphs, graphs.num_nodes) == (2, 4)
    (tmp_path / "space.toml").write_text(shown("tuning.md", "toml"))
    assert read_space(tmp_path / "space.toml").options["options.tau"] == (0.1, 0.2, 0.5)


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
    untrained, without, with_it = mean_ranks().values()
    assert f"has an effective rank of {untrained:.1f}:" in page
    assert f"raises it to {without:.1f} without removal and to {with_it:.1f} with it" in page
    for picture in (how_it_works_picture(), spectrum_picture()):
        drawn = (ROOT / "docs" / f"{picture.key}.svg").read_text(encoding="utf-8")
        assert f"<desc>{picture.description}</desc>" in drawn, "run make readme"
