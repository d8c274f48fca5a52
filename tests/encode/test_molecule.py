"""The molecular GIN: equal to its definition, to PyG's message passing, and to the compacted graph."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from nmrgcl.augment import VIEWS, AddEdges, Compose, DropEdges, DropNodes, OneOf, Subgraph
from nmrgcl.encode import MoleculeGIN, build_encoder, pool
from nmrgcl.encode.edge_names import EdgeNames
from nmrgcl.encode.norm import MaskedBatchNorm
from nmrgcl.errors import DataError
from nmrgcl.graphs import Graphs
from nmrgcl.methods import build_method
from nmrgcl.ops.neighbour_sum import edge_counts, neighbour_sum
from nmrgcl.settings import resolve
from nmrgcl.train import pretrain
from tests.examples import one_graph, random_graphs

ATOMS, CHIRALITIES = 6, 3
SIZES = [6, 1, 9, 4, 0]


def molecules(sizes: list[int] = SIZES, seed: int = 0) -> Graphs:
    """Random graphs with two categories an atom, and a type (1 … 4) and direction (0 … 2) a bond, both ways alike."""
    graphs = random_graphs(sizes, density=0.5, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    low, high = torch.tensor([0, ATOMS]), torch.tensor([ATOMS, CHIRALITIES])
    x = (torch.rand(graphs.num_nodes, 2, generator=generator) * high).long() + low
    attr = (torch.rand(graphs.num_edges, 2, generator=generator) * torch.tensor([4, 3])).long() + torch.tensor([1, 0])
    return replace(graphs, x=x, num_features=ATOMS + CHIRALITIES, edge_attr=attr[graphs.pair])


def tables(units: int = 3, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    return [torch.randn(rows, units, dtype=dtype, requires_grad=True) for rows in (4, 2, 1)]


def bond_counts(graphs: Graphs) -> Tensor:
    """How often the edges into each node name each of 4 types and 2 directions."""
    counts = edge_counts(EdgeNames([4, 2])(graphs), 6)
    assert not counts[:, 6:].any()
    return counts[:, :6]


def bond_sum(h: Tensor, graphs: Graphs, tables: Sequence[Tensor], *, counted: bool = True) -> Tensor:
    """Messages with the embeddings of bonds, and of the loop that every node has to itself."""
    *own, loop = tables
    named = EdgeNames([len(table) for table in own])(graphs)
    counts = edge_counts(named, sum(map(len, own)) + 1, looped=True) if counted else None
    return neighbour_sum(h, named, self_weight=1.0, edge_table=torch.cat([*own, loop]), edge_counts=counts, looped=True)


def test_a_path_of_three_atoms_by_hand() -> None:
    path = one_graph(3, (0, 1), (1, 2))  # rows (1, 1), (2, 4), (3, 9)
    attr = torch.tensor([[2, 0], [2, 0], [1, 2], [1, 2]])  # a double bond, then a single one that points down
    path = replace(path, edge_attr=attr)
    types = torch.tensor([[10.0, 0], [20, 0], [30, 0], [40, 0]])
    directions, loop = torch.tensor([[100.0, 0], [200, 0]]), torch.tensor([[0.0, 1000]])
    assert bond_counts(path).tolist() == [[0, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 1], [1, 0, 0, 0, 0, 1]]
    summed = bond_sum(path.x, path, [types, directions, loop])
    assert summed.tolist() == [[1 + 2 + 20, 1005], [1 + 2 + 3 + 230, 1014], [2 + 3 + 210, 1013]]


@pytest.mark.parametrize("view", [None, Compose(AddEdges(0.4), DropNodes(0.4), DropEdges(0.3))])
@pytest.mark.parametrize("weighted", [False, True])
def test_bond_sum_is_its_definition_edge_by_edge(view: Compose | None, weighted: bool) -> None:
    torch.manual_seed(0)
    graphs = molecules()
    if weighted:
        weight = torch.rand(graphs.num_edges, dtype=torch.float64)[graphs.pair]
        graphs = replace(graphs, edge_weight=weight)
    graphs = graphs if view is None else view(graphs)
    merged = graphs.merge_added()
    h, (types, directions, loop) = torch.randn(graphs.num_nodes, 3, dtype=torch.float64), tables()
    expected = h + loop
    assert merged.edge_attr is not None
    for e, (u, v) in enumerate(merged.edge_index.T.tolist()):
        if not merged.live_edges[e]:
            continue
        kind, direction = merged.edge_attr[e].tolist()
        message = h[u] + (types[kind - 1] if kind else 0) + (directions[direction - 1] if direction else 0)
        share = 1 if merged.edge_weight is None else merged.edge_weight[e]
        expected = expected.index_add(0, torch.tensor([v]), message[None] * share)
    kept = torch.ones(len(h), dtype=torch.bool) if graphs.node_keep is None else graphs.node_keep
    for counted in (True, False):
        found = bond_sum(h, graphs, [types, directions, loop], counted=counted)
        torch.testing.assert_close(found[kept], expected[kept])


def test_added_edges_carry_messages_but_name_no_bond() -> None:
    torch.manual_seed(0)
    graphs = molecules()
    more = AddEdges(0.5)(graphs)
    assert int(more.added_keep.sum()) > 0  # type: ignore[union-attr]
    assert torch.equal(bond_counts(more), bond_counts(graphs))
    h, own = torch.randn(graphs.num_nodes, 3, dtype=torch.float64), tables()
    assert not torch.allclose(bond_sum(h, more, own), bond_sum(h, graphs, own))


@pytest.mark.parametrize("view", [None, DropNodes(0.3), Compose(AddEdges(0.4), DropEdges(0.3))])
@pytest.mark.parametrize("directed", [False, True])
def test_gradients_of_rows_and_tables_equal_differences(view: DropNodes | Compose | None, directed: bool) -> None:
    torch.manual_seed(0)
    graphs = molecules([5, 1, 4])
    if directed:
        edges = torch.arange(0, graphs.num_edges, 3)
        assert graphs.edge_attr is not None
        graphs = Graphs.build(graphs.edge_index[:, edges], graphs.node_ptr, edge_attr=graphs.edge_attr[edges])
    graphs = graphs if view is None else view(graphs)
    h = torch.randn(graphs.num_nodes, 3, dtype=torch.float64, requires_grad=True)
    for counted in (True, False):
        assert torch.autograd.gradcheck(lambda t, *own, c=counted: bond_sum(t, graphs, own, counted=c), (h, *tables()))


def reference(ours: MoleculeGIN) -> nn.Module:
    """The network of Hu et al. from PyG's parts, with the weights of ours: loops are edges of a type of their own."""
    from torch_geometric.nn import MessagePassing
    from torch_geometric.utils import add_self_loops

    class Convolution(MessagePassing):
        def __init__(self, layer: nn.Module) -> None:
            super().__init__(aggr="add")
            types, directions, loop = (p.detach() for p in layer.tables)  # type: ignore[union-attr]
            none = torch.zeros_like(loop)
            self.types = nn.Embedding.from_pretrained(torch.cat([none, types, loop]), freeze=False)
            self.directions = nn.Embedding.from_pretrained(torch.cat([none, directions]), freeze=False)
            self.mlp = nn.Sequential(layer.first, nn.ReLU(), layer.second)  # type: ignore[arg-type]

        def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
            loops = torch.tensor([self.types.num_embeddings - 1, 0]).expand(x.shape[0], 2)
            edge_index, _ = add_self_loops(edge_index, num_nodes=x.shape[0])
            edge_attr = torch.cat([edge_attr, loops])
            bonds = self.types(edge_attr[:, 0]) + self.directions(edge_attr[:, 1])
            summed: Tensor = self.propagate(edge_index, x=x, bonds=bonds)
            return self.mlp(summed)

        def message(self, x_j: Tensor, bonds: Tensor) -> Tensor:
            return x_j + bonds

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.atoms = nn.Embedding.from_pretrained(ours.atoms.weight.detach()[:ATOMS], freeze=False)
            self.chirality = nn.Embedding.from_pretrained(ours.atoms.weight.detach()[ATOMS:], freeze=False)
            self.convs = nn.ModuleList(Convolution(layer) for layer in ours.layers)
            width, dtype = ours.atoms.weight.shape[1], ours.atoms.weight.dtype
            self.norms = nn.ModuleList(nn.BatchNorm1d(width).to(dtype) for _ in ours.layers)
            for norm, layer in zip(self.norms, ours.layers, strict=True):
                norm.load_state_dict(layer.norm.state_dict(), strict=False)  # type: ignore[union-attr]

        def forward(self, graphs: Graphs) -> Tensor:
            h = self.atoms(graphs.x[:, 0]) + self.chirality(graphs.x[:, 1] - ATOMS)
            for number, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
                h = norm(conv(h, graphs.edge_index, graphs.edge_attr))
                h = h if number == len(self.convs) - 1 else h.relu()
            result: Tensor = h
            return result

    return Network()


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("units", [8, 5])
def test_the_encoder_equals_pyg(dtype: torch.dtype, tolerance: float, training: bool, units: int) -> None:
    torch.manual_seed(0)
    graphs = molecules()
    ours = MoleculeGIN(ATOMS + CHIRALITIES, layers=3, units=units).to(dtype).train(training)
    theirs = reference(ours).train(training)
    a, b = ours(graphs), theirs(graphs)[:, :units]
    torch.testing.assert_close(a, b, atol=10 * tolerance, rtol=10 * tolerance)
    weight = torch.randn_like(a)
    (a * weight).sum().backward()
    (b * weight).sum().backward()
    grads = dict(theirs.named_parameters())
    found = torch.cat([p.grad for p in ours.layers[0].tables])  # type: ignore[union-attr]
    of_types, of_directions = grads["convs.0.types.weight"].grad, grads["convs.0.directions.weight"].grad
    assert of_types is not None
    assert of_directions is not None
    expected = torch.cat([of_types[1:5], of_directions[1:], of_types[5:]])
    torch.testing.assert_close(found, expected, atol=1000 * tolerance, rtol=100 * tolerance)


