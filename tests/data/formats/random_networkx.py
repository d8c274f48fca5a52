"""Random NetworkX graphs of all kinds with attributes of all kinds, and what they are as plain graphs."""

import random
from typing import Any

import networkx as nx

from tests.data.formats.slow_attributed import Plain

KINDS = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)


def random_graph(kind: Any, seed: int, *, y: bool) -> Any:
    """Up to eight nodes, loops and (where the kind has them) parallel edges; integer ids."""
    random_ = random.Random(seed)
    graph = kind(name="with a name")
    names = random_.sample(range(-5, 100), random_.randint(1, 8))
    for name in names:
        graph.add_node(
            name, f=random_.uniform(-1e3, 1e3), g=random_.randint(-9, 9), b=random_.random() < 0.5, t="a & <b>"
        )
        if y and random_.random() < 0.8:
            graph.nodes[name]["y"] = random_.choice("ABC")
    for _ in range(random_.randint(0, 15)):
        values: dict[str, Any] = {"label": random_.randint(0, 3), "e": random_.random() / 1e6, "t": 'q "q"'}
        if random_.random() < 0.5:
            values["weight"] = random_.choice([1, 2, 0.5])
        graph.add_edge(random_.choice(names), random_.choice(names), **values)
    if not y and random_.random() < 0.8:
        graph.graph["y"] = random_.randint(-3, 3)
    return graph


def plain(graph: Any) -> Plain:
    edges = [(u, v, values, not graph.is_directed()) for u, v, values in graph.edges(data=True)]
    return Plain({k: v for k, v in graph.graph.items() if k == "y"}, dict(graph.nodes(data=True)), edges)
