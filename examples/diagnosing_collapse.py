"""See whether embeddings use their dimensions: untrained, trained, and collapsed on purpose.

python diagnosing_collapse.py

For a run of nmrgcl pretrain, nmrgcl diagnose RUN says the same, with every number behind it.
"""

import torch

from nmrgcl import GraphEmbedder, effective_rank, measure


def report(name: str, z: torch.Tensor) -> None:
    """Print the effective rank and the verdict, which needs no labels."""
    verdict = measure(z).verdict.kind
    print(f"{name:<12} effective rank {effective_rank(z):5.1f} of {z.shape[1]}: {verdict}")


def main() -> None:
    """Compare four embeddings of MUTAG."""
    rows = {}
    for method in ("untrained", "nmrgcl"):
        embedder = GraphEmbedder(method, preset="graphcl", normalise="none")
        rows[method] = torch.from_numpy(embedder.fit_transform("MUTAG"))
        report(method, rows[method])
    z = rows["nmrgcl"]
    report("one axis", z[:, :1] @ torch.ones(1, z.shape[1]))  # every dimension repeats the first
    report("one point", z.mean(0) + 1e-6 * torch.randn_like(z))  # all graphs look the same


if __name__ == "__main__":
    main()
