"""EdgePred: the loss by its definition, and which pairs it takes for negatives."""

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from nmrgcl.augment import AddEdges
from nmrgcl.evaluate.metrics import roc_auc
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Pretraining, build_pretraining
from nmrgcl.run.recipe import recipe
from nmrgcl.train import Progress, pretrain
from tests.examples import molecules_of, random_molecules
from tests.methods.members import settings_of

THREE = molecules_of((3, [(0, 1), (1, 2)]), (4, [(0, 1), (1, 2), (2, 3)]), (5, [(i, (i + 1) % 5) for i in range(5)]))
"""Chains of three and four atoms and a ring of five: as many pairs have no bond as have one, or fewer."""


def edge_pred() -> Pretraining:
    torch.manual_seed(0)
    method = build_pretraining(settings_of("edge_pred"), THREE.num_features)
    for name, buffer in method.named_buffers():
        if "running" in name:
            buffer.uniform_(0.5, 1.5)
    return method.eval()


def loss_of(method: Pretraining, graphs: Graphs) -> torch.Tensor:
    (loss,) = method.losses(graphs, Progress())
    return loss


def by_definition(method: Pretraining, graphs: Graphs) -> torch.Tensor:
    """All pairs of each molecule, one after the other."""
    bonds: list[torch.Tensor] = []
    others: list[torch.Tensor] = []
    for number in range(len(graphs)):
        one = graphs.take(torch.tensor([number]))
        h, joined = method.encoder(one), {(s, d) for s, d in one.edge_index.T.tolist()}
        for v in range(one.num_nodes):
            for u in range(v):
                (bonds if (u, v) in joined else others).append(h[u] @ h[v])
    found = torch.stack(bonds), torch.stack(others)
    goals = torch.ones(len(bonds)), torch.zeros(len(others))
    return sum(binary_cross_entropy_with_logits(*part) for part in zip(found, goals, strict=True))  # type: ignore[return-value]


def test_the_loss_of_three_molecules_is_its_definition() -> None:
    method = edge_pred()
    found = loss_of(method, THREE)
    torch.testing.assert_close(found, by_definition(method, THREE))
    ours = torch.autograd.grad(found, list(method.parameters()), retain_graph=False)
    slow = torch.autograd.grad(by_definition(method, THREE), list(method.parameters()))
    for a, b in zip(ours, slow, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


def test_the_loss_does_not_depend_on_the_room_around_a_batch() -> None:
    method, padded = edge_pred(), THREE.take_padded(torch.arange(3), THREE.room_for(3))
    assert padded.num_nodes > THREE.num_nodes
    torch.testing.assert_close(loss_of(method, padded), by_definition(method, THREE))


@pytest.mark.parametrize("seed", range(5))
def test_negatives_are_pairs_of_a_molecule_without_a_bond_as_many_as_it_has_bonds(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs, given = random_molecules([6, 1, 12, 0, 20]), []
    view = AddEdges.forward

    def watched(self: AddEdges, graphs: Graphs, chosen: torch.Tensor | None = None) -> Graphs:
        given.append(view(self, graphs, chosen))
        return given[-1]

    monkeypatch.setattr(AddEdges, "forward", watched)
    torch.manual_seed(seed)
    loss_of(edge_pred(), graphs)
    (pairs,) = given
    assert pairs.added is not None
    assert pairs.added_keep is not None
    drawn = pairs.added[:, pairs.added_keep].T.tolist()
    bonds = graphs.edge_index.T.tolist()
    assert all(pair not in bonds and pair[0] != pair[1] for pair in drawn)
    assert all(graphs.batch[u] == graphs.batch[v] for u, v in drawn)
    assert len({tuple(pair) for pair in drawn}) == len(drawn)
    owner = graphs.batch[[u for u, _ in drawn]]
    assert owner.bincount(minlength=5).tolist() == graphs.sizes()[1].tolist()


def test_molecules_without_bonds_have_no_loss_and_a_finite_gradient() -> None:
    method = edge_pred().train()
    loss = loss_of(method, random_molecules([1, 0, 1]))
    loss.backward()
    assert float(loss.detach()) == 0
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in method.parameters())


def share_ranked_right(method: Pretraining, graphs: Graphs) -> float:
    """The area under the ROC curve: how often a bond has a higher score than a pair of a molecule that is none."""
    with torch.no_grad():
        h = method.eval().encoder(graphs)
    bond = torch.zeros(len(h), len(h)).index_put_(tuple(graphs.edge_index), torch.ones(()))
    pairs = (graphs.batch[:, None] == graphs.batch).triu(1)
    return float(roc_auc((h @ h.T)[pairs][:, None], bond[pairs][:, None]))


def test_bonds_of_new_molecules_are_told_from_other_pairs_after_training() -> None:
    """The classes that other methods must find say nothing of bonds: from 0.60 to about 0.9."""
    small = ["encoder.layers=3", "encoder.units=16", "epochs=60", "lr=0.01", "batch_size=32"]
    settings = recipe("edge_pred", assignments=small)
    graphs, new = random_molecules([12, 16, 20, 24] * 32, seed=0), random_molecules([12, 16, 20, 24] * 8, seed=1)
    method = build_pretraining(settings, graphs.num_features)
    before = share_ranked_right(method, new)
    list(pretrain(method, graphs, settings.train, seed=0))
    assert before < 0.65
    assert share_ranked_right(method, new) > 0.8
