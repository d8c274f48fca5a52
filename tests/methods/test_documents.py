"""Graph2Vec and Sub2Vec: documents of small graphs by hand, and vectors that only the seed decides."""

from collections import Counter
from collections.abc import Callable

import pytest
import torch
from torch.nn.functional import normalize, softplus

from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Embedder
from nmrgcl.methods.graph2vec import Graph2Vec
from nmrgcl.methods.sub2vec import Sub2Vec
from nmrgcl.settings import TrainSettings
from nmrgcl.train import pretrain
from nmrgcl.words import vectors
from nmrgcl.words.counts import count_columns
from nmrgcl.words.vectors import SHRINKAGE, Words, bags, infer, join, learn, windows
from tests.examples import random_graphs, undirected
from tests.methods.members import build


def graph2vec(*assignments: str) -> Graph2Vec:
    return build(Graph2Vec, "columns=16", *assignments)


def sub2vec(*assignments: str) -> Sub2Vec:
    return build(Sub2Vec, "columns=16", "walks=5", "length=20", *assignments)


def five_nodes() -> Graphs:
    """A path 0–1–2 with labels a, b, a, joined to the triangle 2–3–4 with labels a, c, c."""
    edges = undirected((0, 1), (1, 2), (2, 3), (3, 4), (4, 2))
    return Graphs.build(edges, torch.tensor([0, 5]), x=torch.tensor([[0], [1], [0], [2], [2]]))


def test_the_document_of_five_nodes_by_hand() -> None:
    """Labels a a b c c. One round: a(b), a(bcc), b(aa), c(ac) twice. Two: c(ac) still looks alike from 3 and 4."""
    method = graph2vec("iterations=2")
    words, batch = method.documents(five_nodes())
    assert batch.tolist() == [0] * 15
    rounds = words.view(3, 5).tolist()
    alike = [[[0, 2], [1], [3, 4]], [[0], [1], [2], [3, 4]], [[0], [1], [2], [3, 4]]]
    for labels, groups in zip(rounds, alike, strict=True):
        assert [{labels[node] for node in group} for group in groups] == [{labels[group[0]]} for group in groups]
        assert len(set(labels)) == len(groups)
    assert len(set(words.tolist())) == 3 + 4 + 4


def test_walks_on_five_nodes_by_hand() -> None:
    """Degrees 1, 2, 3, 2, 2 of five nodes: shares 0.2, 0.4, 0.6, 0.4, 0.4, which fall into bins 3, 5, 6, 5, 5."""
    method = sub2vec()
    assert method.words_of_nodes(five_nodes()).tolist() == [3, 5, 6, 5, 5]
    named = sub2vec("tokens=neighbourhood", "walks=400", "length=8")
    walks, graph = named.documents(five_nodes())
    assert walks.shape == (400, 8)
    assert set(graph.tolist()) == {0}
    steps = Counter(zip(walks[:, :-1].flatten().tolist(), walks[:, 1:].flatten().tolist(), strict=True))
    assert set(steps) == {(int(s), int(d)) for s, d in five_nodes().edge_index.T}
    from_two = sum(number for (start, _), number in steps.items() if start == 2)
    assert [steps[2, end] / from_two for end in (1, 3, 4)] == pytest.approx([1 / 3] * 3, abs=0.05)


def test_a_walk_ends_where_there_is_no_neighbour() -> None:
    graphs = Graphs.build(undirected((1, 2)), torch.tensor([0, 0, 1, 3]))
    method = sub2vec("walks=2", "length=3", "tokens=neighbourhood")
    walks, graph = method.documents(graphs)
    assert graph.tolist() == [1, 1, 2, 2]
    assert walks[:2].tolist() == [[0, -1, -1]] * 2
    assert bool((walks[2:, 0] != walks[2:, 1]).all())


def test_windows_by_hand() -> None:
    """The walk 0 1 0 1 with one word on either side: 0 after 1 and before 1 once, and so on."""
    walk = torch.tensor([0, 1, 0, 1])
    around = torch.tensor([[-1, 1], [0, 0], [1, 1], [0, -1]])
    places = windows(torch.zeros(4, dtype=torch.long), around, walk, 2)
    found = {
        tuple(near): row for near, row in zip(places.around.tolist(), places.counts.toarray().tolist(), strict=True)
    }
    assert found == {(-1, 1): [1, 0], (0, 0): [0, 1], (1, 1): [1, 0], (0, -1): [0, 1]}
    twice = windows(torch.tensor([0, 0, 1]), torch.ones(3, 2).long(), torch.tensor([0, 0, -1]), 2)
    assert (twice.row.tolist(), twice.counts.toarray().tolist()) == ([0], [[2, 0]])
    both = join([places, twice], [1, 1])
    assert both.row.tolist() == [0, 0, 0, 0, 1]


