"""Sparse features and logistic regression for nodes, compared with other implementations on one thread.

    python benchmarks/nodes.py [--json FILE]

Features: ``x @ w`` with 512 units and its gradient. Evaluation: logistic regression on embeddings of an untrained
encoder for every C, to the optimum; the peer is scikit-learn at two tolerances.
"""

import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from torch.nn.functional import normalize

from bench.script import machine, print_json, script_parser
from nmrgcl import load
from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.data.splits import split_nodes
from nmrgcl.evaluate.linear import GRID
from nmrgcl.evaluate.logistic import fit_logistic, predict
from nmrgcl.methods import build_method
from nmrgcl.ops.sparse_product import sparse_product
from nmrgcl.settings import resolve
from nmrgcl.sparse_rows import sparse_rows

UNITS, REPEATS = 512, 3


def seconds(work: Callable[[], object]) -> float:
    """The minimum over repeats, after a warm-up."""
    times = []
    for _ in range(REPEATS + 1):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times[1:])


def product_rows(name: str) -> list[dict[str, object]]:
    attributes = load(name).node_attributes
    assert isinstance(attributes, csr_array)
    ptr, column, value = (
        torch.from_numpy(np.array(p)) for p in (attributes.indptr, attributes.indices, attributes.data)
    )
    x = sparse_rows(ptr.long(), column.long(), value, attributes.shape[1])
    weight = torch.randn(x.shape[1], UNITS, requires_grad=True)
    grad = torch.randn(x.shape[0], UNITS)
    ways: dict[str, Callable[[], torch.Tensor]] = {
        "row sums": lambda: sparse_product(x, weight),
        "PyTorch's sparse product": lambda: x @ weight,
    }
    if x.shape[0] * x.shape[1] < 2e7:
        dense = x.to_dense()
        ways["dense"] = lambda: dense @ weight
    share = len(value) / x.shape[0] / x.shape[1]
    return [
        {"dataset": name, "share": share, "way": way, "seconds": seconds(partial(_both_ways, work, grad))}
        for way, work in ways.items()
    ]


def _both_ways(work: Callable[[], torch.Tensor], grad: torch.Tensor) -> None:
    work().backward(grad)


def judge_rows(name: str, split: str) -> list[dict[str, object]]:
    data = load(name)
    graphs = apply_features(data, choose_features(data))
    assert data.y is not None
    with torch.no_grad():
        z = normalize(build_method(resolve("node"), graphs.num_features).eval().embed(graphs).double(), eps=1e-12)
    cut = split_nodes(split, data.y, seed=0)
    rows, labels, held = z[cut.train], torch.from_numpy(data.y[cut.train]), z[cut.valid]
    began = time.perf_counter()
    ours = predict(held, *fit_logistic(rows, labels, GRID)).numpy()
    spent = time.perf_counter() - began
    facts = {"dataset": name, "split": split, "rows": len(rows), "units": UNITS, "penalties": len(GRID)}
    found: list[dict[str, object]] = [{**facts, "way": "all penalties at once", "seconds": spent}]
    for tolerance in (1e-4, 1e-6):
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            models = [
                LogisticRegression(C=c, tol=tolerance, max_iter=5000).fit(rows.numpy(), labels.numpy()) for c in GRID
            ]
        theirs = np.stack([model.predict(held.numpy()) for model in models])
        spent, agree = time.perf_counter() - began, float((ours == theirs).mean())
        found.append({**facts, "way": f"scikit-learn, tol={tolerance}", "seconds": spent, "same predictions": agree})
    return found


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("--json")
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = [row for name in ("Coauthor-CS", "PubMed", "Amazon-Photo") for row in product_rows(name)]
    rows += judge_rows("PubMed", "random-10-10-80") + judge_rows("PubMed", "paper-80-10-10")
    print_json({"rows": rows, "machine": machine("cpu")}, args.json)


if __name__ == "__main__":
    main()
