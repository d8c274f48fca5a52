"""Files of torch.export and ONNX equal the models they are made of, at every size."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from nmrgcl.data.features import FeatureSpec
from nmrgcl.encode import ENCODERS
from nmrgcl.errors import ModelError, SettingError
from nmrgcl.evaluate.normalise import ColumnScale
from nmrgcl.export import export_model, file
from nmrgcl.export.check import batches
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_method
from nmrgcl.model_folder import Model
from nmrgcl.run.recipe import recipe
from tests.examples import molecules_of, random_graphs

FORMATS = ["torch-export", "onnx"]


@pytest.fixture(autouse=True)
def measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nmrgcl.export.check.SECONDS", 0.0)
    monkeypatch.setattr("nmrgcl.export.check.FEWEST", 1)


def model_of(encoder: str, *, level: str = "graph", method: str = "graphcl", **options: Any) -> tuple[Model, Graphs]:
    wanted = {"encoder.name": encoder, "encoder.units": 8, "encoder.layers": 2, "level": level, "encoder.pool": "mean"}
    wanted |= options
    if encoder == "molecule":
        path = [(0, 1), (1, 2), (2, 3)]
        graphs = molecules_of(*((4 + n % 3, path[: 2 + n % 2]) for n in range(12)))
        features, shape = FeatureSpec("molecules", graphs.num_features), (5, 3)
        settings = recipe(method, assignments=wanted | {"data.edges": "labels"}, level="molecule")
    else:
        graphs, shape = random_graphs([3 + n % 4 for n in range(12 if level == "graph" else 1)], density=0.5), None
        features = FeatureSpec("attributes", 4)
        settings = recipe(method, assignments=wanted, level=level)
    built = build_method(settings, features.width, shape).eval()
    return Model(built, settings, features, "made up"), graphs


def onnx_or_skip(kind: str) -> None:
    if kind == "onnx":
        for module in ("onnx", "onnxscript", "onnxruntime"):
            pytest.importorskip(module, reason=f"{module} is not installed (extra onnx)")


def outputs_of(path: Path, given: dict[str, torch.Tensor]) -> torch.Tensor:
    """As somebody without nmrgcl would compute them."""
    if path.suffix == ".pt2":
        result: torch.Tensor = torch.export.load(path).module()(**given)
        return result
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return torch.from_numpy(session.run(["z"], {name: value.numpy() for name, value in given.items()})[0])


def require_names_and_settings(path: Path, model: Model) -> None:
    """An ONNX file names its sizes, and holds settings and features."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert [(one.name, one.shape) for one in session.get_inputs()] == [
        ("x", ["nodes", 4]),
        ("edge_index", [2, "edges"]),
        ("ptr", ["graphs_plus_1"]),
    ]
    assert [(one.name, one.shape) for one in session.get_outputs()] == [("z", ["graphs", 16])]
    about = json.loads(session.get_modelmeta().custom_metadata_map["nmrgcl"])
    assert about["settings"] == model.settings.to_dict()
    assert about["features"] == model.features.to_dict()


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_every_encoder_is_exported_with_open_sizes(encoder: str, kind: str, tmp_path: Path) -> None:
    onnx_or_skip(kind)
    model, graphs = model_of(encoder)
    if encoder == "molecule":
        from nmrgcl.data.edge_features import OF_MOLECULES

        model = replace(model, features=replace(model.features, edges=OF_MOLECULES))
    out = tmp_path / f"model{file.FORMATS[kind][0]}"
    found = export_model(model, graphs, out, kind)
    assert found.difference < 1e-5
    assert found.output == f"[graphs, {model.method.width}]"
    assert {one.graphs for one in found.latency} == {1, 8, 12}
    if (encoder, kind) == ("gin", "onnx"):
        require_names_and_settings(out, model)
    one = graphs.take(torch.tensor([5]))
    with torch.no_grad():
        for part in (one, graphs, batches(one, "graph")[-1]):
            z = outputs_of(out, file.inputs_of(part, model))
            torch.testing.assert_close(z, model.method.embed(part), rtol=1e-4, atol=1e-5)


def test_nodes_and_their_scale_are_exported(tmp_path: Path) -> None:
    kind = "onnx"  # which goes by torch.export
    onnx_or_skip(kind)
    model, graphs = model_of("gcn", level="node", method="grace", **{"encoder.activation": "prelu"})
    with torch.no_grad():
        z = model.method.embed(graphs).numpy()
    model = replace(model, normalise="squash", columns=ColumnScale.of(z))
    found = export_model(model, graphs, tmp_path / f"model{file.FORMATS[kind][0]}", kind)
    assert found.difference < 1e-5
    assert list(found.inputs) == ["x", "edge_index"]


def test_a_file_that_differs_from_its_model_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, graphs = model_of("gin")
    monkeypatch.setitem(file.FORMATS, "torch-export", (".pt2", lambda *_: b"", lambda _: lambda given: torch.ones(1)))
    with pytest.raises(ModelError, match="not written, because it differs"):
        export_model(model, graphs, tmp_path / "model.pt2", "torch-export")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("method", ["wl", "mvgrl", "gcc"])
def test_what_is_no_encoder_and_readout_says_why_it_is_not_exported(method: str, tmp_path: Path) -> None:
    level = "node" if method == "mvgrl" else "graph"
    settings = recipe(method, assignments={"encoder.units": 8}, level=level)
    model = Model(build_method(settings, 4), settings, FeatureSpec("attributes", 4), "made up")
    with pytest.raises(ModelError, match=f"method {method} cannot be exported: "):
        export_model(model, random_graphs([3]), tmp_path / "model.pt2", "torch-export")


def test_an_encoder_of_ones_own_says_why_it_is_not_exported(tmp_path: Path) -> None:
    from nmrgcl.run.recipe import with_encoder

    class Own(torch.nn.Module):
        def __init__(self, num_features: int) -> None:
            super().__init__()
            self.map = torch.nn.Linear(num_features, 3)

        def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
            out: torch.Tensor = self.map(x)
            return out

    settings = recipe("graphcl", assignments=with_encoder({}, Own), level="graph")
    model = Model(build_method(settings, 4), settings, FeatureSpec("attributes", 4), "made up")
    with pytest.raises(ModelError, match="an encoder of your own cannot be exported here"):
        export_model(model, random_graphs([3]), tmp_path / "model.pt2", "torch-export")


def test_a_missing_library_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    model, graphs = model_of("gin")
    monkeypatch.setitem(__import__("sys").modules, "onnxscript", None)
    with pytest.raises(SettingError, match=r"pip install 'nmrgcl\[onnx\]'"):
        export_model(model, graphs, tmp_path / "model.onnx", "onnx")


def test_formats_and_endings_are_checked_first(tmp_path: Path) -> None:
    model, graphs = model_of("gin")
    with pytest.raises(SettingError, match="did you mean onnx"):
        export_model(model, graphs, tmp_path / "model.onnx", "onx")
    with pytest.raises(SettingError, match=r"the ending must be \.pt2"):
        export_model(model, graphs, tmp_path / "model.onnx", "torch-export")
