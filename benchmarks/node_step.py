"""A step of nmrGCL on all nodes of a graph with streamed negatives, compared with the plain 2N × 2N matrix form.

    python benchmarks/node_step.py PubMed                                # time and peak memory, streamed
    python benchmarks/node_step.py PubMed --forms streamed plain --precision float32 tf32 --device cuda --json FILE

Each form is measured in a separate process, because the peak memory of a process never falls.
"""

import argparse
import itertools
import json
import resource
import statistics
import subprocess
import sys
import time

import torch

from bench.graphs_at_hand import load_graphs
from bench.script import machine, print_json, script_parser
from nmrgcl.methods import build_pretraining
from nmrgcl.ops import negatives, pair_loss
from nmrgcl.ops.forms import switched_off
from nmrgcl.settings import resolve
from nmrgcl.train.precision import Precision, matrix_precision
from nmrgcl.train.state import TrainingState
from nmrgcl.train.step import GuardedStep


def measure(name: str, form: str, device: str, steps: int, units: int, precision: Precision) -> dict[str, object]:
    """Median seconds of ``steps`` steps after a first one, and the peak memory of the process or the GPU."""
    graphs = load_graphs(name, torch.device(device))
    settings = resolve("node", assignments=[f"encoder.units={units}"])
    method = build_pretraining(settings, graphs.num_features).to(device).train()
    step, seconds = GuardedStep(method, method.optimisers(settings.train), TrainingState().to(graphs.device)), []
    for _ in range(steps + 1 if steps > 1 else 1):
        began = time.perf_counter()
        with matrix_precision(precision, graphs.device):
            step(graphs)
        if device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
    if device == "cuda":
        peak = torch.cuda.max_memory_allocated() / 2**30
    else:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    typical = statistics.median(seconds[1:] or seconds)
    return {
        "dataset": name,
        "form": form,
        "units": units,
        "precision": precision,
        "seconds": typical,
        "peak_gb": peak,
    }


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("dataset", nargs="?", default="PubMed")
    parser.add_argument("--forms", nargs="+", default=["streamed"], choices=["streamed", "plain"])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--units", type=int, default=512)
    parser.add_argument("--precision", nargs="+", default=["float32"], choices=["float32", "tf32"])
    parser.add_argument("--json")
    parser.add_argument("--inner", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inner:
        # Without these forms the loss is that of the matrix, whatever its size.
        others = [*negatives.FORMS[1:], *pair_loss.FORMS[1:]] if args.forms[0] == "plain" else []
        with switched_off(*others):
            row = measure(args.dataset, args.forms[0], args.device, args.steps, args.units, args.precision[0])
        print(json.dumps(row))
        return
    common = ["--device", args.device, "--steps", str(args.steps), "--units", str(args.units), "--inner"]
    rows = []
    for form, precision in itertools.product(args.forms, args.precision):
        command = [sys.executable, __file__, args.dataset, "--forms", form, "--precision", precision, *common]
        rows.append(json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout))
    print_json({"rows": rows, "machine": machine(args.device)}, args.json)


if __name__ == "__main__":
    main()