@pytest.mark.parametrize(
    "view",
    [
        Compose(AddEdges(0.4), DropNodes(0.4), DropEdges(0.3)),
        Compose(DropNodes(0.3), AddEdges(0.5), Subgraph()),
        OneOf(*(view() for view in VIEWS.values())),
    ],
)
@pytest.mark.parametrize("how", ["sum", "mean"])
def test_a_masked_molecule_gives_what_the_compacted_one_gives(view: Compose | OneOf, how: str) -> None:
    torch.manual_seed(0)
    seen = view(molecules())
    encoder = MoleculeGIN(ATOMS + CHIRALITIES, layers=2, units=8).double().train()
    results, grads, statistics = [], [], []
    for graphs in (seen, seen.compact()):
        encoder.zero_grad()
        for name, buffer in encoder.named_buffers():
            buffer.fill_(float("var" in name))
        z = pool(encoder(graphs), graphs, how)
        (z * torch.arange(z.numel(), dtype=z.dtype).reshape(z.shape).sin()).sum().backward()
        results.append(z)
        grads.append([p.grad.clone() for p in encoder.parameters() if p.grad is not None])
        statistics.append([b.clone() for b in encoder.buffers()])
    torch.testing.assert_close(*results, atol=1e-11, rtol=1e-11)
    torch.testing.assert_close(*statistics, atol=1e-11, rtol=1e-11)
    torch.testing.assert_close(*grads, atol=1e-9, rtol=1e-9)
    assert len(grads[0]) == len(list(encoder.parameters()))


