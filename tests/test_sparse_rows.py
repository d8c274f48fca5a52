import torch

from nmrgcl.augment import DropFeatures, MaskFeatures, ShuffleNodes
from nmrgcl.ops.sparse_product import sparse_product
from nmrgcl.sparse_rows import entry_rows, permute_rows, select_rows, sparse_rows, with_values
from tests.examples import random_graphs, sparse_x

# Rows (0, 5, 0), (0, 0, 0), (7, 0, 2)
X = sparse_rows(torch.tensor([0, 1, 1, 3]), torch.tensor([1, 0, 2]), torch.tensor([5.0, 7.0, 2.0]), 3)


def test_rows_are_selected_with_their_entries() -> None:
    index = torch.tensor([2, 1, 2, 0])
    assert select_rows(X, index).to_dense().tolist() == [[7, 0, 2], [0, 0, 0], [7, 0, 2], [0, 5, 0]]
    assert permute_rows(X, torch.tensor([2, 0, 1])).to_dense().tolist() == [[7, 0, 2], [0, 5, 0], [0, 0, 0]]
    assert entry_rows(X).tolist() == [0, 2, 2]
    assert with_values(X, torch.tensor([1.0, 0.0, 3.0])).to_dense().tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 3]]


def test_the_product_and_its_gradient_are_those_of_the_dense_form() -> None:
    weight = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    x = with_values(X, X.values().double())
    torch.testing.assert_close(sparse_product(x, weight), x.to_dense() @ weight)
    assert torch.autograd.gradcheck(lambda w: sparse_product(x, w), (weight,))


def test_views_of_features_are_those_of_the_dense_form() -> None:
    graphs = random_graphs([5, 1, 7])
    for view in (MaskFeatures(0.5), DropFeatures(0.5), ShuffleNodes(1.0)):
        found = []
        for form in (graphs, sparse_x(graphs)):
            torch.manual_seed(3)
            found.append(view(form).dense_x())
        assert torch.equal(*found)
