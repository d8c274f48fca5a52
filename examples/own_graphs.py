"""Embed graphs of your own: write them as JSON lines, pre-train, save the model, embed new graphs.

python own_graphs.py

Every graph of the file has an id, edges and the kinds of its nodes; a class is not needed.
"""

import json
from pathlib import Path

import numpy as np

from nmrgcl import GraphEmbedder


def branching(name: str, branches: int, length: int) -> dict[str, object]:
    """A hub with branches, whose last nodes are leaves."""
    edges, kinds = [], ["hub"]
    for branch in range(branches):
        for step in range(length):
            node = 1 + branch * length + step
            edges.append([0 if step == 0 else node - 1, node])
            kinds.append("leaf" if step == length - 1 else "stem")
    return {"id": name, "edges": edges, "node_categories": {"kind": kinds}}


def main() -> None:
    """Embed two files of graphs by one model."""
    sizes = [(branches, length) for branches in range(3, 9) for length in range(1, 6)]
    known = [branching(f"{branches} x {length}", branches, length) for branches, length in sizes]
    new = [branching("new", 5, 6)]
    for file, graphs in (("known.jsonl", known), ("new.jsonl", new)):
        Path(file).write_text(
            "".join(json.dumps(graph) + "\n" for graph in graphs), encoding="utf-8"
        )

    embedder = GraphEmbedder(preset="graphcl", settings={"epochs": 10}).fit("known.jsonl")
    embedder.save("model")

    again = GraphEmbedder.load("model")
    z, z_new = again.transform("known.jsonl"), again.transform("new.jsonl")
    nearest = np.linalg.norm(z - z_new, axis=1).argmin()
    name = embedder.ids_[nearest]
    print(f"{len(z)} graphs, {z.shape[1]} numbers each; nearest to the new graph: {name}")


if __name__ == "__main__":
    main()
