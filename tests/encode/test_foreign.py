"""Encoders from anywhere: networks of PyG, by file, class, function or instance."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from nmrgcl import GraphEmbedder, load, own_code, to_pyg
from nmrgcl.augment import build_view
from nmrgcl.checksums import write_checksums
from nmrgcl.data.features import apply_features
from nmrgcl.encode import Foreign, build_encoder, embed_graphs, pool
from nmrgcl.encode.named import encoder_label, encoder_reference
from nmrgcl.errors import SettingError, UserError
from nmrgcl.graphs import Graphs, Room
from nmrgcl.methods import Level, build_pretraining, build_untrained
from nmrgcl.model_folder import load_model
from nmrgcl.run.cell import Cell
from nmrgcl.run.diagnosis import diagnose_model
from nmrgcl.run.embeddings import embed_all
from nmrgcl.run.evaluate import evaluate_run
from nmrgcl.run.execute import execute
from nmrgcl.run.recipe import recipe, with_encoder
from nmrgcl.run.results import Results
from nmrgcl.run.sweep import method_settings
from nmrgcl.settings import Settings
from nmrgcl.train import pretrain
from tests.examples import random_graphs, sparse_x
from tests.methods.members import DATA, GRAPHS, NETWORK
from tests.test_cli import run

pyg = pytest.importorskip("torch_geometric.nn")
pytestmark = pytest.mark.usefixtures("new_user")

ROOT = Path(__file__).parents[2]
CPU = torch.device("cpu")
SMALL = {"train.epochs": 2, "encoder.layers": 2, "encoder.units": 8, "train.batch_size": 64}
FAST = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")] + ["--device", "cpu"]


class Normed(nn.Module):
    """What a view must not show it changes its output: removed nodes in the statistics of a batch norm."""

    def __init__(self, num_features: int, units: int = 6) -> None:
        super().__init__()
        self.convolution, self.norm = pyg.GCNConv(num_features, units), nn.BatchNorm1d(units)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.norm(self.convolution(x, edge_index)).relu()


class Pooling(Normed):
    """A row per graph."""

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:  # type: ignore[override]
        return pyg.global_mean_pool(super().forward(x, edge_index), batch)


class Bonds(nn.Module):
    """It cannot do without features of edges."""

    def __init__(self, in_channels: int) -> None:
        super().__init__()
        self.convolution = pyg.GINEConv(nn.Linear(in_channels, 5), edge_dim=3)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        return self.convolution(x, edge_index, edge_attr)


@pytest.fixture
def gcn3(tmp_path: Path) -> Path:
    return Path(shutil.copy(ROOT / "examples" / "pyg_gcn.py", tmp_path / "pyg_gcn.py"))


def built(encoder: Any, num_features: int) -> Foreign:
    torch.manual_seed(0)
    made = build_encoder(encoder_reference(encoder), num_features, layers=2, units=8)
    assert isinstance(made, Foreign)
    return made.eval()


def settings_of(name: str, encoder: Any, level: Level = "graph", changed: dict[str, Any] | None = None) -> Settings:
    values = {**SMALL, "train.batch_size": 4, **(changed or {})}
    return recipe(name, assignments=with_encoder(values, encoder), level=level)


@pytest.mark.parametrize("kind", [pyg.GCN, pyg.GraphSAGE, pyg.GIN, pyg.GAT])
@pytest.mark.parametrize("form", ["categorical", "dense", "sparse"])
def test_embeddings_are_those_of_the_network_called_by_hand(kind: Any, form: str) -> None:
    graphs = random_graphs([5, 1, 0, 7, 3], categorical=form == "categorical")
    graphs = sparse_x(graphs) if form == "sparse" else graphs
    encoder = built(kind, 4)
    torch.manual_seed(0)
    by_hand = kind(in_channels=4, hidden_channels=8, num_layers=2, out_channels=8).eval()
    data = to_pyg(graphs)
    with torch.no_grad():
        expected = by_hand(data.x, data.edge_index)
        assert torch.equal(encoder(graphs), expected)
        torch.testing.assert_close(
            embed_graphs(encoder, graphs, "sum"), pyg.global_add_pool(expected, data.batch, size=5)
        )
    assert (encoder.units, encoder.pooled) == (8, False)


def test_weights_and_features_of_edges_are_passed_to_those_who_ask() -> None:
    graphs = random_graphs([6, 4])
    graphs = replace(graphs, edge_weight=torch.rand(graphs.num_edges) + 0.5, edge_attr=torch.randn(graphs.num_edges, 3))
    data = to_pyg(graphs)
    weighted, bonds = built(pyg.GCN, 4), built(Bonds, 4)
    with torch.no_grad():
        expected = weighted.network(data.x, data.edge_index, data.edge_weight)
        assert torch.equal(weighted(graphs), expected)
        assert not torch.equal(weighted(replace(graphs, edge_weight=None)), expected)
        assert torch.equal(bonds(graphs), bonds.network(data.x, data.edge_index, data.edge_attr))
    with pytest.raises(SettingError, match="encoder Bonds needs edge_attr, which these graphs do not have"):
        bonds(replace(graphs, edge_attr=None))


@pytest.mark.parametrize("encoder", [Normed, Pooling])
@pytest.mark.parametrize("view", ["DropNodes", "DropEdges", "AddEdges", "Subgraph", "MaskFeatures"])
def test_a_view_is_embedded_as_the_graphs_that_it_leaves(encoder: Any, view: str) -> None:
    """In training, where a batch norm would see what was removed."""
    torch.manual_seed(1)
    graphs = random_graphs([9, 6, 8, 0])
    seen = build_view([{"name": view, "p": 0.4} if view != "Subgraph" else {"name": view}])(graphs)
    network = built(encoder, 4).train()
    alone = seen.compact()
    with torch.no_grad():
        expected = network(alone)
        kept = torch.ones(23, dtype=torch.bool) if seen.node_keep is None else seen.node_keep
        found = network(seen)
        assert torch.equal(found if network.pooled else found[kept], expected)
        assert found.shape == ((4, 8) if network.pooled else (23, 8))
        if not network.pooled:
            assert not found[~kept].any()
            torch.testing.assert_close(embed_graphs(network, seen, "mean"), pool(expected, alone, "mean"))


def test_a_padded_batch_is_embedded_as_a_plain_one() -> None:
    graphs, index = random_graphs([9, 6, 8]), torch.tensor([2, 0])
    padded = graphs.take_padded(index, Room(30, 200))
    for kind in (Normed, Pooling):
        network = built(kind, 4).train()
        with torch.no_grad():
            found, expected = (embed_graphs(network, batch, "sum") for batch in (padded, graphs.take(index)))
        torch.testing.assert_close(found, expected)


def test_a_node_level_view_leaves_removed_nodes_out_of_the_statistics() -> None:
    method = build_pretraining(settings_of("grace", Normed, "node"), NETWORK.num_features).train()
    seen = build_view([{"name": "DropNodes", "p": 0.4}])(NETWORK)
    assert seen.node_keep is not None
    with torch.no_grad():
        torch.testing.assert_close(method.embed(seen)[seen.node_keep], method.encoder(seen.compact()))


MEMBERS: list[tuple[str, Level]] = [
    ("nmrgcl", "graph"), ("graphcl", "graph"), ("nmrgcl", "node"), ("grace", "node"), ("dgi", "node"),
    ("cca_ssg", "node"), ("gca", "node"),
]  # fmt: skip


@pytest.mark.parametrize("encoder", [Normed, Pooling])
@pytest.mark.parametrize(("name", "level"), MEMBERS)
def test_every_method_trains_it(name: str, level: Level, encoder: Any) -> None:
    settings = settings_of(name, encoder, level, {"train.patience": 0})
    if level == "node" and encoder is Pooling:
        with pytest.raises(SettingError, match="level = node needs an encoder that returns a row per node"):
            build_pretraining(settings, DATA[level].num_features)
        return
    ends = []
    for _ in range(2):
        method = build_pretraining(settings, DATA[level].num_features)
        assert not method.capturable  # views are compacted, which no recording can do
        losses = [epoch.loss for epoch in pretrain(method, DATA[level], settings.train)]
        assert np.isfinite(losses).all()
        ends.append(method.state_dict())
    start = build_untrained(settings, DATA[level].num_features).state_dict()
    weight = "encoder.network.convolution.lin.weight"
    assert not torch.equal(ends[0][weight], start[weight])
    assert all(torch.equal(ends[0][key], ends[1][key]) for key in start)


@pytest.mark.parametrize("name", ["merit", "mvgrl"])
def test_methods_that_are_made_of_a_gcn_refuse_it(name: str) -> None:
    with pytest.raises(SettingError, match=f"method {name} means encoder.name = 'gcn', not 'Normed@"):
        settings_of(name, Normed, "node")


def test_what_a_recipe_says_of_its_own_encoder_is_not_said_of_another() -> None:
    """The preset of cca_ssg is for a GCN without a last activation."""
    assert settings_of("cca_ssg", Normed, "node").encoder.activate_last
    with pytest.raises(SettingError, match="encoder Normed has activations of its own and no dropout"):
        build_pretraining(settings_of("graphcl", Normed, changed={"encoder.dropout": 0.5}), 4)
    with pytest.raises(SettingError, match="but the encoder is gcn; leave one of the two out"):
        with_encoder(["encoder.name=gin"], "gcn")
    assert recipe("graphcl", assignments=with_encoder((), "gat")).encoder.name == "gat"


def three(num_features: int) -> nn.Module:
    return pyg.GCN(num_features, 5, 3)


def of_width(width: int) -> Callable[[int], nn.Module]:
    return lambda num_features: pyg.GCN(num_features, width, 1)


def test_a_function_and_an_instance_are_encoders_in_python(tmp_path: Path) -> None:
    assert built(three, 4).units == 5
    assert built(lambda: pyg.GCN(-1, 7, 2), 4).units == 7
    assert [built(of_width(width), 4).units for width in (3, 9)] == [3, 9]
    assert encoder_reference(of_width(3)) == encoder_reference(of_width(3)) != encoder_reference(of_width(9))
    assert encoder_reference(partial(Normed, units=3)) != encoder_reference(partial(Normed, units=4))
    instance = Normed(2)
    reference = encoder_reference(instance)
    before = instance.convolution.lin.weight.clone()
    with torch.no_grad():
        instance.convolution.lin.weight.zero_()
    assert encoder_reference(instance) != reference
    for seed in (0, 1):
        torch.manual_seed(seed)
        made = build_encoder(reference, 2, layers=1, units=1)
        assert torch.equal(made.network.convolution.lin.weight, before)  # type: ignore[union-attr, arg-type]


@pytest.mark.parametrize("encoder", [Pooling, three], ids=["class", "function"])
def test_an_embedder_with_it_is_saved_and_loaded(encoder: Any, tmp_path: Path) -> None:
    embedder = GraphEmbedder(encoder=encoder, settings=SMALL, device="cpu").fit("motifs")
    z = embedder.transform("motifs")
    embedder.save(tmp_path / "model")
    np.testing.assert_array_equal(GraphEmbedder.load(tmp_path / "model", device="cpu").transform("motifs"), z)
    assert len(embedder.get_feature_names_out()) == z.shape[1]
    card = (tmp_path / "model" / "README.md").read_text()
    assert f"{encoder.__name__}, given in Python ({encoder.__name__}@" in card
    assert ("sum pooling" in card) == (encoder is three)
    own_code._live.clear()
    with pytest.raises(UserError, match=f"{encoder.__name__}.* is unknown on this machine; name it once"):
        load_model(tmp_path / "model")
    again = GraphEmbedder.load(tmp_path / "model", encoder=encoder, device="cpu")
    np.testing.assert_array_equal(again.transform("motifs"), z)


def test_the_baseline_is_the_method_as_its_seed_initialises_it(gcn3: Path, tmp_path: Path) -> None:
    options = {"settings": SMALL, "device": "cpu", "random_state": 3}
    embedder = GraphEmbedder("graphcl", encoder=f"{gcn3}:GCN3", **options).fit("motifs")  # type: ignore[arg-type]
    embedder.save(tmp_path / "model")
    model, motifs = load_model(tmp_path / "model"), load("motifs")
    graphs = apply_features(motifs, model.features)
    torch.manual_seed(3)
    convolutions = [pyg.GCNConv(width, 8) for width in (model.features.width, 8, 8)]
    data = to_pyg(graphs)
    h = data.x
    for convolution in convolutions:
        h = convolution(h, data.edge_index).relu()
    start = build_untrained(model.settings, model.features.width)
    expected = pyg.global_add_pool(h, data.batch).detach()
    torch.testing.assert_close(embed_all(start, graphs), expected)
    still = settings_of("untrained", f"{gcn3}:GCN3", changed={"seed": 3, "train.epochs": 0})
    assert torch.equal(embed_all(build_pretraining(still, model.features.width), graphs), embed_all(start, graphs))
    found = evaluate_run(tmp_path / "model", motifs, device=CPU, fold_seeds=1)
    GraphEmbedder("untrained", encoder=str(gcn3), settings={"encoder.units": 8}, device="cpu", random_state=3).fit(
        "motifs"
    ).save(tmp_path / "start")
    assert found.untrained is not None
    alone = evaluate_run(tmp_path / "start", motifs, device=CPU, fold_seeds=1)
    np.testing.assert_array_equal(found.untrained.folds, alone.trained.folds)
    (layer,) = diagnose_model(model, motifs, CPU, "model").found.layer_spectra
    assert len(layer) == 8


def test_a_file_is_an_encoder_from_the_first_command_to_the_last(
    gcn3: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ("pretrain", "motifs", "--encoder", "pyg_gcn.py:GCN3", *FAST)
    out, _ = run(capsys, *command, "--dry-run")
    name = json.loads(out)["settings"]["encoder"]["name"]
    assert own_code.is_reference(name.removesuffix(":GCN3"))
    run(capsys, *command, "--seeds", "2", "--out", "run", "--quiet")
    gcn3.unlink()  # models and workers find the copy that was kept
    own_code._live.clear()
    out, _ = run(capsys, "evaluate", "run", "motifs", "--device", "cpu")
    assert "untrained " in out
    run(capsys, "diagnose", "run", "motifs", "--device", "cpu")
    run(capsys, "embed", "run/seed-0", "motifs", "--out", "z.npz", "--device", "cpu")
    card = (tmp_path / "run" / "seed-0" / "README.md").read_text()
    assert f"| Encoder | GCN3 of pyg_gcn.py ({name.removesuffix(':GCN3')}), sum pooling |" in card
    assert 'load("this-folder", encoder="pyg_gcn.py:GCN3")' in card
    start = ("--from", "run/seed-0", "--config", "run/seed-0/config.json", "--device", "cpu")
    run(capsys, "pretrain", "motifs", *start, "--seeds", "1", "--out", "further", "--quiet")
    first, further = (load_model(tmp_path / folder) for folder in ("run/seed-0", "further/seed-0"))
    assert first.settings.encoder == further.settings.encoder


def test_workers_find_it_and_its_digest_is_part_of_the_key(gcn3: Path, tmp_path: Path) -> None:
    """In a process of its own, since workers that serve other tests have another home."""
    names = ("--method", "graphcl", "--method", "untrained", "--encoder", str(gcn3), "--set", "svm.c=default")
    results = ("--seeds", "2", "--jobs", "2", "--results", str(tmp_path / "r"))
    command = [sys.executable, "-m", "nmrgcl", "sweep", "motifs", *names, *FAST, *results]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert [line.split()[0] for line in out.splitlines()[2:4]] == ["graphcl", "untrained"]
    one = Cell("MUTAG", settings_of("graphcl", str(gcn3)))
    assert Cell("MUTAG", settings_of("graphcl", f"{gcn3}:GCN3")).key == one.key
    gcn3.write_text(gcn3.read_text() + "# another version\n")
    assert Cell("MUTAG", settings_of("graphcl", str(gcn3))).key != one.key
    with pytest.raises(UserError, match="every method here has its own fixed encoder.name"):
        method_settings(["merit"], preset=None, assignments=with_encoder((), str(gcn3)), level="node", dataset="Cora")


def test_a_search_tries_its_units(gcn3: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    space = tmp_path / "space.toml"
    space.write_text('encoder.units = [4, 16]\nencoder.name = ["gcn", "gat"]\n')
    options = ("--space", str(space), "--budget", "2", "--dry-run", "--json", "--device", "cpu")
    out, _ = run(capsys, "tune", "motifs", "--encoder", str(gcn3), *options)
    drawn = json.loads(out)["searches"][0]["candidates"]
    assert [set(candidate) for candidate in drawn] == [set(), {"encoder.units"}]


def test_it_is_fine_tuned(gcn3: Path, tmp_path: Path) -> None:
    quick = {"finetune.epochs": 2, "svm.folds": 3, "train.epochs": 0}
    cell = Cell("motifs", settings_of("untrained", str(gcn3), changed=quick), protocol="finetune")
    assert execute(cell, Results(tmp_path), device=CPU).mean > 0


def test_a_training_continues_after_a_kill(gcn3: Path, tmp_path: Path) -> None:
    """In another process, to the same bytes."""
    command = [sys.executable, "-m", "nmrgcl", "pretrain", "motifs", "--encoder", str(gcn3), *FAST, "--seeds", "1"]
    for out in ("whole", "killed"):
        subprocess.run([*command, "--out", str(tmp_path / out), "--quiet"], check=True, capture_output=True)
    shutil.rmtree(tmp_path / "killed" / "seed-0")
    again = [*command, "--out", str(tmp_path / "killed"), "--quiet", "--resume"]
    subprocess.run(again, check=True, capture_output=True)
    one, other = (tmp_path / out / "seed-0" / "model.safetensors" for out in ("whole", "killed"))
    assert one.read_bytes() == other.read_bytes()


@pytest.fixture
def model(gcn3: Path, tmp_path: Path) -> Callable[[str], Path]:
    """A model folder whose config names another encoder, with checksums that fit."""
    GraphEmbedder("graphcl", encoder=str(gcn3), settings=SMALL, device="cpu").fit("motifs").save(tmp_path / "model")

    def claiming(name: str) -> Path:
        folder = Path(shutil.copytree(tmp_path / "model", tmp_path / "claims", dirs_exist_ok=True))
        config = json.loads((folder / "config.json").read_text())
        config["settings"]["encoder"]["name"] = name
        (folder / "config.json").write_text(json.dumps(config))
        write_checksums(folder)
        return folder

    return claiming


def test_no_file_from_elsewhere_brings_code_that_is_run(
    model: Callable[[str], Path], gcn3: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = tmp_path / "evil.py"
    evil.write_text("raise SystemExit('executed')\n")
    for name in (str(evil), f"{evil}:Net", "../evil.py", "evil@" + "0" * 32 + ":Net", "evil@" + "0" * 32, "os:system"):
        with pytest.raises(UserError):
            load_model(model(name))
        (tmp_path / "config.json").write_text(json.dumps({"encoder": {"name": name}}))
        for given in (("--config", str(tmp_path / "config.json")), ("--set", f"encoder.name={name}")):
            _, err = run(capsys, "pretrain", "motifs", *given, "--out", str(tmp_path / "no"), code=2)
            assert err.count("\n") == 1
    evil.write_text(
        "import os\nfrom pathlib import Path\nfrom torch import nn\n"
        "def touch(n):\n    Path(__file__).with_suffix('.touched').touch()\n"
        "class Net(nn.Linear):\n    pass\n"
    )
    code = encoder_reference(str(evil)).removesuffix(":Net")
    for thing in ("touch", "os", "Path", "__doc__", "ENCODER"):  # a known file lends its networks, and nothing else
        with pytest.raises(UserError, match=r"evil\.py: "):
            load_model(model(f"{code}:{thing}"))
    assert not list(tmp_path.rglob("*.touched"))


@pytest.mark.parametrize("units", [20_000, 2_000_000_000])
def test_a_model_that_claims_more_weights_than_it_has_is_not_built(
    units: int, model: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The code is known, but how wide it is made comes from a file of others."""
    folder = model(encoder_reference(pyg.GCN))
    config = json.loads((folder / "config.json").read_text())
    config["settings"]["encoder"]["units"] = units
    (folder / "config.json").write_text(json.dumps(config))
    write_checksums(folder)
    monkeypatch.setattr("nmrgcl.model_folder.build_method", lambda *_: pytest.fail("it was built"))
    with pytest.raises(UserError, match="its settings need more weights than there are"):
        load_model(folder)


