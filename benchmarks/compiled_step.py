"""``torch.compile`` of the plain forms, beside the plain forms as they are and beside all forms.

    python benchmarks/compiled_step.py [NCI1] [--device cuda] [--json]

Forward and backward pass of GraphCL with a GIN of 3 × 32 units on two fixed views of one batch of 128 graphs. On a GPU
each is recorded as a CUDA graph, as training does, and compiled code is also measured without a recording. The value is
the time with all forms. Each row is printed as soon as it is measured; a row that fails is reported on standard error,
where compile times and losses go too, and the next one is measured.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import torch
from torch import Tensor
from torch._dynamo.utils import counters

from bench.graphs_at_hand import load_graphs
from bench.script import print_rows, script_parser
from bench.table import Row
from bench.timing import Measure, in_turn, one_thread, row, stopwatch
from nmrgcl.contrast import infonce
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_pretraining
from nmrgcl.methods.nmrgcl import NMRGCL
from nmrgcl.ops.forms import Form, forms, switched_off
from nmrgcl.settings import resolve
from nmrgcl.train.recording import Recording

REPEATS, STEPS, BATCH = 7, {"cuda": 100, "cpu": 5}, 128
FASTER = tuple(form for form in forms() if form.name != "plain")


class Passes:
    """The loss of two fixed views of a batch, and the gradients of all parameters; ``how`` computes the loss."""

    def __init__(self, graphs: Graphs) -> None:
        settings = resolve("graphcl", assignments=["layers=3", "encoder.units=32"])
        torch.manual_seed(0)
        method = build_pretraining(settings, graphs.num_features).to(graphs.device)
        assert isinstance(method, NMRGCL)
        batch = graphs.take_padded(torch.arange(BATCH, device=graphs.device), graphs.room_for(BATCH))
        self.method, self.seen = method, method.see(batch, *method.views)
        self.parameters = list(method.parameters())

    def loss(self) -> Tensor:
        z1, z2 = self.method.head(torch.cat([self.method.embed(view) for view in self.seen])).chunk(2)
        return infonce(z1, z2)

    def run(self, how: Callable[[], Tensor]) -> None:
        # Not backward(): it would add to gradients on the stream that first did so, which is not the recorded one.
        torch.autograd.grad(how(), self.parameters)


@dataclass(frozen=True)
class Variant:
    """One way to compute the passes; ``off`` are the forms that must not run."""

    how: Callable[[], Tensor]
    off: tuple[Form, ...] = FASTER
    recorded: bool = True


def ready(passes: Passes, variant: Variant, device: torch.device) -> Callable[[], None]:
    """The passes as ``variant`` computes them, compiled and recorded; what is replayed stays alive with the result."""

    def run() -> None:
        passes.run(variant.how)

    if device.type == "cuda" and not variant.off:
        from nmrgcl.ops.triton.compiling import compile_together

        with suppress(RuntimeError, IndexError):  # as in training: it only saves time
            compile_together(run)
    with switched_off(*variant.off):
        for _ in range(3):  # Compiling may take more than one call, and none of it can be part of a recording.
            run()
        if device.type == "cuda" and variant.recorded:
            return Recording(run, passes.method.buffers(), device).replay

    def run_without() -> None:
        with switched_off(*variant.off):
            run()

    return run_without


def measure(name: str, graphs: Graphs) -> Iterator[Row | None]:
    """Rows, and None for one that failed."""
    device, passes = graphs.device, Passes(graphs)
    compiled = torch.compile(passes.loss, dynamic=False)
    variants = {
        "plain forms": Variant(passes.loss),
        "torch.compile of the plain forms, not recorded": Variant(compiled, recorded=False),
        "torch.compile of the plain forms": Variant(compiled),
    }
    if device.type != "cuda":
        del variants["torch.compile of the plain forms, not recorded"]
    all_forms = stopwatch(ready(passes, Variant(passes.loss, off=()), device), device, calls=STEPS[device.type])
    _tell(f"{name}: loss with all forms {float(passes.loss().detach()):.6f}")
    for key, variant in variants.items():
        try:
            yield _compared(name, key, passes, variant, all_forms, device)
        except Exception as error:
            _tell(f"{name}: {key} failed: {type(error).__name__}: {error}")
            yield None


def _compared(name: str, key: str, passes: Passes, variant: Variant, all_forms: Measure, device: torch.device) -> Row:
    counters.clear()
    began = time.perf_counter()
    work = ready(passes, variant, device)
    with switched_off(*variant.off):
        loss = float(variant.how().detach())
    breaks = sum(counters["graph_break"].values())
    _tell(f"{name}: {key}: ready in {time.perf_counter() - began:.1f} s, loss {loss:.6f}, {breaks} graph breaks")
    for reason in counters["graph_break"]:
        _tell(f"  graph break: {reason.splitlines()[0]}")
    times = in_turn({"all": all_forms, key: stopwatch(work, device, calls=STEPS[device.type])}, REPEATS)
    return row(f"{name}: passes and gradients, to {key}", "ms", times["all"], times[key], scale=1e3)


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("datasets", nargs="*", default=["NCI1"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    device, failed = torch.device(arguments.device), False
    with one_thread():
        for name in arguments.datasets:
            for one in measure(name, load_graphs(name, device)):
                failed = failed or one is None
                if one is not None:
                    print_rows([one], device, as_json=arguments.json)
    sys.exit(failed)


if __name__ == "__main__":
    main()
