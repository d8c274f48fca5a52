"""Methods on molecules: which of them learn from these, which from nothing else, and that none alters what it reads."""

from dataclasses import fields, replace

import pytest
import torch
from torch import Tensor

from nmrgcl.contrast import scaled_cosine_error
from nmrgcl.data.molecules.vocabulary import BONDS
from nmrgcl.encode import MoleculeGIN
from nmrgcl.errors import DataError, SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_pretraining, method_names
from nmrgcl.methods.graphmae import GraphMAE
from nmrgcl.run.recipe import recipe
from nmrgcl.train import Progress, pretrain
from tests.examples import random_molecules, with_edge_labels
from tests.methods.members import GRAPHS, learns_from_molecules

ONLY = [name for name in method_names() if learns_from_molecules(name)]
ALL = [*ONLY, "graphcl", "graphmae", "infograph", "nmrgcl"]
SMALL = ["encoder.units=8", "epochs=2", "batch_size=10"]
TEN = random_molecules([6, 1, 12, 4, 9, 14, 8, 20, 17, 3])


def test_these_learn_from_molecules_and_nothing_else() -> None:
    assert ONLY == ["attr_masking", "context_pred", "edge_pred"]


@pytest.mark.parametrize("name", ALL)
def test_the_recipe_for_molecules_is_that_of_hu_et_al(name: str) -> None:
    settings = recipe(name, level="molecule")
    encoder, train = settings.encoder, settings.train
    assert (encoder.name, encoder.layers, encoder.units, encoder.pool, encoder.dropout) == (
        "molecule", 5, 300, "mean", 0,
    )  # fmt: skip
    assert (train.epochs, train.batch_size, train.lr, train.patience) == (100, 256, 1e-3, 0)
    assert settings.data.edges == "labels"


@pytest.mark.parametrize("name", ALL)
def test_two_steps_on_ten_molecules_learn_and_leave_the_molecules_as_they_are(name: str) -> None:
    """Hidden atoms and bonds are hidden in what the encoder is shown, never in what is stored."""
    more = ["mask_bonds=true"] if name == "attr_masking" else []
    settings = recipe(name, level="molecule", assignments=[*SMALL, *more])
    method = build_pretraining(settings, TEN.num_features, BONDS)
    assert isinstance(method.encoder, MoleculeGIN)
    assert method.capturable
    before = {
        field.name: value.clone() for field in fields(TEN) if isinstance(value := getattr(TEN, field.name), Tensor)
    }
    start = method.encoder.atoms.weight.detach().clone()
    losses = [epoch.loss for epoch in pretrain(method, TEN, settings.train, seed=0)]
    assert len(losses) == 2
    assert bool(torch.tensor(losses).isfinite().all())
    assert not torch.equal(method.encoder.atoms.weight, start)
    assert {"x", "edge_index", "edge_attr"} <= set(before)
    for key, value in before.items():
        assert getattr(TEN, key).numpy().tobytes() == value.numpy().tobytes(), key


NO_MOLECULES = {
    "graphs with labels": GRAPHS,
    "labels of nodes and edges": with_edge_labels(GRAPHS, BONDS),
    "atoms without bonds": replace(TEN, edge_attr=None),
    "other columns of bonds": replace(TEN, edge_attr=TEN.edge_attr[:, :1]),  # type: ignore[index]
    "types alone": replace(TEN, x=TEN.x[:, :1]),
    "dense features": replace(TEN, x=TEN.dense_x()),
}


@pytest.mark.parametrize("graphs", NO_MOLECULES.values(), ids=NO_MOLECULES)
@pytest.mark.parametrize("name", ONLY)
def test_other_graphs_are_refused(name: str, graphs: Graphs) -> None:
    method = build_pretraining(recipe(name, assignments=SMALL), graphs.num_features)
    with pytest.raises(DataError, match=f"method {name} learns from molecules only, and these graphs are not"):
        list(method.losses(graphs, Progress()))


@pytest.mark.parametrize("name", ONLY)
def test_another_encoder_is_refused(name: str) -> None:
    with pytest.raises(SettingError, match=f"method {name} means encoder.name = 'molecule', not 'gin'"):
        recipe(name, assignments=["encoder.name=gin"])


def test_graphmae_reconstructs_the_types_of_atoms_alone() -> None:
    """One of 119: neither the mask's place among the types nor chirality is a target."""
    settings = recipe("graphmae", level="molecule", assignments=SMALL)
    assert (settings.options.mask, settings.options.replace, settings.options.exponent) == (0.25, 0, 1)
    method = build_pretraining(settings, TEN.num_features, BONDS).train()
    assert isinstance(method, GraphMAE)
    found: list[Tensor] = []
    method.decoder.register_forward_hook(lambda _, __, output: found.append(output))
    torch.manual_seed(0)
    (loss,) = method.losses(TEN, Progress())
    torch.manual_seed(0)
    hidden = torch.rand(TEN.num_nodes) < 0.25
    types = torch.eye(119)[TEN.x[:, 0]]
    torch.testing.assert_close(loss, scaled_cosine_error(found[0][hidden], types[hidden], hidden[hidden], alpha=1.0))
    assert 0 < int(hidden.sum()) < TEN.num_nodes