def test_embeddings_depend_neither_on_atom_order_nor_on_the_rest_of_the_batch() -> None:
    torch.manual_seed(0)
    sizes = [5, 3, 7]
    graphs = molecules(sizes)
    encoder = MoleculeGIN(ATOMS + CHIRALITIES, layers=3, units=6).double().eval()
    z = pool(encoder(graphs), graphs, "mean")
    batch = graphs.take(torch.tensor([2, 0]))
    torch.testing.assert_close(pool(encoder(batch), batch, "mean"), z[[2, 0]])
    within = torch.cat([torch.randperm(n) + start for n, start in zip(sizes, graphs.node_ptr[:-1], strict=True)])
    renamed = Graphs.build(
        torch.argsort(within)[graphs.edge_index],
        graphs.node_ptr,
        x=graphs.x[within],
        num_features=graphs.num_features,
        edge_attr=graphs.edge_attr,
    )
    torch.testing.assert_close(pool(encoder(renamed), renamed, "mean"), z)


def test_the_setting_trains_with_every_view_and_depends_on_bonds() -> None:
    graphs = molecules([6, 3, 9, 4, 7, 5])
    small = ["encoder.name=molecule", "layers=2", "encoder.units=8", "pool=mean", "batch_size=3", "epochs=2"]
    settings = resolve("graphcl", assignments=small).updated({"views.first": [{"name": name} for name in VIEWS]})
    method = build_method(settings, graphs.num_features)
    losses = [epoch.loss for epoch in pretrain(method, graphs, settings.train)]
    assert all(torch.isfinite(torch.tensor(losses)))
    assert graphs.edge_attr is not None
    other = replace(graphs, edge_attr=graphs.edge_attr.clamp(max=1))
    with torch.no_grad():
        assert not torch.allclose(method.eval().embed(graphs), method.embed(other))


