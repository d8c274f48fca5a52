"""Write a model as a ``.pt2`` or ``.onnx`` file whose sizes are open, and compare the file with the model."""

import io
import json
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nmrgcl import __version__, atomic
from nmrgcl.errors import ModelError, SettingError, nearest, writing
from nmrgcl.export.check import Latency, Run, batches, largest_difference, latencies
from nmrgcl.export.plain import Plain
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Pretraining
from nmrgcl.model_folder import Model
from nmrgcl.train.feed import Source

LIMIT = 1e-4
"""A file whose embeddings differ from the model's by more than this share of the largest value is not written."""
_SIZES = {"x": (0, "nodes"), "edge_index": (1, "edges"), "ptr": (0, "graphs + 1")}
_SIZES |= {"edge_attr": (0, "edges"), "edge_weight": (0, "edges")}


@dataclass(frozen=True)
class Exported:
    """What was written, and how it compares with the model.

    Attributes:
        inputs: the name of each input, and its shape in words.
        output: the shape of ``z``, in words.
        difference: from the model's embeddings, as a share of the largest value; over ``batches`` of several sizes.
        latency: milliseconds on one core, next to the model itself.
    """

    path: Path
    inputs: dict[str, str]
    output: str
    batches: int
    difference: float
    latency: list[Latency]


def export_model(model: Model, graphs: Source, out: Path, kind: str) -> Exported:
    """Write ``model`` to ``out``; ``graphs`` (with the model's features) show what its inputs look like."""
    _, write, read = FORMATS[require_format(kind, out)]
    method = require_exportable(model)
    plain = Plain(method.encoder, method.readout if method.level == "graph" else None, model.normalise, model.columns)
    parts = [part.to("cpu") for part in batches(graphs, method.level)]
    given = inputs_of(parts[0], model)
    about = {"nmrgcl": __version__, "settings": model.settings.to_dict(), "features": model.features.to_dict()}
    about["inputs"] = shapes = {name: _shape(name, value) for name, value in given.items()}
    with _quiet(), torch.no_grad():
        content = write(_program(plain.eval(), given), json.dumps(about))
        run = read(content)
    asked = [(part, inputs_of(part, model)) for part in parts]
    worst = max(largest_difference(model, part, run(inputs)) for part, inputs in asked)
    # Written so that NaN is refused, too.
    if not worst <= LIMIT:
        raise ModelError(f"{out}: not written, because it differs from the model by {worst:.1e} of the largest value")
    with writing(out):
        atomic.write_bytes(out, content)
    rows = "nodes" if method.level == "node" else "graphs"
    times = latencies(model, [(part, inputs) for part, inputs in asked if part.num_edges], run)
    return Exported(out, shapes, f"[{rows}, {method.width}]", len(parts), worst, times)


def require_format(kind: str, out: Path | None = None) -> str:
    """``kind`` if it is one of ``FORMATS``, and if ``out`` has its ending."""
    if kind not in FORMATS:
        raise SettingError(f"--format {kind}: {nearest(kind, FORMATS)}")
    if out is not None and out.suffix != FORMATS[kind][0]:
        raise SettingError(f"{out}: the ending must be {FORMATS[kind][0]} for {kind}")
    return kind


def require_exportable(model: Model) -> Pretraining:
    """The method, if its embeddings are those of an encoder and a readout; any other cannot be a fixed program."""
    method, label = model.method.to("cpu"), model.settings.label
    if not isinstance(method, Pretraining):
        raise ModelError(
            f"method {label} cannot be exported: it has no encoder, but looks graphs up in what it has seen; "
            "export a model of a method that trains an encoder"
        )
    if method.colours.width:
        raise ModelError(
            "this model cannot be exported: its embeddings also count colours, which are not a network; export a model "
            "trained with colours.width=0"
        )
    if type(method).embed is not Pretraining.embed:
        raise ModelError(
            f"method {label} cannot be exported: beside its encoder it needs a decomposition or diffusion of each "
            "graph; export a model of another method"
        )
    return method


