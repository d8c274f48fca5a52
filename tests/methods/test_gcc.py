"""GCC: positions, seeds and the queue, by hand and against an independent solver."""

import numpy as np
import pytest
import torch

from nmrgcl.augment import Subgraph
from nmrgcl.augment.seeds import draw_seeds, highest_degree
from nmrgcl.contrast import find_key
from nmrgcl.encode.positions import positions
from nmrgcl.errors import SettingError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_pretraining
from nmrgcl.methods.gcc import GCC, POSITIONS, describe
from nmrgcl.run.recipe import recipe
from nmrgcl.train import Progress, pretrain
from tests.examples import random_graphs, undirected
from tests.methods.members import GRAPHS, settings_of

STAR = Graphs.build(undirected((1, 0), (1, 2), (1, 3), (4, 5), (4, 6)), torch.tensor([0, 4, 7, 8]))
"""A star of four nodes around node 1, a path of three around node 4, and a node of its own."""


def build(*assignments: str) -> GCC:
    method = build_pretraining(settings_of("gcc", *assignments), GRAPHS.num_features)
    assert isinstance(method, GCC)
    return method.train()


def test_the_position_in_a_path_by_hand() -> None:
    """D^-½AD^-½ of a path of three: the leading eigenvector is (1, √2, 1) / 2; n − 2 = 1 column, unit rows."""
    found = positions(STAR, 4)
    assert found[4:7].tolist() == [[1, 0, 0, 0]] * 3
    assert not found[7].any()  # one node alone has no column
    assert not found[:4, 2:].any()
    torch.testing.assert_close(found[:4].norm(dim=1), torch.ones(4))


def test_positions_are_leading_eigenvectors_with_unit_rows_whatever_the_batch() -> None:
    graphs = random_graphs([9, 12, 9, 30], density=0.5)
    found = positions(graphs, 5)
    for number in range(4):
        alone = graphs.take(torch.tensor([number]))
        n = alone.num_nodes
        adjacency = np.zeros((n, n))
        adjacency[tuple(alone.edge_index.flip(0).numpy())] = 1
        degree = np.maximum(adjacency.sum(1), 1)
        vectors = np.linalg.eigh(adjacency / np.sqrt(np.outer(degree, degree)))[1][:, ::-1][:, :5]
        rows = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        mine = found[graphs.batch == number]
        np.testing.assert_allclose(np.abs(mine.numpy()), np.abs(rows), atol=1e-4)
        assert torch.equal(positions(alone, 5), mine)


def test_seeds_are_drawn_by_degree_to_the_power_of_three_quarters() -> None:
    torch.manual_seed(0)
    drawn = torch.stack([draw_seeds(STAR) for _ in range(4000)])
    assert set(drawn[:, 2].tolist()) == {7}
    share = torch.bincount(drawn[:, 0], minlength=4) / 4000
    weight = torch.tensor([1, 3, 1, 1]).pow(0.75)
    torch.testing.assert_close(share, weight / weight.sum(), atol=0.03, rtol=0)
    assert highest_degree(STAR).tolist() == [1, 4, 7]


def test_a_view_is_what_a_walk_sees_from_the_seed_which_is_marked() -> None:
    torch.manual_seed(0)
    seed = torch.tensor([0, 5, 7])
    seen = describe(Subgraph(p=0.0, ratio=1.0, steps=1).around(STAR, seed), seed)
    assert seen.node_ptr.tolist() == [0, 2, 4, 5]  # one step from an end leads to the centre
    assert seen.x[:, POSITIONS].tolist() == [1, 1, 1, 1, 0]  # degrees
    assert seen.x[:, POSITIONS + 1].tolist() == [1, 0, 0, 1, 1]


def test_the_loss_is_cross_entropy_over_the_batch_or_the_queue() -> None:
    q, k, queue = torch.eye(3)[:2], torch.eye(3)[:2], torch.eye(3)
    e = float(torch.e)
    assert float(find_key(q, k, tau=1.0)) == pytest.approx(-np.log(e / (e + 1)), abs=1e-6)
    assert float(find_key(q, k, queue, tau=1.0)) == pytest.approx(-np.log(e / (2 * e + 2)), abs=1e-6)