def test_spare_columns_stay_zero_and_change_nothing() -> None:
    graphs = molecules([6, 3, 9, 4, 7, 5])
    small = ["encoder.name=molecule", "layers=2", "encoder.units=5", "pool=mean", "batch_size=3", "epochs=3", "lr=0.1"]
    settings = resolve("graphcl", assignments=small)
    method = build_method(settings, graphs.num_features)
    assert isinstance(method.encoder, MoleculeGIN)
    list(pretrain(method, graphs, settings.train))
    for name, parameter in method.encoder.named_parameters():
        wide = parameter.detach().T if name.endswith("second.weight") else parameter.detach()
        if "first.bias" not in name:
            assert wide.shape[-1] == 8, name
            assert bool((wide[..., 5:] == float("norm.weight" in name)).all()), name
            assert bool((wide[..., :5] != float("norm.weight" in name)).any()), name
    with torch.no_grad():
        h = method.encoder.eval()(graphs)
        assert h.shape == (graphs.num_nodes, 5)
        torch.testing.assert_close(reference(method.encoder).eval()(graphs)[:, :5], h, atol=1e-4, rtol=1e-4)


def test_a_bias_before_the_norm_has_no_gradient_to_speak_of() -> None:
    """What the encoder relies on, which has none there: the gradient would be rounding and nothing else."""
    torch.manual_seed(0)
    h, shift = torch.randn(9, 4, dtype=torch.float64), torch.zeros(4, dtype=torch.float64, requires_grad=True)
    keep = torch.arange(9) % 3 > 0
    out = MaskedBatchNorm(4).double()(h + shift, keep)
    (out.sin() * keep[:, None]).sum().backward()
    assert shift.grad is not None
    assert float(shift.grad.abs().max()) < 1e-14


def test_five_layers_of_300_units_unless_asked_otherwise() -> None:
    encoder = MoleculeGIN(123)
    shapes = {name: tuple(p.shape) for name, p in encoder.named_parameters() if "layers.4" in name or "atoms" in name}
    assert shapes["atoms.weight"] == (123, 304)
    assert shapes["layers.4.first.weight"] == (600, 304)
    assert shapes["layers.4.second.weight"] == (304, 600)
    assert encoder.units == 300
    assert len(encoder.layers) == 5
    assert isinstance(build_encoder("molecule", 9, layers=1, units=4), MoleculeGIN)


def test_five_layers_of_300_units_have_the_parameters_that_are_stated() -> None:
    def used(units: int, layers: int, atoms: int, bonds: int, second_bias: int) -> int:
        maps = (units * 2 * units + 2 * units) + (2 * units * units + second_bias)
        return atoms * units + layers * (bonds * units + maps + 2 * units)

    published = used(300, 5, atoms=120 + 3, bonds=6 + 3, second_bias=300)
    here = used(300, 5, atoms=120 + 3, bonds=4 + 2 + 1, second_bias=0)
    assert (published, here) == (1_857_900, 1_853_400)
    encoder = MoleculeGIN(123)
    stored = sum(parameter.numel() for parameter in encoder.parameters())
    assert stored - here == 4 * (123 + 5 * (7 + 600 + 600 + 2))  # 4 spare units in each matrix and vector but one
    # Without spare units the network is counted as it is.
    assert sum(p.numel() for p in MoleculeGIN(9, layers=2, units=16).parameters()) == used(16, 2, 9, 7, 0)
    assert MoleculeGIN.__doc__ is not None
    assert f"{here:,}" in MoleculeGIN.__doc__
    assert f"{published:,}" in MoleculeGIN.__doc__


