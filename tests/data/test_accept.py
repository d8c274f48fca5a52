"""Whatever holds graphs is read; what does not is refused in one line."""

import sys
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from nmrgcl.data.accept import as_dataset
from nmrgcl.data.conversions import from_pyg, to_networkx, to_pyg
from nmrgcl.data.features import choose_features
from nmrgcl.data.loading import load
from nmrgcl.errors import DataError, DataWarning, UserError

geometric = pytest.importorskip("torch_geometric.data")
Data = geometric.Data
PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


class Kept(geometric.InMemoryDataset):  # type: ignore[name-defined]
    """Two paths of three nodes, as PyG keeps a dataset in memory."""

    def __init__(self, items: list[Any]) -> None:
        super().__init__()
        self.data, self.slices = self.collate(items)


def items() -> list[Any]:
    return [Data(x=torch.rand(3, 2), edge_index=PATH, y=torch.tensor([i])) for i in range(3)]


def object_array(graphs: list[Any]) -> np.ndarray:
    array = np.empty(len(graphs), object)
    array[:] = graphs
    return array


def series(graphs: list[Any]) -> Any:
    return pytest.importorskip("pandas").Series(graphs)


HOLDERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": iter,
    "object array": object_array,
    "Series": series,
}


@pytest.mark.parametrize("holder", HOLDERS)
@pytest.mark.parametrize("kind", ["PyG", "NetworkX", "matrices"])
def test_every_holder_of_graphs(holder: str, kind: str) -> None:
    path = nx.path_graph(3)
    graphs = {"PyG": items(), "NetworkX": [path] * 3, "matrices": [nx.to_numpy_array(path)] * 3}[kind]
    data = as_dataset(HOLDERS[holder](graphs))
    assert data.graphs.node_ptr.tolist() == [0, 3, 6, 9]
    assert data.graphs.edge_index[:, :4].tolist() == [[1, 0, 2, 1], [0, 1, 1, 2]]


def test_pyg_datasets_slices_and_batches() -> None:
    kept = Kept(items())
    batch = geometric.Batch.from_data_list(items())
    for data, count in ((kept, 3), (kept[:2], 2), (kept[[2, 0]], 2), (kept[0], 1), (batch, 3), ([batch, batch], 6)):
        assert as_dataset(data).graphs.num_graphs == load(data).graphs.num_graphs == count
    assert as_dataset(kept[[2, 0]]).classes == (0, 2)


def test_one_matrix_several_and_with_features() -> None:
    matrix = np.array([[0, 2.0, 0], [2, 0, 0.5], [0, 0.5, 0]])
    x = np.array([[1.0, 2], [3, 4], [5, 6]])
    for given in (matrix, csr_array(matrix)):
        data = as_dataset(given)
        assert data.graphs.edge_weight is not None
        assert data.graphs.edge_weight.tolist() == [2, 2, 0.5, 0.5]
        assert as_dataset(given, edge_weight=None).graphs.edge_weight is None
        assert as_dataset((given, x)).node_attributes.tolist() == x.tolist()  # type: ignore[union-attr]
        assert as_dataset([(given, x), (given, x)]).graphs.num_graphs == 2
    assert as_dataset(np.stack([matrix] * 4)).graphs.num_graphs == 4
    kinds = as_dataset((matrix, x.astype(int)), categorical=True)
    assert kinds.categories is not None
    assert kinds.categories.values == ((1, 3, 5), (2, 4, 6))
    sparse = as_dataset((matrix, csr_array(x))).node_attributes
    assert isinstance(sparse, csr_array)
    assert sparse.toarray().tolist() == x.tolist()
    with pytest.warns(DataWarning, match="1 one-way edge made to lead both ways"):
        assert as_dataset(np.array([[0, 1], [0, 0]])).graphs.num_edges == 2
    assert as_dataset(np.array([[0, 1], [0, 0]]), directed=True).graphs.edge_index.tolist() == [[0], [1]]


def test_labels_may_be_text_missing_or_no_classes() -> None:
    texts = [Data(num_nodes=1, y="b"), Data(num_nodes=1), Data(num_nodes=1, y="a")]
    data = as_dataset(texts)
    assert (data.classes, data.y.tolist()) == (("a", "b"), [1, -1, 0])  # type: ignore[union-attr]
    whole = as_dataset([Data(num_nodes=1, y=torch.tensor([1.0])), Data(num_nodes=1, y=torch.tensor([float("nan")]))])
    assert (whole.classes, whole.y.tolist()) == ((1,), [0, -1])  # type: ignore[union-attr]
    with pytest.warns(DataWarning, match="y left out \\(classes must be integers or text\\)"):
        assert as_dataset([Data(num_nodes=1, y=torch.tensor([0.5]))]).y is None
    graph = nx.empty_graph(2)
    graph.graph["y"] = 0.25
    with pytest.warns(DataWarning, match="y left out"):
        assert as_dataset([graph, nx.empty_graph(1)]).y is None


def test_one_column_that_is_the_same_everywhere_counts_as_none() -> None:
    data = as_dataset([Data(x=torch.ones(3, 1), edge_index=PATH)])
    assert choose_features(data).kind == "degree"
    assert choose_features(data, "attributes").width == 1


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (np.ones((3, 2)), "graph 0: an adjacency matrix must be square, not 3 by 2"),
        (-np.ones((2, 2)), "the weight -1.0 at [0, 0] is not positive"),
        ([(np.zeros((2, 2)), np.ones((3, 1)))], "has 3 rows of features for 2 nodes"),
        ([np.zeros((2, 2)), (np.zeros((2, 2)), np.ones((2, 1)))], "graph 0: has no features, but others do"),
        (["CCO", "C"], "SMILES are for MoleculeEmbedder"),
        ([nx.path_graph(2), np.zeros((2, 2))], "a mixture of Graph, ndarray"),
        ({"a": 1}, "cannot read graphs from dict"),
        (iter([]), "there are no graphs in the list"),
        ([Data(num_nodes=1, y={})], "y is a dict; classes must be integers or text"),
    ],
)
def test_what_is_not_a_graph_is_reported_in_one_line(wrong: Any, told: str) -> None:
    with pytest.raises(UserError) as caught:
        as_dataset(wrong)
    assert told in str(caught.value)
    assert "--" not in str(caught.value)


def test_weights_of_networkx_can_be_named_or_left_out() -> None:
    graph = nx.Graph()
    graph.add_edge(0, 1, weight=-1, strength=3)
    with pytest.raises(DataError, match=r"graph 0, edge \(0, 1\): weight -1 is not a positive 32-bit float"):
        as_dataset(graph)
    weight = as_dataset(graph, edge_weight="strength").graphs.edge_weight
    assert weight is not None
    assert weight.tolist() == [3, 3]
    assert as_dataset(graph, edge_weight=None).graphs.edge_weight is None


@pytest.mark.parametrize("module", ["torch_geometric.data", "networkx"])
def test_a_library_that_is_missing_is_reported_in_one_line(module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = as_dataset(nx.path_graph(3))
    monkeypatch.setitem(sys.modules, module, None)
    extra = {"torch_geometric.data": "pyg", "networkx": "networkx"}[module]
    for convert in (from_pyg, to_pyg) if extra == "pyg" else (to_networkx,):
        with pytest.raises(DataError, match=rf"which is not installed; pip install 'nmrgcl\[{extra}\]'"):
            convert(data)


def test_names_take_no_options() -> None:
    with pytest.raises(
        DataError, match="motifs: a published dataset is used unchanged; these options are for your own graphs"
    ):
        load("motifs", node_feature="x")
