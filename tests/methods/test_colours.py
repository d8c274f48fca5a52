"""Counts of colours beside trained dimensions: what they mean, where they are added, and where they are refused."""

from pathlib import Path

import numpy as np
import pytest
import torch

from nmrgcl import GraphEmbedder, Graphs, UserError, build_method, load
from nmrgcl.data.features import with_features
from nmrgcl.export.file import require_exportable
from nmrgcl.model_folder import load_model
from nmrgcl.run.cell import Cell
from nmrgcl.run.embeddings import embed_all
from nmrgcl.run.recipe import recipe
from nmrgcl.words.colours import colour_counts
from tests.examples import random_graphs
from tests.methods.test_wl import HEXAGON, PATH, TRIANGLES, graphs_of, kernels

TINY = {"epochs": 1, "encoder.layers": 2, "encoder.units": 8, "colours.width": 32}
MUTAG = with_features(load("MUTAG"))


def test_inner_products_are_the_normalised_kernel() -> None:
    """Of MUTAG's first 40 graphs; with 2^14 dimensions the error of a cosine is below 1/√(2^14)."""
    graphs = MUTAG.take(torch.arange(40))
    rows = colour_counts(graphs, 3, width=2**14).double().numpy()
    exact = kernels(graphs, iterations=3)[3]
    assert np.sqrt(np.mean((rows @ rows.T - exact) ** 2)) < 2**-7
    np.testing.assert_allclose((rows**2).sum(1), 1, rtol=1e-6)


def test_graphs_that_refinement_cannot_tell_apart_have_one_row() -> None:
    hexagon, triangles, path = colour_counts(graphs_of(HEXAGON, TRIANGLES, PATH), 3, width=64)
    assert torch.equal(hexagon, triangles)
    assert float(hexagon @ path) < 0.9


def test_a_colour_counts_in_as_many_dimensions_as_entries_say() -> None:
    """One node has one colour, which is +1 or -1 in each of its places; two entries may fall on one place."""
    node = Graphs.build(torch.zeros(2, 0, dtype=torch.long), torch.tensor([0, 1]))
    assert int((colour_counts(node, 0, width=1000, entries=1) != 0).sum()) == 1
    many = colour_counts(node, 0, width=2**20)
    assert int((many != 0).sum()) == 16
    torch.testing.assert_close(many.abs().max(), torch.tensor(0.25))  # 1/√16


def test_rows_depend_neither_on_the_batch_nor_on_numeric_features() -> None:
    graphs = random_graphs([5, 0, 9, 1], categorical=True)
    whole = colour_counts(graphs, 3, width=50)
    alone = [colour_counts(graphs.take(torch.tensor([number])), 3, width=50) for number in range(4)]
    assert torch.equal(whole, torch.cat(alone))
    assert not whole[1].any()  # A graph without nodes.
    numeric = random_graphs([5, 9], categorical=False)
    bare = Graphs.build(numeric.edge_index, numeric.node_ptr)
    assert torch.equal(colour_counts(numeric, 3, width=50), colour_counts(bare, 3, width=50))


def test_embeddings_end_with_the_counts_and_training_does_not_see_them(tmp_path: Path) -> None:
    embedder = GraphEmbedder(settings=TINY, normalise="none", random_state=0)
    z = embedder.fit_transform("MUTAG")
    plain = GraphEmbedder(settings=TINY | {"colours.width": 0}, normalise="none", random_state=0).fit_transform("MUTAG")
    assert z.shape == (188, 2 * 8 + 32)
    np.testing.assert_array_equal(z[:, :16], plain)
    np.testing.assert_array_equal(z[:, 16:], colour_counts(MUTAG, 3, width=32).numpy())
    assert list(embedder.get_feature_names_out()) == [f"z{number}" for number in range(48)]
    embedder.save(tmp_path / "model")
    np.testing.assert_array_equal(GraphEmbedder.load(tmp_path / "model").transform("MUTAG"), z)


def test_columns_of_counts_are_squashed_with_the_others(tmp_path: Path) -> None:
    z = GraphEmbedder(settings=TINY, random_state=0).fit_transform("MUTAG")
    np.testing.assert_allclose(np.sinh(z.astype(np.float64))[:, 16:].std(0), 1, rtol=1e-3)


def test_every_encoder_of_graphs_can_have_them() -> None:
    graphs = MUTAG.take(torch.arange(10))
    for name in ("infograph", "joao", "gcc"):
        settings = recipe(name, assignments=["colours.width=32", "encoder.layers=2"])
        method = build_method(settings, MUTAG.num_features)
        assert embed_all(method, graphs).shape == (10, method.width + 32) == (10, method.full_width)


@pytest.mark.parametrize("method", ["wl", "graph2vec", "grace"])
def test_they_are_refused_where_there_is_no_encoder_of_graphs(method: str) -> None:
    with pytest.raises(UserError, match="colours are counted beside an encoder of graphs only; leave it out"):
        build_method(recipe(method, assignments=["colours.width=8"]), 1)


def test_a_model_with_them_is_not_exported(tmp_path: Path) -> None:
    GraphEmbedder(settings=TINY).fit("MUTAG").save(tmp_path / "model")
    with pytest.raises(UserError, match="cannot be exported: its embeddings also count colours"):
        require_exportable(load_model(tmp_path / "model"))


def test_a_cell_that_fine_tunes_refuses_them_before_anything_is_trained() -> None:
    settings = recipe("untrained", preset="coloured")
    with pytest.raises(UserError, match="counts of colours cannot be fine-tuned"):
        Cell("MUTAG", settings, "finetune")
