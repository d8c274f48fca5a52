"""The inverse of Cholesky factors, against the library's."""

import pytest
import torch

from nmrgcl.evaluate.inverse_root import BLOCK, inverse_root


@pytest.mark.parametrize("n", [1, 5, BLOCK, BLOCK + 1, 2 * BLOCK - 1, 3 * BLOCK, 5 * BLOCK + 17])
def test_it_inverts_the_factor_of_every_system(n: int) -> None:
    torch.manual_seed(0)
    z = torch.randn(3, n, 7, dtype=torch.float64)
    ridge = torch.tensor([1e-3, 1.0, 100.0], dtype=torch.float64)[:, None, None]
    systems = torch.exp(-torch.cdist(z, z)) + ridge * torch.eye(n, dtype=torch.float64)
    before = systems.clone()
    root = inverse_root(systems)
    factor = torch.linalg.cholesky(systems)
    expected = torch.linalg.solve_triangular(factor, torch.eye(n, dtype=torch.float64).expand_as(factor), upper=False)
    torch.testing.assert_close(root, expected, rtol=1e-9, atol=1e-9)
    assert torch.equal(root, root.tril())
    assert torch.equal(systems, before)
