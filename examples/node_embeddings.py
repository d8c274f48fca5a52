"""Embed the nodes of one graph without labels, then classify all nodes from a few labelled ones.

python node_embeddings.py

The graph has three communities and noisy features; either alone says little about a node.
"""

import networkx as nx
import numpy as np
from sklearn.linear_model import LogisticRegression

from nmrgcl import GraphEmbedder

SIZE, LABELLED = 80, 5
"""Nodes per community, and how many of them have a label."""


def planted() -> tuple[nx.Graph, np.ndarray, np.ndarray]:
    """The graph with features as attribute ``x``, the features, and each node's community."""
    community = np.repeat(np.arange(3), SIZE)
    chances = np.full((3, 3), 0.01) + 0.07 * np.eye(3)
    graph = nx.stochastic_block_model([SIZE] * 3, chances, seed=0)
    features = np.random.default_rng(0).normal(size=(len(community), 12))
    features[np.arange(len(community)), community] += 1
    for node in graph:
        graph.nodes[node]["x"] = features[node].tolist()
    return graph, features, community


def main() -> None:
    """Print the accuracy on nodes without a label: features, untrained and trained encoder."""
    graph, features, community = planted()
    rows = {"features": features}
    for method, settings in (("untrained", {}), ("cca_ssg", {"epochs": 20})):
        # node_feature keeps the other attribute, "block", which is the answer, from the encoder.
        embedder = GraphEmbedder(method, level="node", node_feature="x", settings=settings)
        rows[method] = embedder.fit_transform(graph)

    labelled = np.concatenate([np.flatnonzero(community == one)[:LABELLED] for one in range(3)])
    others = np.setdiff1d(np.arange(len(community)), labelled)
    for name, z in rows.items():
        judge = LogisticRegression(max_iter=1000).fit(z[labelled], community[labelled])
        print(f"{name:<10} {100 * judge.score(z[others], community[others]):.0f} % right")


if __name__ == "__main__":
    main()
