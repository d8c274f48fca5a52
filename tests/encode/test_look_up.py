"""Categorical features against the same features multiplied as a matrix."""

import pytest
import torch

from nmrgcl.encode.feature_map import FeatureMap
from nmrgcl.graphs import Graphs


@pytest.mark.parametrize("columns", [1, 2])
def test_looking_up_and_its_gradient_are_those_of_the_product(columns: int) -> None:
    torch.manual_seed(0)
    names = torch.tensor([[0, 6], [5, -1], [-1, -1], [2, 2]])[:, :columns]  # the last names one row twice
    graphs = Graphs.build(torch.zeros(2, 0, dtype=torch.long), torch.tensor([0, 4]), x=names, num_features=9)
    features, grad = FeatureMap(9, 4), torch.randn(4, 4)
    found = features(names)
    found.backward(grad)
    torch.testing.assert_close(found, graphs.dense_x() @ features.weight)
    torch.testing.assert_close(features.weight.grad, graphs.dense_x().T @ grad)
