"""``torch.compile`` of the plain forms, beside the plain forms as they are and beside all forms.

    python benchmarks/compiled_step.py [NCI1] [--device cuda] [--json]

Forward and backward pass of nmrGCL with a GIN of 3 × 32 units on two views of one batch of 128 graphs. On a GPU each is
recorded as a CUDA graph, as training does. The value is the time with all forms; compile time goes to standard error.
"""

import sys
import time
from collections.abc import Callable

import torch
from torch import Tensor

from bench.graphs_at_hand import load_graphs
from bench.script import print_rows, script_parser
from bench.table import Row
from bench.timing import Measure, in_turn, one_thread, row, stopwatch
from nmrgcl.contrast import infonce
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_pretraining
from nmrgcl.methods.nmrgcl import NMRGCL
from nmrgcl.ops.forms import forms, switched_off
from nmrgcl.settings import resolve

REPEATS, STEPS, BATCH = 9, {"cuda": 200, "cpu": 5}, 128


def passes(graphs: Graphs, *, compiled: bool) -> Callable[[], None]:
    """A function that computes the loss of two fixed views of a batch, and its gradients."""
    settings = resolve("graphcl", assignments=["layers=3", "encoder.units=32"])
    torch.manual_seed(0)
    method = build_pretraining(settings, graphs.num_features).to(graphs.device)
    assert isinstance(method, NMRGCL)
    batch = graphs.take_padded(torch.arange(BATCH, device=graphs.device), graphs.room_for(BATCH))
    views = [method.views[side](batch) for side in range(2)]

    def loss(first: Graphs, second: Graphs) -> Tensor:
        z1, z2 = (method.head(method.embed(view)) for view in (first, second))
        return infonce(z1, z2)

    chosen = torch.compile(loss) if compiled else loss

    def run() -> None:
        method.zero_grad(set_to_none=False)
        chosen(*views).backward()

    return run


def recorded(run: Callable[[], None], device: torch.device) -> Callable[[], None]:
    """``run`` as a CUDA graph; on a CPU ``run`` itself."""
    if device.type != "cuda":
        run()
        return run
    torch.cuda.synchronize()  # The batch is made on another stream.
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def measure(name: str, graphs: Graphs) -> list[Row]:
    device, faster = graphs.device, tuple(form for form in forms() if form.name != "plain")
    steps = STEPS[device.type]
    ready = {"all forms": recorded(passes(graphs, compiled=False), device)}
    with switched_off(*faster):
        ready["plain forms"] = recorded(passes(graphs, compiled=False), device)
        began = time.perf_counter()
        ready["torch.compile of the plain forms"] = recorded(passes(graphs, compiled=True), device)
        print(f"{name}: compiled in {time.perf_counter() - began:.1f} s", file=sys.stderr)

    def measured(key: str) -> Measure:
        def run() -> None:
            with switched_off(*(() if key == "all forms" else faster)):
                ready[key]()

        return stopwatch(run, device, calls=steps)

    times = in_turn({key: measured(key) for key in ready}, REPEATS)
    return [
        row(f"{name}: two passes and gradients, to {key}", "ms", times["all forms"], times[key], scale=1e3)
        for key in ("plain forms", "torch.compile of the plain forms")
    ]


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("datasets", nargs="*", default=["NCI1"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    device = torch.device(arguments.device)
    with one_thread():
        rows = [one for name in arguments.datasets for one in measure(name, load_graphs(name, device))]
    print_rows(rows, device, as_json=arguments.json)


if __name__ == "__main__":
    main()
