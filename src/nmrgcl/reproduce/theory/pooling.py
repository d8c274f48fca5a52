"""Sec. 3.1: common nodes of two views (Lemma 1), similarity after pooling (Theorem 1), and the five-node example."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from nmrgcl.augment.nodes import DropNodes
from nmrgcl.graphs import Graphs
from nmrgcl.reproduce.theory.claim import Claim
from nmrgcl.reproduce.theory.cycle import node_weights, node_weights_renormalised, view_similarity

ERRORS = 4.0
"""How many standard errors a mean may differ from its prediction."""


def common_nodes(nodes: int, p: float, trials: int) -> tuple[Tensor, Tensor]:
    """The numbers ``[T]`` of nodes that two views by ``DropNodes(p)`` share, and of those only in the first view."""
    pointers = torch.arange(trials + 1) * nodes
    graphs = Graphs.build(torch.zeros(2, 0, dtype=torch.long), pointers)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        one, two = (_kept(DropNodes(p)(graphs)).reshape(trials, nodes) for _ in range(2))
    return (one & two).sum(1).double(), (one & ~two).sum(1).double()


def check_common_nodes(trials: int = 20_000) -> list[Claim]:
    """Lemma 1 for graphs of ordinary size and for tiny ones, and the expectation derived from it."""
    nodes, p = 30, 0.2
    common, unique = common_nodes(nodes, p, trials)
    expected = (1 - p) ** 2 * nodes
    mean, error = _mean(common)
    claims = [
        Claim(
            f"Lemma 1: two views share (1−p)²N nodes on average (N = {nodes}, p = {p})",
            expected,
            mean,
            abs(mean - expected) < ERRORS * error,
            f"any N and p where nodes are dropped independently; {trials} draws, standard error {error:.3f}",
        )
    ]
    # Small and heavily thinned, so that the rule about the last node matters: pᴺ is 0.51.
    nodes, p = 3, 0.8
    common_few, _ = common_nodes(nodes, p, trials)
    mean, error = _mean(common_few)
    plain, ours = (1 - p) ** 2 * nodes, nodes * ((1 - p) + p**nodes / nodes) ** 2
    claims += [
        Claim(
            f"Lemma 1 in tiny graphs that never lose their last node (N = {nodes}, p = {p})",
            plain,
            mean,
            abs(mean - plain) < ERRORS * error,
            f"not where pᴺ is large: keeping a last node makes it N((1−p) + pᴺ/N)² = {ours:.3f}",
        ),
        Claim(
            f"N((1−p) + pᴺ/N)² where a graph never loses its last node (N = {nodes}, p = {p})",
            ours,
            mean,
            abs(mean - ours) < ERRORS * error,
            f"DropNodes as it is here, any N and p; standard error {error:.3f}",
        ),
    ]
    some = unique > 0
    mean, error = _mean(common[some] / unique[some])
    claims.append(
        Claim(
            "E[n] = (1−p)/p for the ratio n of common to unique nodes (N = 30, p = 0.2)",
            (1 - 0.2) / 0.2,
            mean,
            abs(mean - 4) < ERRORS * error,
            "only in the limit of large N: a ratio of expectations is taken for the expectation of a ratio, "
            f"which is infinite where no node is unique ({1 - some.double().mean():.2%} of draws, left out here)",
        )
    )
    return claims


@dataclass(frozen=True)
class MeasuredSimilarity:
    """Theorem 1 for one setting; ``verdict`` is ``holds``, ``fails`` or, within three standard errors, ``open``.

    ``left_out`` is the share of trials without a cosine, because all features of a view are zero.
    """

    nodes: int
    features: int
    q: float
    p: float
    bound: float
    mean: float
    error: float
    left_out: float = 0.0

    @property
    def verdict(self) -> str:
        """Whether the mean is above or below the bound."""
        # The bound is about an expectation, of which the mean of the trials is an estimate.
        if abs(self.mean - self.bound) < 3 * self.error:
            return "open"
        return "holds" if self.mean > self.bound else "fails"

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "verdict": self.verdict}


def similarity_bound(p: float) -> float:
    """Theorem 1's ``(n + 2) / (√n + 1)²`` with ``n = (1 − p)/p``."""
    n = (1 - p) / p
    return (n + 2) / (math.sqrt(n) + 1) ** 2


def measure_similarity(
    *,
    nodes: Sequence[int] = (10, 30, 100, 300),
    features: Sequence[int] = (16, 64),
    shares: Sequence[float] = (0.02, 0.1, 0.5),
    drops: Sequence[float] = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
    trials: int = 500,
) -> list[MeasuredSimilarity]:
    """The mean cosine of two views of a cycle graph for each setting."""
    generator = torch.Generator().manual_seed(0)
    cells = []
    for n in nodes:
        for f in features:
            for q in shares:
                for p in drops:
                    found = view_similarity(n, p, f, q, trials=trials, generator=generator)
                    left_out = 1 - len(found) / trials
                    cells.append(MeasuredSimilarity(n, f, q, p, similarity_bound(p), *_mean(found), left_out))
    return cells


