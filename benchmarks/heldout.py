"""Which settings of DGK and Graph2Vec predict held-out words best? This allows a choice without labels.

python benchmarks/heldout.py PTC_MR --method graph2vec --try columns=128,512 --try learning_rate=0.005,0.02

One in ten words (for DGK: pairs of words) is held out. The vectors are trained on the others; the loss per word of
distinguishing held-out words from random ones is printed for each combination; lower is better. The loss of zero
vectors is (1 + negatives) ln 2.
"""

import itertools
import math
import time

import numpy as np
import torch
from scipy.sparse import csr_array
from torch.nn.functional import softplus

from bench.script import script_parser
from nmrgcl import load
from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_method
from nmrgcl.methods.dgk import DGK, draw_pairs
from nmrgcl.methods.graph2vec import Graph2Vec
from nmrgcl.run.recipe import recipe
from nmrgcl.words.counts import count_known
from nmrgcl.words.vectors import Words, bags, infer

HELD_OUT = 0.1


def counts_of(method: DGK | Graph2Vec, graphs: Graphs) -> csr_array:
    """The counts that the vectors predict: words of graphs, or pairs of words."""
    words, batch, *rest = method.documents(graphs)
    chosen = method.options.choose(words, batch, len(graphs), method="heldout")
    counts = count_known(words, batch, len(graphs), chosen, times=rest[0] if rest else None)
    return draw_pairs(counts, method.options.pairs) if isinstance(method, DGK) else counts


def split(counts: csr_array) -> tuple[csr_array, csr_array]:
    """Hold out each occurrence of a word at random."""
    held = counts.copy()
    held.data = np.random.default_rng(0).binomial(counts.data.astype(np.int64), HELD_OUT).astype(np.float64)
    return (counts - held).tocsr(), held


def loss_of(counts: csr_array, rows: torch.Tensor, words: Words, negatives: int) -> float:
    """The loss per word of ``counts``."""
    place, word, count = bags(counts).pairs()
    drawn = words.output[words.negatives(torch.tensor(0.5))]
    total = torch.zeros(len(rows)).index_add_(0, place, count)
    there = (count * softplus(-(rows[place] * words.output[word]).sum(1))).sum()
    return float((there + negatives * (total * softplus(rows @ drawn.T).mean(1)).sum()) / total.sum())


def measure(name: str, method: str, assignments: list[str]) -> str:
    settings = recipe(method, dataset=name, assignments=assignments)
    dataset = load(name)
    graphs = apply_features(dataset, choose_features(dataset, max_degree=settings.data.max_degree))
    built = build_method(settings, graphs.num_features)
    assert isinstance(built, DGK | Graph2Vec)
    torch.manual_seed(0)
    known, held = split(counts_of(built, graphs))
    own, begin = built.options, time.process_time()
    rows, words = own.learn(bags(known), known.shape[0])
    seconds = time.process_time() - begin
    if isinstance(built, Graph2Vec):
        rows = infer(bags(known), len(rows), words, negatives=own.negatives)
    losses = [loss_of(part, rows, words, own.negatives) for part in (known, held)]
    zeros = (1 + own.negatives) * math.log(2)
    shown = " ".join(assignments)
    return (
        f"{name} {method} {shown}  words {known.shape[1]}  loss on the known {losses[0]:.3f}  held out {losses[1]:.3f}"
        f"  zeros {zeros:.3f}  {seconds:.1f} s"
    )


def main() -> None:
    parser = script_parser(__doc__)
    parser.add_argument("dataset", nargs="+")
    parser.add_argument("--method", choices=["dgk", "graph2vec"], default="graph2vec")
    parser.add_argument("--try", dest="tried", action="append", default=[], help="a setting and its values: a=1,2")
    options = parser.parse_args()
    torch.set_num_threads(1)
    choices = [[f"{key}={value}" for value in values.split(",")] for key, _, values in map(_parts, options.tried)]
    for name, assignments in itertools.product(options.dataset, itertools.product(*choices)):
        print(measure(name, options.method, list(assignments)), flush=True)


def _parts(text: str) -> tuple[str, str, str]:
    return text.partition("=")


if __name__ == "__main__":
    main()