def inputs_of(graphs: Graphs, model: Model) -> dict[str, Tensor]:
    """The arguments of an exported model for these graphs."""
    given = {"x": graphs.x if graphs.categorical else graphs.dense_x(), "edge_index": graphs.edge_index}
    if model.settings.level == "graph":
        given["ptr"] = graphs.node_ptr
    if model.features.edges is not None and graphs.edge_attr is not None:
        given["edge_attr"] = graphs.edge_attr
    if graphs.edge_weight is not None and model.settings.encoder.name != "gat":  # which does not look at weights
        given["edge_weight"] = graphs.edge_weight.float()
    return given


def _shape(name: str, value: Tensor) -> str:
    place, word = _SIZES[name]
    sizes = [word if place == number else str(size) for number, size in enumerate(value.shape)]
    return f"[{', '.join(sizes)}] {str(value.dtype).removeprefix('torch.')}"


def _program(plain: Plain, given: dict[str, Tensor]) -> Any:
    from torch.fx.experimental import _config as private

    _config: Any = private
    if not hasattr(_config, "backed_size_oblivious"):
        raise SettingError(f"export needs torch 2.7 or later, not {torch.__version__}; pip install -U torch")
    sizes = {name: {_SIZES[name][0]: torch.export.Dim.DYNAMIC} for name in given}
    # Without it the program would refuse one graph, one node and no edges: torch takes such sizes for special cases.
    with _config.patch(backed_size_oblivious=True):
        return torch.export.export(plain, (), given, dynamic_shapes=sizes, strict=False)


def _write_torch(program: Any, about: str) -> bytes:
    file = io.BytesIO()
    torch.export.save(program, file, extra_files={"nmrgcl.json": about})
    return file.getvalue()


def _read_torch(content: bytes) -> Run:
    module = torch.export.load(io.BytesIO(content)).module()
    return lambda given: module(**given)


def _write_onnx(program: Any, about: str) -> bytes:
    onnx = _needed("onnx", "onnxscript")
    made = torch.onnx.export(program, dynamo=True, verbose=False, output_names=["z"], optimize=True)
    proto = made.model_proto  # type: ignore[union-attr]
    _name_sizes(proto.graph)
    onnx.helper.set_model_props(proto, {"nmrgcl": about})
    content: bytes = proto.SerializeToString()
    return content


def _name_sizes(graph: Any) -> None:
    """Nodes, edges and graphs by these words, in place of the numbered symbols that torch has for them."""
    words = {"graphs + 1": "graphs_plus_1"}
    known = {}
    for value in graph.input:
        place, word = _SIZES[value.name]
        known[value.type.tensor_type.shape.dim[place].dim_param] = words.get(word, word)
    known |= {f"{symbol} - 1": "graphs" for symbol, word in known.items() if word == "graphs_plus_1"}
    for value in (*graph.input, *graph.output):
        for size in value.type.tensor_type.shape.dim:
            if size.dim_param:
                size.dim_param = known.get(size.dim_param, size.dim_param)
    del graph.value_info[:]  # which would still say the symbols


def _read_onnx(content: bytes) -> Run:
    runtime = _needed("onnxruntime")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return lambda given: torch.from_numpy(session.run(None, {name: value.numpy() for name, value in given.items()})[0])


def _needed(*modules: str) -> Any:
    from importlib import import_module

    try:
        first, *_ = (import_module(name) for name in modules)
        return first
    except ImportError:
        raise SettingError(
            f"--format onnx needs {' and '.join(modules)}, which is not installed; pip install 'nmrgcl[onnx]'"
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Exporters tell of their own deprecations and of libraries that are not needed here."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)


FORMATS: dict[str, tuple[str, Callable[[Any, str], bytes], Callable[[bytes], Run]]] = {
    "torch-export": (".pt2", _write_torch, _read_torch),
    "onnx": (".onnx", _write_onnx, _read_onnx),
}
"""The ending of a file, what makes its content, and what makes a function of that again."""
