"""The Weisfeiler–Lehman kernel compared with GraKeL, which computes the same matrix.

python benchmarks/wl.py [--graphs 1000] [--iterations 5] [--repeats 5] [--json]      # 30 s

Both compute the kernel of the first graphs of each dataset in turn, on one thread; results are CPU seconds, the minimum
over repeats. GraKeL returns one normalised matrix, for the last round; ``one`` does the same, and ``all`` returns those
of all rounds, among which the SVM chooses. The input for GraKeL is prepared beforehand.
"""

import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from bench.script import print_facts, script_parser
from bench.timing import one_thread
from nmrgcl import load
from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_method
from nmrgcl.methods.wl import WL, normalised
from nmrgcl.run.recipe import recipe
from nmrgcl.words.wl import numbered_labels

DATASETS = ("NCI1", "PROTEINS", "IMDB-BINARY")


def first_graphs(name: str, count: int, max_degree: int) -> Graphs:
    dataset = load(name)
    return apply_features(dataset, choose_features(dataset, max_degree=max_degree)).take(torch.arange(count))


def for_grakel(graphs: Graphs) -> list[Any]:
    edges, ptr, labels = graphs.edge_index.T.tolist(), graphs.edge_ptr.tolist(), graphs.x[:, 0].tolist()
    nodes = graphs.node_ptr.tolist()
    return [
        [[tuple(edge) for edge in edges[ptr[g] : ptr[g + 1]]], {v: labels[v] for v in range(nodes[g], nodes[g + 1])}]
        for g in range(len(graphs))
    ]


def best_times(computations: Mapping[str, Callable[[], Any]], repeats: int) -> tuple[dict[str, float], dict[str, Any]]:
    """The minimum CPU seconds of each computation, measured in turn, and their results."""
    seconds, found = dict.fromkeys(computations, float("inf")), {}
    for _ in range(repeats):
        for name, compute in computations.items():
            begin = time.process_time()
            found[name] = compute()
            seconds[name] = min(seconds[name], time.process_time() - begin)
    return seconds, found


def measure(name: str, count: int, iterations: int, repeats: int) -> dict[str, Any]:
    from grakel import WeisfeilerLehman

    settings = recipe("wl", assignments=[f"iterations={iterations}"])
    graphs = first_graphs(name, count, settings.data.max_degree)
    method = build_method(settings, graphs.num_features)
    assert isinstance(method, WL)
    given = for_grakel(graphs)

    def one() -> torch.Tensor:
        for total in method.products(graphs):
            last = total
        return normalised(last)

    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        computations: dict[str, Callable[[], Any]] = {
            "one": one,
            "all": lambda: method.kernels(graphs)[-1],
            "grakel": lambda: WeisfeilerLehman(n_iter=iterations, normalize=True).fit_transform(given),
        }
        seconds, found = best_times(computations, repeats)
    words = sum(int(number.max()) + 1 for _, number in numbered_labels(graphs, iterations, method="wl"))
    return {
        "dataset": name,
        "graphs": len(graphs),
        "nodes": graphs.num_nodes,
        "words": words,
        "largest_difference": max(float(np.abs(found[key].numpy() - found["grakel"]).max()) for key in ("one", "all")),
        **{f"{key}_seconds": round(value, 4) for key, value in seconds.items()},
        "ratio_one": round(seconds["grakel"] / seconds["one"], 1),
        "ratio_all": round(seconds["grakel"] / seconds["all"], 1),
    }


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("--graphs", type=int, default=1000)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    for name in DATASETS:
        result = measure(name, options.graphs, options.iterations, options.repeats)
        print_facts(result, as_json=options.json)


if __name__ == "__main__":
    main()
