"""A graph that is too large for one step: training on samples of it, then embedding all its nodes.

    python benchmarks/large_graph.py --nodes 1000000 --edges 20000000 --steps 30 --json FILE

``edges`` counts directed edges. Groups of nodes share a feature pattern and have mostly edges among themselves.
"""

import argparse
import resource
import statistics
import time

import torch

from bench.script import machine, print_json, script_parser
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_pretraining
from nmrgcl.run.embeddings import embed_all
from nmrgcl.settings import resolve
from nmrgcl.train.feed import open_feed
from nmrgcl.train.state import TrainingState
from nmrgcl.train.step import GuardedStep


def network(nodes: int, edges: int, features: int, groups: int = 100) -> Graphs:
    """A random undirected graph with heavy-tailed degrees, in which nine of ten edges are within a group."""
    torch.manual_seed(0)
    count = int(edges / 2 * 1.03)  # Some edges are drawn twice.
    first = (torch.rand(count) ** 1.5 * nodes).long().clamp_(max=nodes - 1)
    near = torch.randint(nodes // groups, (count,)) * groups + first % groups
    second = torch.where(torch.rand(count) < 0.9, near, torch.randint(nodes, (count,))).clamp_(max=nodes - 1)
    low, high = torch.minimum(first, second), torch.maximum(first, second)
    key = torch.unique((low * nodes + high)[low != high])
    del first, second, near, low, high
    key = key[torch.randperm(len(key))[: edges // 2]]
    pairs = torch.stack([key // nodes, key % nodes])
    del key
    pattern = torch.randn(groups, features)
    x = pattern[torch.arange(nodes) % groups] + torch.randn(nodes, features)
    return Graphs.build(torch.cat([pairs, pairs.flip(0)], 1), torch.tensor([0, nodes]), x=x)


def peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def measure(args: argparse.Namespace) -> dict[str, object]:
    graphs = network(args.nodes, args.edges, args.features).to(args.device)
    found: dict[str, object] = {"nodes": graphs.num_nodes, "edges": graphs.num_edges, "built_peak_gb": peak_gb()}
    assignments = [f"sampling={args.sampling}", f"batch_size={args.batch_size}", f"encoder.units={args.units}"]
    settings = resolve("node", assignments=assignments)
    method = build_pretraining(settings, graphs.num_features).to(args.device).train()
    step = GuardedStep(method, method.optimisers(settings.train), TrainingState().to(graphs.device))
    feed = open_feed(graphs, graphs.device, settings.train, "node")
    seconds, sizes = [], []
    for part in feed.cut()[: args.steps]:
        began = time.perf_counter()
        sample = feed.take(graphs, part)
        step(sample)
        if graphs.device.type == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - began)
        sizes.append((sample.num_nodes, sample.num_edges))
    found |= {
        "settings": assignments,
        "steps": len(seconds),
        "seconds_a_step": statistics.median(seconds),
        "nodes_a_step": statistics.median(size[0] for size in sizes),
        "edges_a_step": statistics.median(size[1] for size in sizes),
        "mean_loss": step.state.mean_loss,
        "trained_peak_gb": peak_gb(),
    }
    began = time.perf_counter()
    z = embed_all(method, graphs)
    found |= {"embed_seconds": time.perf_counter() - began, "embeddings": list(z.shape), "peak_gb": peak_gb()}
    return found | {"machine": machine(graphs.device)}


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=2_000_000)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--units", type=int, default=512)
    parser.add_argument("--batch-size", type=int, default=512)
    parser.add_argument("--sampling", default="walk")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--json")
    args = parser.parse_args()
    print_json(measure(args), args.json)


if __name__ == "__main__":
    main()