def test_the_encoder_is_the_published_one_atom_by_atom() -> None:
    """Published weights, those that are left out here too, give what ours give once they are rewritten."""
    torch.manual_seed(0)
    graphs, units = molecules([6, 1, 5]), 5
    ours = MoleculeGIN(ATOMS + CHIRALITIES, layers=3, units=units).double().train()
    atoms, chiralities = torch.randn(ATOMS, units).double(), torch.randn(CHIRALITIES, units).double()
    h = [atoms[a] + chiralities[c - ATOMS] for a, c in graphs.x.tolist()]
    with torch.no_grad():
        ours.atoms.weight[:, :units] = torch.cat([atoms, chiralities])
    assert graphs.edge_attr is not None
    rows = torch.cat([graphs.edge_index.T, graphs.edge_attr], 1).tolist()
    edges = [(u, v, kind - 1, direction) for u, v, kind, direction in rows]
    edges += [(v, v, 4, 0) for v in range(graphs.num_nodes)]  # loops are bonds of type 4
    for number, layer in enumerate(ours.layers):
        types, directions = torch.randn(6, units).double(), torch.randn(3, units).double()
        w1, b1 = torch.randn(2 * units, units).double(), torch.randn(2 * units).double()
        w2, b2 = torch.randn(units, 2 * units).double(), torch.randn(units).double()
        scale, shift = torch.rand(units).double() + 0.5, torch.randn(units).double()
        summed = [torch.zeros(units).double() for _ in h]
        for u, v, kind, direction in edges:
            summed[v] = summed[v] + h[u] + types[kind] + directions[direction]
        mapped = torch.stack([w2 @ (w1 @ row + b1).clamp(min=0) + b2 for row in summed])
        normed = (mapped - mapped.mean(0)) / (mapped.var(0, correction=0) + 1e-5).sqrt() * scale + shift
        h = list(normed if number == 2 else normed.clamp(min=0))
        own = (types[:4] + directions[0], directions[1:] - directions[0], types[4:5] + directions[0])
        with torch.no_grad():
            for table, values in zip(layer.tables, own, strict=True):  # type: ignore[arg-type]
                table[:, :units] = values
            layer.first.weight[:, :units], layer.first.bias[:] = w1, b1  # type: ignore[union-attr,operator]
            layer.second.weight[:units] = w2  # type: ignore[union-attr,operator]
            layer.norm.weight[:units], layer.norm.bias[:units] = scale, shift  # type: ignore[union-attr,operator]
    torch.testing.assert_close(ours(graphs), torch.stack(h), atol=1e-11, rtol=1e-11)


def test_all_layers_end_with_the_last_one() -> None:
    graphs = molecules()
    last, whole = (MoleculeGIN(ATOMS + CHIRALITIES, layers=3, units=5, last=last) for last in (True, False))
    whole.load_state_dict(last.state_dict())
    h = whole(graphs)
    assert whole.units == h.shape[1] == 15
    assert torch.equal(last(graphs), h[:, 10:])
    assert bool((h[:, :10] >= 0).all())  # ReLU follows all layers but the last
    assert bool((h[:, 10:] < 0).any())


def test_dropout_follows_every_layer_in_training_alone() -> None:
    torch.manual_seed(0)
    graphs = molecules([30, 40])
    plain = MoleculeGIN(ATOMS + CHIRALITIES, layers=2, units=16, last=False)
    dropping = MoleculeGIN(ATOMS + CHIRALITIES, layers=2, units=16, last=False, dropout=0.5)
    dropping.load_state_dict(plain.state_dict())
    assert torch.equal(dropping.eval()(graphs), plain.eval()(graphs))
    kept, seen = plain.train()(graphs), dropping.train()(graphs)
    first, last = seen[:, :16], seen[:, 16:]
    share = float((last == 0).double().mean())
    assert 0.4 < share < 0.6
    survived = first != 0
    torch.testing.assert_close(first[survived], 2 * kept[:, :16][survived])
    assert 0.4 < float((first == 0)[kept[:, :16] > 0].double().mean()) < 0.6


@pytest.mark.parametrize(
    ("attr", "word"),
    [
        (None, "there is none"),
        (torch.zeros(0, 2), "float32"),
        (torch.zeros(0, 3, dtype=torch.long), "3"),
        (torch.tensor([[1, 0], [5, 0]]), "column 0: value 5"),
        (torch.tensor([[1, 0], [1, 3]]), "column 1: value 3"),
    ],
)
def test_bonds_that_it_does_not_know_are_refused_in_one_line(attr: Tensor | None, word: str) -> None:
    graphs = one_graph(2, (0, 1))
    with pytest.raises(DataError, match=word) as refused:
        MoleculeGIN(2, layers=1, units=4)(replace(graphs, edge_attr=attr))
    assert "\n" not in str(refused.value)