def check_similarity(cells: list[MeasuredSimilarity]) -> list[Claim]:
    """Theorem 1 as written, and for each drop rate."""
    count = {verdict: sum(c.verdict == verdict for c in cells) for verdict in ("holds", "fails", "open")}
    by_drop = {p: [c for c in cells if c.p == p] for p in sorted({c.p for c in cells})}
    always = [p for p, row in by_drop.items() if all(c.verdict == "holds" for c in row)]
    never = [p for p, row in by_drop.items() if all(c.verdict == "fails" for c in row)]
    claims = [
        Claim(
            "Theorem 1: the mean cosine of two views exceeds (n+2)/(√n+1)² (share of settings)",
            1.0,
            count["holds"] / len(cells),
            count["holds"] == len(cells),
            f"holds in {count['holds']}, fails in {count['fails']}, open in {count['open']} of {len(cells)} settings "
            f"of N, F, q and p; everywhere for p in {_list(always)}, nowhere for p in {_list(never)}; between them "
            f"N·q decides, the ones that a column has; {_without_cosine(cells)}",
        )
    ]
    claims += [_at_drop(p, row) for p, row in by_drop.items()]
    claims.append(_largest_drop(cells))
    return claims


def _at_drop(p: float, row: list[MeasuredSimilarity]) -> Claim:
    """Theorem 1 for one drop rate: a setting below the bound refutes it, one too close to the bound leaves it open."""
    verdicts = [c.verdict for c in row]
    # A claim about every setting: one counterexample refutes it, and one open setting leaves it open.
    holds = False if "fails" in verdicts else None if "open" in verdicts else True
    worst, bound = min(row, key=lambda c: c.mean), similarity_bound(p)
    return Claim(
        f"Theorem 1 at p = {p:g}: lowest mean cosine over N, F, q",
        bound,
        worst.mean,
        holds,
        f"holds in {verdicts.count('holds')}, open in {verdicts.count('open')} of {len(row)} settings; lowest at "
        f"N = {worst.nodes}, F = {worst.features}, q = {worst.q:g}; {_without_cosine(row)}"
        + ("; the bound is a cosine of 1 or more" if bound >= 1 - 1e-12 else ""),
    )


def _without_cosine(cells: list[MeasuredSimilarity]) -> str:
    """A sentence on the trials that the means leave out."""
    most = max(cells, key=lambda c: c.left_out)
    if not most.left_out:
        return "every trial has a cosine"
    return (
        f"means leave out trials in which a view has no feature and so no cosine, at most {most.left_out:.0%} "
        f"(N = {most.nodes}, F = {most.features}, q = {most.q:g}, p = {most.p:g})"
    )


def _largest_drop(cells: list[MeasuredSimilarity]) -> Claim:
    nodes = max(n for n in {c.nodes for c in cells} if n <= 100)
    largest = {q: _furthest([c for c in cells if c.q == q and c.nodes == nodes]) for q in sorted({c.q for c in cells})}
    listed = ", ".join(f"p = {p:g} at q = {q:g}" for q, p in largest.items())
    return Claim(
        f"Theorem 1 on cycles of {nodes} nodes: largest p up to which it holds, densest features",
        1.0,
        max(largest.values()),
        min(largest.values()) >= 1,
        f"up to {listed}, for every F measured",
    )


def _furthest(row: list[MeasuredSimilarity]) -> float:
    """The largest drop rate up to which the bound holds in every cell of ``row``."""
    furthest = 0.0
    for p in sorted({c.p for c in row}):
        if any(c.verdict != "holds" for c in row if c.p == p):
            break
        furthest = p
    return furthest


def check_five_nodes() -> list[Claim]:
    """The weight of each node's feature in two views of the five-node cycle, without node 4 and without node 5."""
    keep = torch.ones(2, 5, dtype=torch.bool)
    keep[0, 3] = keep[1, 4] = False
    expected = (2 + math.sqrt(2)) / 8
    found = node_weights(keep)
    exact = float((found - expected * keep.double()).abs().max())
    other = node_weights_renormalised(keep)[0]
    return [
        Claim(
            "Five-node example: each kept node's feature has the weight (2+√2)/8 in the view's embedding",
            expected,
            float(found[keep].mean()),
            exact < 1e-15,
            f"exact (largest difference {exact:.1e}) with D^(−1/2)(A+I)D^(−1/2) and D without the self-loop; not "
            "with the printed D^(1/2)AD^(1/2), nor with the usual D of A+I, which weighs nodes 1, 2, 3, 5 by "
            + ", ".join(f"{float(other[i]):.3f}" for i in (0, 1, 2, 4)),
        )
    ]


def _kept(view: Graphs) -> Tensor:
    assert view.node_keep is not None
    return view.node_keep


def _mean(values: Tensor) -> tuple[float, float]:
    """The mean and its standard error."""
    if len(values) < 2:
        return math.nan, math.nan
    return float(values.mean()), float(values.std() / math.sqrt(len(values)))


def _list(values: Sequence[float]) -> str:
    return "{" + ", ".join(f"{v:g}" for v in values) + "}" if values else "none"
