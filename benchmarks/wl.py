"""The Weisfeiler–Lehman kernel against GraKeL's: the same matrix, how much sooner?

python benchmarks/wl.py [--graphs 1000] [--iterations 5] [--json]      # 20 s; one thread
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from nmrgcl.bench.timing import one_thread
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Embedder, build_method
from nmrgcl.run.recipe import recipe

NODES, NEIGHBOURS, LABELS = 30, 3, 5


def random_graphs(count: int) -> Graphs:
    """As large as molecules, with labels: each node is joined to random ones of its graph."""
    random = np.random.default_rng(0)
    sizes = random.integers(NODES // 2, 3 * NODES // 2, count)
    start = np.concatenate([[0], sizes.cumsum()])
    own = np.arange(start[-1]).repeat(NEIGHBOURS // 2 + 1)
    graph = np.arange(count).repeat(sizes).repeat(NEIGHBOURS // 2 + 1)
    other = start[graph] + (random.random(len(own)) * sizes[graph]).astype(np.int64)
    pairs = np.unique(np.sort(np.stack([own, other])[:, own != other], 0), axis=1)
    x = torch.from_numpy(random.integers(0, LABELS, (start[-1], 1)))
    edges = torch.from_numpy(np.concatenate([pairs, pairs[::-1]], 1))
    return Graphs.build(edges, torch.from_numpy(start), x=x, num_features=LABELS)


def for_grakel(graphs: Graphs) -> list[Any]:
    edges, ptr, labels = graphs.edge_index.T.tolist(), graphs.edge_ptr.tolist(), graphs.x[:, 0].tolist()
    nodes = graphs.node_ptr.tolist()
    return [
        [[tuple(edge) for edge in edges[ptr[g] : ptr[g + 1]]], {v: labels[v] for v in range(nodes[g], nodes[g + 1])}]
        for g in range(len(graphs))
    ]


def timed(compute: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    found = compute()
    return time.perf_counter() - begin, found


def measure(count: int, iterations: int) -> dict[str, float]:
    from grakel import WeisfeilerLehman

    graphs = random_graphs(count)
    method = build_method(recipe("wl", assignments=[f"iterations={iterations}"]), LABELS)
    assert isinstance(method, Embedder)
    given = for_grakel(graphs)
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, kernels = timed(lambda: method.kernels(graphs))
        theirs, expected = timed(lambda: WeisfeilerLehman(n_iter=iterations, normalize=True).fit_transform(given))
    return {
        "graphs": count,
        "iterations": iterations,
        "largest_difference": float(np.abs(kernels[-1].numpy() - expected).max()),
        "seconds": round(ours, 3),
        "grakel_seconds": round(theirs, 2),
        "ratio": round(theirs / ours, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = measure(options.graphs, options.iterations)
    print(json.dumps(result) if options.json else "  ".join(f"{k} {v}" for k, v in result.items()))


if __name__ == "__main__":
    main()
