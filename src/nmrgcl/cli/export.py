"""``nmrgcl export``."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmrgcl.cli.options import AsJson

if TYPE_CHECKING:
    from nmrgcl.export import Exported


def export(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="Model folder, a run of one, or bundled.", show_default=False)
    ],
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="Graphs to check the file with. (default: the model's own)"),
    ] = None,
    kind: Annotated[str, typer.Option("--format", metavar="torch-export|onnx", help="What to write.")] = "torch-export",
    out: Annotated[Path | None, typer.Option(help="File to write. (default: model.pt2 or model.onnx)")] = None,
    normalise: Annotated[
        str,
        typer.Option(metavar="none|l2|standardise|squash", help="The scale of rows; none: as the encoder has them."),
    ] = "none",
    as_json: AsJson = False,
) -> None:
    """Write a model as one file for other programs, which embeds any number of graphs of any size.

    The file is compared with the model on several batches before it is written, and timed on one core after that.

    Examples:

      nmrgcl export runs/mutag/seed-0

      nmrgcl export runs/mutag/seed-0 --format onnx --out mutag.onnx

      nmrgcl export runs/zinc/seed-0 molecules.csv --format onnx --normalise squash
    """
    from dataclasses import replace

    from nmrgcl.data.featured import featured_store
    from nmrgcl.data.features import apply_features
    from nmrgcl.data.loading import load
    from nmrgcl.evaluate.normalise import require_word
    from nmrgcl.export import FORMATS, export_model
    from nmrgcl.export.file import require_exportable, require_format
    from nmrgcl.model_folder import load_model
    from nmrgcl.run.model_folders import find_model
    from nmrgcl.run.own_data import load_own_data

    scale = require_word(normalise, "--normalise")
    path = out or Path("model").with_suffix(FORMATS[require_format(kind)][0])
    require_format(kind, path)
    folder = find_model(model)
    loaded = replace(load_model(folder), normalise=scale)
    require_exportable(loaded)
    dataset = load_own_data(folder, f"nmrgcl export {model}") if data is None else load(data)
    graphs = featured_store(dataset, loaded.features) or apply_features(dataset, loaded.features)
    found = export_model(loaded, graphs, path, kind)
    if as_json:
        times = [one.to_dict() for one in found.latency]
        facts = {"inputs": found.inputs, "output": found.output, "difference": found.difference, "latency": times}
        print(json.dumps({"out": str(path), "format": kind, **facts}))
    else:
        _print(found, kind)


def _print(found: "Exported", kind: str) -> None:
    print(f"{found.path}: {kind}; z {found.output} of")
    for name, shape in found.inputs.items():
        print(f"  {name:<11} {shape}")
    share = f"{found.difference:.1e} of the largest value"
    print(f"Equal to the model on {found.batches} batches: largest difference {share}.")
    name = "ONNX Runtime" if kind == "onnx" else "torch.export"
    print(f"\nmilliseconds on one core\n{'graphs':>7} {'nodes':>8} {'edges':>8} {'eager':>9} {name:>13}")
    for one in found.latency:
        print(f"{one.graphs:>7} {one.nodes:>8} {one.edges:>8} {one.eager:>9.2f} {one.exported:>13.2f}")
