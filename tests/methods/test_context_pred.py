"""ContextPred: distances, the ring of a chain by hand, and the loss by its definition."""

from collections import deque

import pytest
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_pretraining, context_pred
from nmrgcl.methods.context_pred import ContextPred, hops_from, next_of
from nmrgcl.train import Progress
from tests.examples import molecules_of, random_molecules
from tests.methods.members import settings_of

CHAIN = molecules_of((12, [(i, i + 1) for i in range(11)]))


def context_method(*assignments: str) -> ContextPred:
    torch.manual_seed(0)
    method = build_pretraining(settings_of("context_pred", *assignments), CHAIN.num_features)
    assert isinstance(method, ContextPred)
    for name, buffer in method.named_buffers():
        if "running" in name:
            buffer.uniform_(0.5, 1.5)
    return method.eval()


def loss_from(method: ContextPred, graphs: Graphs, root: list[int], monkeypatch: pytest.MonkeyPatch) -> Tensor:
    monkeypatch.setattr(context_pred, "random_nodes", lambda *_: torch.tensor(root))
    (loss,) = method.losses(graphs, Progress())
    return loss


def distances(graphs: Graphs, root: int) -> dict[int, int]:
    """Distances to the nodes that can be reached, by breadth-first search."""
    found, waiting = {root: 0}, deque([root])
    while waiting:
        here = waiting.popleft()
        for source, destination in graphs.edge_index.T.tolist():
            if source == here and destination not in found:
                found[destination] = found[here] + 1
                waiting.append(destination)
    return found


def test_distances_are_those_of_a_search_in_breadth() -> None:
    graphs = random_molecules([12, 1, 30, 0, 25])
    root = torch.tensor([3, 12, 40, 0, 67])
    padded = graphs.take_padded(torch.arange(5), graphs.room_for(5))
    assert padded.num_nodes > graphs.num_nodes
    for seen in (graphs, padded):
        found = hops_from(root, seen, 7).tolist()
        for number, start in enumerate(root.tolist()):
            known = distances(graphs, start)
            for node in (graphs.batch == number).nonzero().flatten().tolist():
                assert found[node] == min(known[node], 8)


@pytest.mark.parametrize(
    ("root", "inside", "ring", "overlap"),
    [
        (0, [0, 1, 2, 3, 4, 5], [5, 6, 7], [5]),
        (5, [*range(11)], [0, 10, 11], [0, 10]),
        (11, [6, 7, 8, 9, 10, 11], [4, 5, 6], [6]),
    ],
)
def test_the_ring_of_a_chain_by_hand(
    root: int, inside: list[int], ring: list[int], overlap: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of twelve atoms: from the end, atoms 5, 6 and 7 are five to seven bonds away, and 5 is in both parts."""
    method, kept = context_method(), []
    for encoder in (method.encoder, method.context):
        encoder.register_forward_pre_hook(lambda _, inputs: kept.append(inputs[0].node_keep.nonzero().flatten()))
    mean = context_pred.pool

    def watched(h: Tensor, seen: Graphs, how: str) -> Tensor:
        assert seen.node_keep is not None
        kept.append(seen.node_keep.nonzero().flatten())
        return mean(h, seen, how)

    monkeypatch.setattr(context_pred, "pool", watched)
    loss_from(method, CHAIN, [root], monkeypatch)
    found, shared, part = (nodes.tolist() for nodes in kept)
    assert (part, found, shared) == (inside, ring, overlap)


def test_the_loss_of_three_molecules_is_its_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three with a context; a small one and an empty one between them, which have none, count for nothing."""
    graphs, method = random_molecules([14, 4, 20, 0, 17]), context_method()
    root = [0, 15, 20, 37, 38]
    parts = []
    for number in (0, 2, 4):
        one, far = graphs.take(torch.tensor([number])), distances(graphs, root[number])
        d = torch.tensor([far[v] for v in range(*graphs.node_ptr[number : number + 2].tolist())])
        within, around = d <= 5, (d > 4) & (d <= 7)
        s = method.encoder(one.keep_nodes(within).compact())[int(within[: int(d.argmin())].sum())]
        both = d[around] == 5
        assert 0 < int(both.sum()) < int(around.sum())
        parts.append((s, method.context(one.keep_nodes(around).compact())[both].mean(0)))
    own = torch.stack([s @ c for s, c in parts])
    others = torch.stack([parts[i][0] @ parts[(i + 1) % 3][1] for i in range(3)])
    expected = binary_cross_entropy_with_logits(own, torch.ones(3)) + binary_cross_entropy_with_logits(
        others, torch.zeros(3)
    )
    torch.testing.assert_close(loss_from(method, graphs, root, monkeypatch), expected)
    padded = graphs.take_padded(torch.arange(5), graphs.room_for(5))
    torch.testing.assert_close(loss_from(method, padded, root, monkeypatch), expected)


def test_the_context_is_encoded_by_as_many_layers_as_it_is_wide() -> None:
    assert len(context_method().context.layers) == 3  # type: ignore[arg-type]
    assert len(context_method("outer=6").context.layers) == 2  # type: ignore[arg-type]


def test_the_next_one_that_is_there_comes_after_each() -> None:
    there = torch.tensor([False, True, False, True, True])
    assert next_of(there)[there].tolist() == [3, 4, 1]
    assert next_of(torch.tensor([False, True]))[1] == 1
    assert next_of(torch.zeros(3, dtype=torch.bool)).shape == (3,)


def test_a_ring_that_is_alone_has_no_negative_and_none_at_all_no_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    method = context_method()
    place = torch.arange(12)
    with torch.no_grad():
        h = method.encoder(CHAIN.keep_nodes(place <= 5).compact())
        c = method.context(CHAIN.keep_nodes((place > 4) & (place <= 7)).compact())
    alone = loss_from(method, CHAIN, [0], monkeypatch)
    torch.testing.assert_close(alone, binary_cross_entropy_with_logits(h[0] @ c[0], torch.ones(())))
    method.train()
    none = loss_from(method, random_molecules([4, 3]), [0, 4], monkeypatch)
    none.backward()
    assert float(none.detach()) == 0
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in method.parameters())


@pytest.mark.parametrize("wrong", ["inner=5", "hops=8", "outer=4"])
def test_parts_that_do_not_overlap_are_refused(wrong: str) -> None:
    with pytest.raises(SettingError, match="context_pred needs inner < hops <= outer"):
        context_method(wrong)
