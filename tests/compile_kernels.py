"""Compile every kernel for a GPU, on a machine that has none: the interpreter accepts what the compiler does not.

    python -m tests.compile_kernels

Launches are intercepted: each is compiled for compute capability 9.0, and nothing runs. See `make test-kernels`.
"""

import sys
from itertools import product
from typing import Any

import torch
import triton.runtime.jit as jit
from torch import Tensor
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler import compile as compile_source

TYPES = {
    torch.float32: "*fp32",
    torch.float64: "*fp64",
    torch.bfloat16: "*bf16",
    torch.float16: "*fp16",
    torch.int64: "*i64",
    torch.bool: "*i1",
}
TARGET = GPUTarget("cuda", 90, 32)
failed: list[str] = []
compiled: set[str] = set()


def intercept(self: Any, *args: Any, grid: Any = None, warmup: bool = False, **given: Any) -> None:
    """What a launch does here."""
    options = {name: given.pop(name) for name in ("num_warps", "num_stages") if name in given}
    values = dict(zip((p.name for p in self.params), args, strict=False)) | given
    signature, constants = {}, {}
    for parameter in self.params:
        value, name = values[parameter.name], parameter.name
        fixed = parameter.is_constexpr or value is None or (isinstance(value, int) and value == 1)
        if fixed and not parameter.do_not_specialize:
            signature[name], constants[name] = "constexpr", value
        elif isinstance(value, Tensor):
            signature[name] = TYPES[value.dtype]
        else:
            signature[name] = "i32" if isinstance(value, int) else "fp32"
    key = f"{self.fn.__name__} {signature} {constants} {options}"
    if key not in compiled:
        compiled.add(key)
        try:
            compile_source(ASTSource(self, signature, constants), target=TARGET, options=options)
        except Exception as error:  # whatever it is, the kernel would not run
            failed.append(f"{key}\n{error}")


def launch_batch_norm_and_gin(graphs: Any) -> None:
    from nmrgcl.ops.triton import batch_norm, gin

    rows = graphs.num_nodes
    masks = ((None, None), (graphs.node_ptr[3:4], torch.ones(rows, dtype=torch.bool)))
    for split, keep in masks:
        for units in (24, 32, 64):
            s, matrix, vector = torch.randn(rows, units), torch.randn(units, units), torch.randn(units)
            for first in (None, matrix):
                weights = gin.Weights(first, vector, matrix, vector)
                y, partial = gin.layer_with_statistics(s, weights, keep, split)
                found = batch_norm.merge_statistics(partial, (vector, vector, 0.1))
                batch_norm.normalise(y, found, vector, vector, 1e-5, split)
                sums = batch_norm.gradient_sums(s, y, found, vector, vector, 1e-5, split)
                gin.layer_back(s, y, s, weights, keep, split, found, sums, vector, 1e-5)
        for units, dtype in ((32, torch.float32), (304, torch.bfloat16)):
            h, vector = torch.randn(rows, units).to(dtype), torch.randn(units)
            for relu in (False, True):
                found = batch_norm.masked_statistics(h, keep, split, (vector, vector, 0.1))
                batch_norm.normalise(h, found, vector, vector, 1e-5, split, relu=relu)
                sums = batch_norm.gradient_sums(h, h, found, vector, vector, 1e-5, split, relu=relu)
                batch_norm.pull_back(h, h, keep, found, sums, vector, vector, 1e-5, split, relu=relu)