NET = "from torch import nn\nimport torch\nclass Net(nn.Module):\n"
MAKES = "    def __init__(self, n):\n        super().__init__()\n"
TAKES = f"{NET}{MAKES}    def forward(self, x, edge_index, batch):\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x = 1\n", "this file defines none; name one"),
        (f"{NET}    pass\nclass Other(Net):\n    pass\n", r"has several \(Net, Other\); name one, .* mine.py:Net"),
        ("ENCODER = 3\n", "ENCODER must be a subclass of torch.nn.Module or a function that makes one"),
        ("from torch import nn\nENCODER = nn.Linear(2, 2)\n", "ENCODER must be a subclass"),
        ("ENCODER = lambda n: n\n", "encoder mine: made a int, not a torch.nn.Module"),
        (f"{NET}    def __init__(self, n, heads):\n        pass\n", r"encoder Net\(n, heads\): it is called .*heads"),
        (f"{NET}    def __init__(self, n):\n        raise KeyError('no')\n", r"Net of .*mine.py, line 5: KeyError"),
        (f"{NET}{MAKES}    def forward(self, data):\n        pass\n", r"its forward\(data\) must take x and edge"),
        (f"{NET}{MAKES}    def forward(self, x, edge_index, t):\n        pass\n", "others need a default"),
        (f"{TAKES}        return x[:1]\n", r"returned \[1, 3\] for 5 nodes in 2 graphs"),
        (f"{TAKES}        return x[:, 0]\n", r"returned \[5\] for 5 nodes"),
        (f"{TAKES}        return x[:, :0]\n", r"returned \[5, 0\] for 5 nodes"),
        (f"{TAKES}        return x.long()\n", "returned torch.int64; embeddings must be floating point"),
        (f"{TAKES}        return x, x\n", "returned a tuple; it must return a tensor"),
        (f"{TAKES}        return x @ x\n", r"Net of .*mine.py, line 7: RuntimeError"),
    ],
)  # fmt: skip
def test_what_is_not_an_encoder_is_reported_in_one_line(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(text)
    with pytest.raises(SettingError, match=words) as error:
        build_encoder(encoder_reference(str(path)), 3, layers=2, units=8)
    assert "\n" not in str(error.value)


def test_an_output_that_changes_its_shape_is_reported_in_one_line() -> None:
    class Fickle(nn.Module):
        def __init__(self, num_features: int) -> None:
            super().__init__()

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return x if len(x) == 5 else x[1:]

    encoder = built(Fickle, 4)
    with pytest.raises(SettingError, match=r"encoder Fickle returned \[6, 4\] where \[7, 4\] was expected"):
        encoder(random_graphs([4, 3]))
    assert encoder_label(encoder.name) == "Fickle"


def test_graphs_without_nodes_have_embeddings() -> None:
    graphs = random_graphs([0, 4, 0, 0])
    empty: Graphs = GRAPHS.take(torch.tensor([4]))
    for kind in (Normed, Pooling):
        for batch in (graphs, empty):
            assert embed_graphs(built(kind, 4), batch, "sum").shape == (len(batch), 8)
