"""The cost of tracking collapse relative to training, if it is measured every tenth epoch.

NMRGCL_MIRROR=… python benchmarks/tracking.py > benchmarks/results/tracking.json      # one thread, two minutes
"""

import json
import time
from collections.abc import Callable
from statistics import median

import torch

from nmrgcl.data.features import choose_features
from nmrgcl.data.loading import load
from nmrgcl.diagnose.track import track
from nmrgcl.methods import build_method
from nmrgcl.run.cell_data import training_source
from nmrgcl.run.embeddings import embed_some
from nmrgcl.run.recipe import recipe
from nmrgcl.train import pretrain

CPU = torch.device("cpu")
EVERY = 10


def seconds(work: Callable[[], object], times: int = 7) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return median(taken)


def measure(name: str, preset: str) -> dict[str, object]:
    settings = recipe("nmrgcl", preset=preset, assignments=["epochs=6"])
    dataset, options = load(name), settings.data
    features = choose_features(dataset, options.features, options.max_degree, options.scale)
    graphs = training_source(dataset, features, settings, CPU)
    method = build_method(settings, features.width)
    epochs = [epoch.seconds for epoch in pretrain(method, graphs, settings.train, device=CPU, seed=0)]
    epoch = median(epochs[1:])  # The first one is a warm-up.
    z = embed_some(method, graphs)
    embedding, instruments = seconds(lambda: embed_some(method, graphs)), seconds(lambda: track(z))
    share = (embedding + instruments) / (EVERY * epoch)
    return {"dataset": name, "preset": preset, "epoch_s": epoch, "embed_s": embedding, "track_s": instruments} | {
        "rows": z.shape[0],
        "dimensions": z.shape[1],
        "percent": round(100 * share, 1),
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    rows = [measure(name, preset) for name in ("MUTAG", "PROTEINS", "NCI1") for preset in ("graphcl", "strong")]
    print(json.dumps({"every": EVERY, "rows": rows}, indent=2))