def launch_views(graphs: Any) -> None:
    from nmrgcl.ops.new_edges import _by_kernel as add_edges
    from nmrgcl.ops.triton import batch, masks, walk

    index, nodes, edges = torch.arange(len(graphs)), graphs.num_nodes, graphs.num_edges
    node_keep, edge_keep, chosen = (torch.ones(n, dtype=torch.bool) for n in (nodes, edges, len(graphs)))
    of_nodes, of_edges = torch.rand(nodes), torch.rand(edges)
    for kept, among, mine in ((None, None, None), (node_keep, edge_keep, chosen)):
        structure = (graphs.edge_index, graphs.row_ptr, graphs.node_ptr, graphs.pair)
        batch.gather_structure(index, *structure, kept, among, nodes=300, edges=900)
        masks.keep_drawn_nodes(of_nodes, graphs.node_ptr, kept, mine, 0.2)
        masks.keep_drawn_edges(of_edges, graphs.pair, graphs.edge_index[1], graphs.batch, among, mine, 0.2)
        masks.blank_drawn_rows(graphs.x, of_nodes, graphs.batch, mine, 0.2, -1.0)
        masks.blank_drawn_rows(torch.randn(nodes, 5), of_nodes, graphs.batch, mine, 0.2, 0.0)
        masks.edges_between(graphs.edge_index, node_keep, among)
        add_edges(graphs, mine, 0.2, 200)
        draws, restarts = torch.rand(40, len(graphs), dtype=torch.float64), torch.rand(40, len(graphs))
        below = None if kept is None else torch.rand(edges, dtype=torch.float64)
        rows = (graphs.row_ptr, graphs.edge_index[0], below)
        walk.visited_nodes(index, index, *rows, draws, restarts, p=0.2, ratio=0.8)


def launch_rows_and_losses(graphs: Any) -> None:
    from nmrgcl.ops.triton import linear, look_up, negatives, pair_loss, rows

    nodes, column, ptr = graphs.num_nodes, graphs.edge_index[0], graphs.row_ptr
    live = torch.ones(graphs.num_edges, dtype=torch.bool)
    for units, dtype in ((32, torch.float32), (96, torch.float32), (304, torch.bfloat16)):
        h = torch.randn(nodes, units).to(dtype)
        rows.row_sums(h, column, ptr, live, self_weight=1.0)
        rows.edge_products(h, h, graphs.edge_index)
        rows.row_sums(h, None, graphs.node_ptr, torch.ones(nodes, dtype=torch.bool))
        rows.spread_rows(h, graphs.batch, None)
        rows.take_rows(h, graphs.batch)
        look_up.look_up(torch.randn(37, units), graphs.x)
        look_up.look_up_gradient(h, graphs.x, 37)
        linear.relu_back(h, h)
    names = torch.zeros(graphs.num_edges, 2, dtype=torch.long)
    table = torch.randn(6, 304)
    rows.row_sums(
        torch.randn(nodes, 304), column, ptr, live, self_weight=1.0, edge_attr=names, edge_table=table, looped=True
    )
    rows.row_counts(names, ptr, live, 8, 6)
    look_up.name_counts(names, 128, torch.bfloat16)
    rows.column_sums(torch.randn(160, 2112))
    z = torch.randn(256, 96)
    for delta in (None, 0.5):
        unit, positive = pair_loss.unit_pairs(z[:128], z[128:], delta)
        for counted in (True, False):
            _, pull = pair_loss.pair_loss(positive, z[:, 0], 0.2, counted=counted)
        pair_loss.unit_pairs_back(unit, pull, z[:128], z[128:], delta, 0.2)
    precisions: tuple[negatives.Precision, ...] = ("ieee", "tf32", "tf32x3")
    for count in (256, 2048, 8192):
        z = torch.zeros(count, 32)
        for precision in precisions:
            for across in (False, True):
                negatives.negatives_logsumexp(z, 0.2, precision=precision, across=across)
                negatives.negatives_gradient(z, z[:, 0], z[:, 0], 0.2, precision=precision, across=across)


def launch_svm_solver(graphs: Any) -> None:
    from nmrgcl.ops.triton import svm_solver

    for rows, diagonal in product((60, 350, 1000, 4000, 8000), (1.0, 3.0)):
        kernel = torch.full((1,), diagonal).expand(2, rows, rows)
        for pairs in ([[0, 1]], [[0, 1], [0, 2], [1, 2]]):
            bounds = torch.tensor([[0, rows // 2, rows, rows]]).repeat(2, 1)
            svm_solver.solve_svms(kernel, bounds, torch.tensor(pairs), torch.ones(7, dtype=torch.float64))


def main() -> None:
    from tests.examples import random_graphs

    jit.JITFunction.run = intercept
    graphs = random_graphs([20, 31, 5, 17, 40, 25], density=0.2, categorical=True)
    for launch in (launch_batch_norm_and_gin, launch_views, launch_rows_and_losses, launch_svm_solver):
        launch(graphs)
    print(f"{len(compiled) - len(failed)} of {len(compiled)} kernels compiled")
    if failed:
        sys.exit("\n\n".join(failed))


if __name__ == "__main__":
    main()
