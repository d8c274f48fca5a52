"""The SVM protocol on a GPU: its time, and whether its scores differ from those of LIBSVM.

NMRGCL_MIRROR=… python benchmarks/gpu_svm.py NCI1 COLLAB DD --json benchmarks/results/h200_svm.json

Embeddings are by untrained encoders of preset ``paper``, one per seed. Each is evaluated on ten folds, with C chosen
from the grid on five inner folds: 360 SVMs, or 1,080 for three classes. A GPU also solves the outer folds for every C.
The CPU uses all its cores; without a GPU, only the CPU is measured.
"""

import json
import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from bench.script import machine, print_json, script_parser
from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.data.loading import load
from nmrgcl.evaluate.svm import svm_nested
from nmrgcl.methods import build_method
from nmrgcl.run.embeddings import embed_all
from nmrgcl.settings import resolve


def measure(name: str, seeds: int, device: torch.device, *, standardise: bool, host: bool) -> dict[str, Any]:
    """Seconds per case and mean accuracies and, with both devices, the largest difference of a fold."""
    dataset = load(name)
    graphs = apply_features(dataset, choose_features(dataset)).to(device)
    assert dataset.y is not None
    cases = []
    for seed in range(seeds):
        settings = replace(resolve("paper", method="untrained"), seed=seed)
        z = embed_all(build_method(settings, graphs.num_features).to(device), graphs)
        cases.append((z.cpu().numpy(), np.asarray(dataset.y), seed))
    row: dict[str, Any] = {"dataset": name, "graphs": len(graphs), "standardise": standardise, "seeds": seeds}
    options: dict[str, Any] = {"standardise": standardise, "inner": "shuffled"}
    found = {}
    places = {"gpu": device} if device.type == "cuda" else {}
    if host or not places:
        places["cpu"] = torch.device("cpu")
    for place, where in places.items():
        if place == "gpu":
            svm_nested(cases[:1], **options, device=where)  # The first call compiles the kernels.
        began = time.perf_counter()
        found[place] = svm_nested(cases, **options, device=where)
        row[f"{place}_seconds"] = (time.perf_counter() - began) / seeds
        row[f"{place}_accuracy"] = found[place].outer.mean(1).tolist()
    if len(found) == 2:
        row["largest_difference_of_a_fold"] = float(np.abs(found["gpu"].outer - found["cpu"].outer).max())
        row["difference_of_means"] = float((found["gpu"].outer - found["cpu"].outer).mean())
    return row


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("datasets", nargs="+")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--raw", action="store_true", help="also measure embeddings that are not standardised")
    parser.add_argument("--no-host", action="store_true", help="do not measure the CPU")
    parser.add_argument("--json")
    args = parser.parse_args()
    rows = []
    for name in args.datasets:
        for standardise in (True, False) if args.raw else (True,):
            where, host = torch.device(args.device), not args.no_host
            rows.append(measure(name, args.seeds, where, standardise=standardise, host=host))
            print(json.dumps(rows[-1]), flush=True)
    if args.json:
        print_json({"rows": rows, "machine": machine(args.device)}, args.json)


if __name__ == "__main__":
    main()
