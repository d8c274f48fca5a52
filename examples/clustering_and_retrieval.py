"""Find groups of graphs, and the graphs most similar to a given one, with scikit-learn.

python clustering_and_retrieval.py

Three families of random graphs are mixed; their names are used to judge only.
"""

import networkx as nx
import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from nmrgcl import GraphEmbedder

FAMILIES = {
    "random": lambda n: nx.gnm_random_graph(n, 2 * n, seed=n),
    "scale-free": lambda n: nx.barabasi_albert_graph(n, 2, seed=n),
    "small-world": lambda n: nx.watts_strogatz_graph(n, 4, 0.1, seed=n),
}


def main() -> None:
    """Cluster the graphs, then look for the neighbours of new ones."""
    graphs = [make(n) for n in range(20, 50) for make in FAMILIES.values()]
    family = np.array([*FAMILIES] * 30)
    embedder = GraphEmbedder(preset="graphcl").fit(graphs)

    z = embedder.set_params(normalise="l2").transform(
        graphs
    )  # the scale may change without training again
    found = KMeans(len(FAMILIES), n_init=10, random_state=0).fit_predict(z)
    print(
        f"clusters and families agree: adjusted Rand index {adjusted_rand_score(family, found):.2f}"
    )

    index = NearestNeighbors(n_neighbors=3).fit(z)
    for name, make in FAMILIES.items():
        _, nearest = index.kneighbors(embedder.transform([make(60)]))
        print(f"nearest to a new {name} graph: {', '.join(family[nearest[0]])}")


if __name__ == "__main__":
    main()
