"""Eigenvectors of a batch of symmetric matrices."""

import torch
from torch import Tensor


def eigenvectors(matrices: Tensor) -> Tensor:
    """``[B, n, n]``: the eigenvectors of each symmetric matrix as columns, in ascending order of their eigenvalues.

    The batched solvers of GPUs sometimes fail to converge if an eigenvalue is repeated very often, as in the adjacency
    matrix of a star. LAPACK does not, so that such a batch is solved on the host.
    """
    try:
        return torch.linalg.eigh(matrices).eigenvectors
    except torch.linalg.LinAlgError:
        if matrices.device.type == "cpu":
            raise
        return torch.linalg.eigh(matrices.cpu()).eigenvectors.to(matrices.device)
