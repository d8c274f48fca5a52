"""Matrix products in the precision that is asked for, and no longer than that."""

import pytest
import torch

from nmrgcl.ops.negatives import kernel_precision
from nmrgcl.train.precision import matrix_precision

CPU = torch.device("cpu")


@pytest.mark.parametrize(
    ("precision", "found"), [("float32", torch.float32), ("tf32", torch.float32), ("bf16", torch.bfloat16)]
)
def test_products_have_the_precision_inside_the_block_only(precision: str, found: torch.dtype) -> None:
    h = torch.ones(2, 2)
    with matrix_precision(precision, CPU):  # type: ignore[arg-type]
        assert (h @ h).dtype == found
    assert (h @ h).dtype == torch.float32


def test_a_step_after_the_block_reads_the_new_weights() -> None:
    layer, h = torch.nn.Linear(1, 1, bias=False), torch.ones(1, 1)
    found = []
    for weight in (1.0, 2.0):
        with torch.no_grad():
            layer.weight.fill_(weight)
        with matrix_precision("bf16", CPU):
            found.append(layer(h).item())
    assert found == [1.0, 2.0]


def test_an_error_restores_what_was_before() -> None:
    def fail() -> None:
        with matrix_precision("tf32", CPU):
            assert torch.get_float32_matmul_precision() == "medium"
            raise ValueError("inside")

    before = torch.get_float32_matmul_precision()
    with pytest.raises(ValueError, match="inside"):
        fail()
    assert torch.get_float32_matmul_precision() == before


@pytest.mark.parametrize("chosen", ["highest", "high", "medium"])
@pytest.mark.parametrize("precision", ["float32", "tf32", "bf16"])
def test_kernels_can_read_the_precision_whatever_the_user_has_chosen(chosen: str, precision: str) -> None:
    """PyTorch refuses to tell it where its older and newer names for it were mixed."""
    torch.set_float32_matmul_precision(chosen)
    try:
        with matrix_precision(precision, CPU):  # type: ignore[arg-type]
            assert kernel_precision() == ("tf32x3" if precision == "float32" else "tf32")
        assert torch.get_float32_matmul_precision() == chosen
    finally:
        torch.set_float32_matmul_precision("highest")


def test_factors_are_rounded_to_eight_bits_at_most() -> None:
    a, b = torch.randn(300, 200), torch.randn(200, 100)
    exact = a.double() @ b.double()
    for precision, largest in (("float32", 1e-6), ("tf32", 4e-3), ("bf16", 8e-3)):
        with matrix_precision(precision, CPU):  # type: ignore[arg-type]
            found = (a @ b).double()
        assert float((found - exact).norm() / exact.norm()) < largest
