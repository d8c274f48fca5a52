"""AttrMasking: how many atoms are hidden, what they show, and the loss by its definition."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from nmrgcl.graphs import Graphs
from nmrgcl.methods import Pretraining, build_pretraining
from nmrgcl.methods.attr_masking import AttrMasking, class_error
from nmrgcl.train import Progress
from tests.examples import random_molecules
from tests.methods.members import settings_of

THREE = random_molecules([9, 4, 13])


def attr_masking(*assignments: str) -> AttrMasking:
    torch.manual_seed(0)
    method = build_pretraining(settings_of("attr_masking", *assignments), THREE.num_features)
    assert isinstance(method, AttrMasking)
    return method.eval()


def seen_and_loss(method: Pretraining, graphs: Graphs, seed: int = 0) -> tuple[Graphs, Tensor]:
    """What the encoder is given, and the loss."""
    given: list[Graphs] = []
    hook = method.encoder.register_forward_pre_hook(lambda _, inputs: given.append(inputs[0]))
    torch.manual_seed(seed)
    (loss,) = method.losses(graphs, Progress())
    hook.remove()
    return given[0], loss


@pytest.mark.parametrize("padded", [False, True])
def test_as_many_atoms_are_hidden_as_the_paper_says(padded: bool) -> None:
    sizes = [*range(41), 100, 0]
    graphs = random_molecules(sizes)
    if padded:
        graphs = graphs.take_padded(torch.arange(len(sizes)), graphs.room_for(len(sizes)))
    seen, _ = seen_and_loss(attr_masking(), graphs)
    hidden = seen.x[:, 0] == 119
    if graphs.node_keep is not None:
        assert not bool(hidden[~graphs.node_keep].any())
    found = torch.zeros(len(sizes)).index_add_(0, graphs.batch, hidden.float())
    assert found.tolist() == [int(0.15 * n + 1) if n else 0 for n in sizes]


def test_hidden_atoms_show_the_mask_and_others_themselves() -> None:
    seen, _ = seen_and_loss(attr_masking(), THREE)
    hidden = seen.x[:, 0] == 119
    assert seen.x[hidden].tolist() == [[119, 120]] * (2 + 1 + 2)
    assert torch.equal(seen.x[~hidden], THREE.x[~hidden])
    assert seen.edge_attr is THREE.edge_attr


def test_every_atom_is_hidden_as_often_as_any_other() -> None:
    method, times = attr_masking(), torch.zeros(13)
    molecule = THREE.take(torch.tensor([2]))
    for seed in range(400):
        torch.manual_seed(seed)
        times += method._drawn(molecule)
    assert times.sum() == 800
    torch.testing.assert_close(times / 400, torch.full((13,), 2 / 13), atol=0.07, rtol=0)


@pytest.mark.parametrize("bonds", [False, True])
def test_the_loss_of_three_molecules_is_its_definition(bonds: bool) -> None:
    method = attr_masking(f"mask_bonds={str(bonds).lower()}")
    seen, loss = seen_and_loss(method, THREE)
    hidden = (seen.x[:, 0] == 119).tolist()
    h = method.encoder(seen)
    of_atoms = [cross_entropy(method.atom_types(h[v]), THREE.x[v, 0]) for v in range(THREE.num_nodes) if hidden[v]]
    expected = torch.stack(of_atoms).mean()
    if bonds:
        assert method.bond_types is not None
        assert THREE.edge_attr is not None
        assert seen.edge_attr is not None
        of_bonds = []
        for e, (u, v) in enumerate(THREE.edge_index.T.tolist()):
            if hidden[u] or hidden[v]:
                assert seen.edge_attr[e].tolist() == [0, 0]
                of_bonds.append(cross_entropy(method.bond_types(h[u] + h[v]), THREE.edge_attr[e, 0] - 1))
            else:
                assert torch.equal(seen.edge_attr[e], THREE.edge_attr[e])
        assert 0 < len(of_bonds) < THREE.num_edges
        expected = expected + torch.stack(of_bonds).mean()
    torch.testing.assert_close(loss, expected)


def test_what_is_of_no_known_class_is_no_target() -> None:
    scores, every = torch.randn(4, 119), torch.ones(4, dtype=torch.bool)
    kind = torch.tensor([3, -1, 119, 118])
    expected = cross_entropy(scores[[0, 3]], kind[[0, 3]])
    torch.testing.assert_close(class_error(scores, kind, every), expected)
    assert float(class_error(scores, kind, ~every)) == 0


def test_hidden_types_do_not_reach_the_encoder() -> None:
    """Another type at a hidden atom changes the target alone."""
    method = attr_masking()
    seen, loss = seen_and_loss(method, THREE)
    hidden = seen.x[:, 0] == 119
    other = replace(THREE, x=torch.where(hidden[:, None], torch.tensor([33, 121]), THREE.x))
    again, changed = seen_and_loss(method, other)
    assert torch.equal(again.x, seen.x)
    assert not torch.equal(changed, loss)
