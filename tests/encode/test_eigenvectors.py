"""Eigenvectors of a batch of matrices, and the way out if the solver of a GPU does not converge."""

from unittest.mock import patch

import pytest
import torch
from torch import Tensor

from nmrgcl.ops.eigenvectors import eigenvectors

SYMMETRIC = torch.tensor([[[2.0, 1.0], [1.0, 2.0]], [[0.0, 0.0], [0.0, 1.0]]], dtype=torch.float64)


def test_by_hand() -> None:
    first, second = eigenvectors(SYMMETRIC).abs()
    torch.testing.assert_close(first, torch.full((2, 2), 0.5**0.5, dtype=torch.float64))
    torch.testing.assert_close(second, torch.eye(2, dtype=torch.float64))


class _OnDevice(torch.Tensor):
    """A tensor that claims to be on a GPU."""

    device = torch.device("cuda")

    def cpu(self) -> Tensor:  # type: ignore[override]
        return self.as_subclass(torch.Tensor)


def test_a_batch_that_a_gpu_cannot_solve_is_solved_on_the_host() -> None:
    solve, asked = torch.linalg.eigh, []

    def fails_on_gpus(matrices: Tensor) -> object:
        asked.append(matrices.device.type)
        if matrices.device.type == "cuda":
            raise torch.linalg.LinAlgError("did not converge")
        return solve(matrices)

    with patch("torch.linalg.eigh", fails_on_gpus), patch.object(torch.Tensor, "to", lambda found, _: found):
        found = eigenvectors(SYMMETRIC.as_subclass(_OnDevice))
    assert asked == ["cuda", "cpu"]
    assert torch.equal(found, eigenvectors(SYMMETRIC))


def test_a_failure_on_the_host_is_not_hidden() -> None:
    with (
        patch("torch.linalg.eigh", side_effect=torch.linalg.LinAlgError("did not converge")),
        pytest.raises(torch.linalg.LinAlgError),
    ):
        eigenvectors(SYMMETRIC)
