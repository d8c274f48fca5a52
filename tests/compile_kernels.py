"""Compile every kernel for a GPU, on a machine that has none: the interpreter accepts what the compiler does not.

    python -m tests.compile_kernels

Nothing is launched: kernels are compiled for compute capability 9.0, as many at a time as there are cores. Training
steps are taken as well, to show that they survive kernels that compute nothing. See `make test-kernels`.
"""

import sys
from functools import partial
from itertools import product
from typing import Any
from unittest.mock import patch

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver

from nmrgcl.ops.triton.compiling import Launch, compile_all, requested


class NoGPU:
    """Stands for the driver of a GPU that is not there."""

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", 90, 32)


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
        rows.row_sums(h, column, ptr, live, self_weight=1.0, ends=graphs.edge_index[1])
        rows.row_sums(h, None, graphs.node_ptr, torch.ones(nodes, dtype=torch.bool), ends=graphs.batch)
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


def launch_steps() -> None:
    """Two batch sizes of every method that is recorded on a GPU, which choose their kernels as they do there."""
    from nmrgcl.data.features import apply_features, choose_features
    from nmrgcl.data.motifs import motifs
    from nmrgcl.methods import Pretraining, build_pretraining, find_method, method_names
    from nmrgcl.run.recipe import recipe
    from nmrgcl.train.state import TrainingState
    from nmrgcl.train.step import GuardedStep

    data = motifs()
    features = choose_features(data, "degree")
    graphs = apply_features(data, features)
    for name in method_names():
        kind = find_method(name)
        if not issubclass(kind, Pretraining) or not kind.CAPTURABLE or "graph" not in kind.PRESETS:
            continue
        settings = recipe(name)
        if settings.encoder.name == "molecule":
            continue
        method = build_pretraining(settings, features.width)
        method.train()
        step = GuardedStep(method, method.optimisers(settings.train), TrainingState())
        step.survey(settings.train, iter([graphs.take(torch.arange(16))]), 1)
        for size in (16, 5):
            step.begin_epoch(settings.train, 1)
            step(graphs.take_padded(torch.arange(size), graphs.room_for(size)))


def as_on_a_gpu() -> Any:
    """Let every operation choose the form that it has on a GPU."""
    import pkgutil
    from contextlib import ExitStack
    from importlib import import_module

    import nmrgcl.ops
    from nmrgcl.methods import Pretraining

    stack = ExitStack()
    for found in pkgutil.iter_modules(nmrgcl.ops.__path__, "nmrgcl.ops."):
        import_module(found.name)
    for name, module in list(sys.modules.items()):
        for choice, answer in (("serve", True), ("on_host", False)):
            if name.startswith("nmrgcl.") and choice in vars(module):
                stack.enter_context(patch.object(module, choice, lambda _, answer=answer: answer))
    stack.enter_context(patch.object(Pretraining, "_trimmed", lambda _, graphs: graphs))
    stack.enter_context(patch("nmrgcl.ops.gin._folds", lambda _: False))
    return stack


def main() -> None:
    from tests.examples import random_graphs

    driver.set_active(NoGPU())
    graphs = random_graphs([20, 31, 5, 17, 40, 25], density=0.2, categorical=True)
    found: dict[Any, Launch] = {}
    for launch in (launch_batch_norm_and_gin, launch_views, launch_rows_and_losses, launch_svm_solver):
        found |= {one.variant: one for one in requested(partial(launch, graphs))}
    with as_on_a_gpu():
        found |= {one.variant: one for one in requested(launch_steps)}
    errors = dict(zip(found, compile_all(found.values()), strict=True))
    failed = [f"{variant[0].fn.__name__} {variant[1:]}\n{error}" for variant, error in errors.items() if error]
    print(f"{len(found) - len(failed)} of {len(found)} kernels compiled")
    if failed:
        sys.exit("\n\n".join(failed))


if __name__ == "__main__":
    main()
