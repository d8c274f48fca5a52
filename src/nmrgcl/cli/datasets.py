"""``nmrgcl datasets``."""

import json
from typing import TYPE_CHECKING, Any

import typer

from nmrgcl.cli.options import AsJson, Data

if TYPE_CHECKING:
    from nmrgcl.data.dataset import Dataset

app = typer.Typer(help="Datasets by name, and what is in them.", no_args_is_help=True)


@app.command("list")
def list_datasets(as_json: AsJson = False) -> None:
    """List the datasets that load by name, with their published statistics.

    Examples:

      nmrgcl datasets list
    """
    from nmrgcl.data import CATALOG

    rows: list[dict[str, Any]] = [
        {
            "name": entry.name,
            "aliases": list(entry.aliases),
            "graphs": entry.graphs,
            "nodes": entry.avg_nodes,
            "edges": entry.avg_edges,
            "classes": entry.classes,
        }
        for entry in CATALOG
    ]
    if as_json:
        print(json.dumps({"datasets": rows}))
        return
    print(f"{'name':<16} {'graphs':>6} {'nodes':>8} {'edges':>8} {'classes':>7}   also known as")
    for row in rows:
        aliases = ", ".join(row["aliases"])
        line = f"{row['name']:<16} {row['graphs']:>6} {row['nodes']:>8.2f} {row['edges']:>8.2f} {row['classes']:>7}"
        print(f"{line}   {aliases}".rstrip())
    print("motifs           synthetic: cycles, cliques and stars planted in random graphs; always there")


@app.command()
def info(data: Data, as_json: AsJson = False) -> None:
    """Measure a dataset: sizes, degrees, features and classes, beside what is published.

    Examples:

      nmrgcl datasets info MUTAG

      nmrgcl datasets info path/to/MY_GRAPHS.zip --json
    """
    from nmrgcl.data import load
    from nmrgcl.data.catalog import find

    dataset = load(data)
    facts = _measure(dataset)
    entry = find(dataset.name)
    if entry is not None:
        facts["published"] = {
            "graphs": entry.graphs,
            "nodes": entry.avg_nodes,
            "edges": entry.avg_edges,
            "classes": entry.classes,
        }
    if as_json:
        print(json.dumps(facts))
        return
    for name, value in facts.items():
        text = ", ".join(f"{k}: {v}" for k, v in value.items()) if isinstance(value, dict) else value
        print(f"{name.replace('_', ' '):<16} {text}")


def _measure(dataset: "Dataset") -> dict[str, Any]:
    import torch

    graphs, statistics = dataset.graphs, dataset.statistics
    sizes, degrees = graphs.node_ptr.diff(), graphs.row_ptr.diff()
    bounds = [0, 1, 2, 3, 4, 8, 16, 32, 64]
    counts = torch.bucketize(degrees, torch.tensor(bounds[1:]), right=True).bincount(minlength=len(bounds)).tolist()
    labels, attributes = dataset.node_labels, dataset.node_attributes
    classes = {} if graphs.y is None else dict(zip(dataset.classes, graphs.y.bincount().tolist(), strict=True))
    return {
        "name": dataset.name,
        "source": dataset.source,
        "measured": {
            "graphs": statistics.graphs,
            "nodes": round(statistics.avg_nodes, 2),
            "edges": round(statistics.avg_edges, 2),
            "classes": statistics.classes,
        },
        "smallest_graph": int(sizes.min()) if len(sizes) else 0,
        "largest_graph": int(sizes.max()) if len(sizes) else 0,
        "degrees_from": dict(zip(bounds, counts, strict=True)),
        "node_labels": None if labels is None else [len(set(column.tolist())) for column in labels.T],
        "node_attributes": None if attributes is None else attributes.shape[1],
        "class_sizes": classes,
        "left_out": {"self-loops": dataset.self_loops, "repeated edges": dataset.duplicate_edges},
        "one_way_edges": dataset.one_way_edges,
    }