def test_the_queue_is_first_in_first_out_and_its_keys_have_no_gradient() -> None:
    method = build("contrast=moco", "queue=20", "options.columns=6")
    before = method.queue.clone()
    for _ in range(2):
        for loss in method.losses(GRAPHS, Progress()):
            loss.backward()
    assert not method.queue.requires_grad
    assert torch.equal(method.queue[16:], before[:4])  # two batches of eight came, the oldest sixteen left
    latest = method.queue[:8].clone()
    for _ in method.losses(GRAPHS, Progress()):
        pass
    assert torch.equal(method.queue[8:16], latest)
    assert not torch.equal(method.queue[:8], latest)


def test_the_teacher_of_the_queue_follows_by_its_momentum() -> None:
    method = build("contrast=moco", "queue=8", "momentum=0.75")
    start = method.outputs[0].bias.detach().clone()  # type: ignore[operator]
    for _ in method.losses(GRAPHS, Progress()):
        with torch.no_grad():
            method.outputs[0].bias.add_(1.0)  # type: ignore[operator]
    torch.testing.assert_close(method.state_dict()["teachers.outputs.0__bias"], start + 0.25)


def test_keys_of_the_queue_are_computed_without_dropout() -> None:
    method, kept = build("contrast=moco", "queue=8", "dropout=0.5").train(), []
    method.dropout.register_forward_hook(lambda module, given, out: kept.append(torch.equal(given[0], out)))
    next(method.losses(GRAPHS, Progress()))
    layers = len(method.outputs)
    assert all(kept[:layers])  # the keys, which come first
    assert not any(kept[layers:])
    assert method.dropout.training


def test_the_queue_trains_on_a_dataset_that_is_large_enough() -> None:
    settings = settings_of("gcc", "contrast=moco", "queue=4")
    losses = [epoch.loss for epoch in pretrain(build("contrast=moco", "queue=4"), GRAPHS, settings.train)]
    assert np.isfinite(losses).all()


@pytest.mark.parametrize(
    ("batch_size", "advice"), [(4, "set queue to 4 or less"), (8, r"lower train\.batch_size and queue")]
)
def test_a_queue_larger_than_the_dataset_is_refused_in_one_line(batch_size: int, advice: str) -> None:
    """Eight graphs: beside a batch of four there are four keys, beside one of eight there are none."""
    chosen = ("contrast=moco", "queue=5", f"batch_size={batch_size}")
    with pytest.raises(SettingError, match=f"queue = 5 holds more keys than .*{advice}, or set contrast"):
        list(pretrain(build(*chosen), GRAPHS, settings_of("gcc", *chosen).train))


def test_a_batch_of_one_graph_is_refused_in_one_line() -> None:
    with pytest.raises(SettingError, match=r"needs at least two graphs in a batch; raise train\.batch_size"):
        list(build().losses(GRAPHS.take(torch.tensor([0])), Progress()))


def recognised(method: GCC, graphs: Graphs) -> float:
    """The share of graphs whose second walk is nearer to their first one than that of any other graph."""
    torch.manual_seed(0)
    with torch.no_grad():
        q, k = (method.eval()(seen) for seen in method.walks(graphs))
    return float(((q @ k.T).argmax(1) == torch.arange(len(graphs))).float().mean())


def test_training_makes_it_recognise_walks_in_graphs_that_it_has_not_seen() -> None:
    trained, unseen = (random_graphs([*range(10, 50, 2)] * 6, density=0.2, seed=seed) for seed in (0, 1))
    gains = []
    for seed in range(2):
        small = ["encoder.layers=2", "encoder.units=16", "batch_size=60", "epochs=60", "dropout=0", f"seed={seed}"]
        settings = recipe("gcc", assignments=small)
        method = build_pretraining(settings, 1)
        assert isinstance(method, GCC)
        before = recognised(method, unseen)
        list(pretrain(method, trained, settings.train, seed=seed))
        gains.append(recognised(method, unseen) - before)
    assert np.mean(gains) > 0.08, gains
