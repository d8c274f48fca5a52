"""Ways to sum over neighbours on a CPU, on one thread, with a batch the size of 128 NCI1 graphs.

    python benchmarks/aggregate.py [--json]

The peer is PyTorch's ``index_add``, which PyG's layers use without its compiled extensions.
"""

import json
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from bench.script import script_parser
from nmrgcl.graphs import Graphs
from nmrgcl.ops.neighbour_sum import neighbour_sum

NODES, EDGES, REPEATS = 3824, 8268, 101


@torch.library.custom_op("nmrgcl_benchmark::sums", mutates_args=())
def registered_sums(h: Tensor, source: Tensor, row_ptr: Tensor) -> Tensor:
    """Our sums as an operator of ``torch.library``, for undirected graphs, whose sums are their own gradients."""
    return embedding_bag(source, h, row_ptr, mode="sum", include_last_offset=True)


def _save(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[1:])


def _gradient(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
    return registered_sums(grad, *ctx.saved_tensors), None, None


registered_sums.register_autograd(_gradient, setup_context=_save)


def microseconds(run: Callable[[], object]) -> float:
    """The median over repeats, after a warm-up."""
    times = []
    for _ in range(REPEATS + 10):
        began = time.perf_counter()
        run()
        times.append(1e6 * (time.perf_counter() - began))
    return statistics.median(times[10:])


def ways(graphs: Graphs) -> dict[str, Callable[[Tensor], Tensor]]:
    source, destination = graphs.edge_index
    matrix = torch.sparse_csr_tensor(graphs.row_ptr, source, torch.ones(graphs.num_edges), (NODES, NODES))
    return {
        "index_add": lambda x: torch.zeros_like(x).index_add(0, destination, x.index_select(0, source)),
        "segment_reduce": lambda x: torch.segment_reduce(x[source], "sum", offsets=graphs.row_ptr, axis=0, unsafe=True),
        "CSR product": lambda x: matrix @ x,
        "embedding_bag": lambda x: embedding_bag(source, x, graphs.row_ptr, mode="sum", include_last_offset=True),
        "torch.library": lambda x: registered_sums(x, source, graphs.row_ptr),
        "ours": lambda x: neighbour_sum(x, graphs),
    }


def measure(units: int) -> list[dict[str, object]]:
    torch.manual_seed(0)
    pairs = torch.randint(NODES, (2, EDGES // 2))
    graphs = Graphs.build(torch.cat([pairs, pairs.flip(0)], 1), torch.tensor([0, NODES]))
    x, grad = torch.randn(NODES, units, requires_grad=True), torch.randn(NODES, units)
    rows: list[dict[str, object]] = []
    for name, way in ways(graphs).items():
        torch.testing.assert_close(way(x), neighbour_sum(x, graphs), atol=1e-4, rtol=1e-4)
        with torch.no_grad():
            forward = microseconds(lambda way=way: way(x))  # type: ignore[misc]
        both = microseconds(lambda way=way: way(x).backward(grad))  # type: ignore[misc]
        rows.append({"way": name, "units": units, "forward": round(forward), "forward and backward": round(both)})
    return rows


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message="Sparse")
    rows = [row for units in (1, 32, 128) for row in measure(units)]
    if arguments.json:
        print(json.dumps({"threads": 1, "torch": torch.__version__, "unit": "µs", "rows": rows}))
        return
    for row in rows:
        print(f"{row['units']:>4} units  {row['way']:<16} {row['forward']:>6} µs  {row['forward and backward']:>6} µs")


if __name__ == "__main__":
    main()