@pytest.mark.parametrize("samples", [4, 256])
@pytest.mark.parametrize("around", [0, 3])
def test_inferred_vectors_minimise_their_loss(around: int, samples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The definition as loops, in float64: its gradient is nearly zero where ``infer`` ends.

    With more words than negative samples, ``infer`` computes pair by pair, and otherwise word by word.
    """
    monkeypatch.setattr(vectors, "NEGATIVES_AT_ONCE", samples)
    torch.manual_seed(0)
    words = Words(torch.randn(6, 4), torch.randn(6, 4), (torch.arange(6) + 1) / 6)
    tokens, rows, near = torch.randint(6, (40,)), torch.randint(3, (40,)), torch.randint(-1, 6, (40, around))
    if around:
        places = windows(rows, near, tokens, 6)
    else:
        places = bags(count_columns(tokens.numpy(), rows.numpy(), (3, 6)))
    start = torch.zeros(4, 4, dtype=torch.float64)
    found = infer(places, 4, words, negatives=2).double()
    assert bool((found[3] == 0).all())

    def slope(v: torch.Tensor) -> float:
        v = v.clone().requires_grad_()
        drawn = words.output[words.negatives(torch.tensor(0.5))].double()
        loss = SHRINKAGE * (v**2).sum() / 2
        for row, token, context in zip(rows, tokens, near, strict=True):
            helpers = [words.input[c].double() for c in context if c >= 0]
            h = torch.stack([v[row], *helpers]).mean(0)
            loss = loss + softplus(-h @ words.output[token].double()) + 2 * softplus(drawn @ h).mean()
        loss.backward()
        assert v.grad is not None
        return float(v.grad.norm())

    assert slope(found) < 0.02 * slope(start)


def test_few_words_have_the_same_gradient_by_pair_and_by_word() -> None:
    torch.manual_seed(0)
    words = Words(torch.randn(6, 4), torch.randn(6, 4), (torch.arange(6) + 1) / 6)
    row, near, token = torch.randint(3, (40,)), torch.randint(-1, 6, (40, 3)), torch.randint(6, (40,))
    places, drawn, rows = windows(row, near, token, 6), torch.randint(6, (50,)), torch.randn(3, 4)
    pair, word = (
        form(places, words, drawn, 5)(rows) for form in (vectors._gradient_by_pair, vectors._gradient_by_word)
    )
    torch.testing.assert_close(pair, word)


def test_rows_with_the_same_words_become_similar() -> None:
    """Two groups of documents with words of their own."""
    torch.manual_seed(0)
    row = torch.arange(20).repeat_interleave(30)
    word = torch.randint(10, (600,)) + 10 * (row % 2)
    places = bags(count_columns(word.numpy(), row.numpy(), (20, 20)))
    rows, words = learn(places, 20, width=8, negatives=5, epochs=30, lr=0.05)
    for z in (rows, infer(places, 20, words, negatives=5)):
        similar = normalize(z) @ normalize(z).T
        same = (torch.arange(20)[:, None] - torch.arange(20)) % 2 == 0
        assert similar[same].mean() > similar[~same].mean() + 0.3


@pytest.mark.parametrize("options", [["model=dm"], ["model=dbow"], ["tokens=neighbourhood"]])
def test_sub2vec_embeds_new_graphs_alike_alone_and_together(options: list[str]) -> None:
    method = sub2vec(*options)
    method.fit(random_graphs([6, 9, 0, 8, 7], density=0.5))
    new = random_graphs([12, 1, 5], density=0.5, seed=7)
    alone = torch.cat([method.embed(new.take(torch.tensor([i]))) for i in range(3)])
    torch.testing.assert_close(method.embed(new), alone, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", [graph2vec, sub2vec])
def test_a_seed_repeats_bit_for_bit_and_another_differs(kind: Callable[[str], Embedder]) -> None:
    graphs, new = (random_graphs([9] * 12, categorical=True, seed=seed) for seed in (0, 1))
    found = []
    for seed in (0, 0, 1):
        method = kind(f"seed={seed}")
        torch.rand(seed + 3)
        list(pretrain(method, graphs, TrainSettings(), seed=seed))
        found.append(method.embed(new))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])


def test_graph2vec_says_what_is_wrong() -> None:
    with pytest.raises(DataError, match="method graph2vec needs node labels"):
        graph2vec().fit(random_graphs([5, 6]))
    with pytest.raises(DataError, match="more than max_words = 2"):
        graph2vec("max_words=2", "least_graphs=1").fit(random_graphs([5, 6, 7], categorical=True))
