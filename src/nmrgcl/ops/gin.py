"""Layers of a graph isomorphism network: aggregation, perceptron and batch norm, one by one or together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear, relu

from nmrgcl.ops import across_ranks, serve
from nmrgcl.ops.batch_norm import Norm, batch_norm, shared_statistics
from nmrgcl.ops.forms import Form
from nmrgcl.ops.graph_sum import graph_sum
from nmrgcl.ops.neighbour_sum import edge_ends, edge_shares, is_undirected, neighbour_sum, sum_to_sources
from nmrgcl.ops.rows import row_sums

if TYPE_CHECKING:
    from nmrgcl.graphs import Graphs

NARROWEST, WIDEST = 16, 64
"""Units for which a program of the kernels holds the weights and is fast."""

PLAIN = Form("GIN", "plain", "everywhere else, and in evaluation")
FOLDED = Form("GIN", "norm folded into maps", "training with readout sum or mean and no mask over nodes, on a CPU")
FUSED = Form("GIN", "Triton kernels", f"training with {NARROWEST} to {WIDEST} units, undirected, on a GPU")
FORMS = (PLAIN, FOLDED, FUSED)


class GINWeights(NamedTuple):
    """The parameters of a layer of P units; without ``first`` that map has been applied to the input already."""

    first: Tensor | None
    first_bias: Tensor
    second: Tensor
    second_bias: Tensor
    norm: Norm


def gin_layer(h: Tensor, graphs: "Graphs", weights: GINWeights, *, training: bool) -> Tensor:
    """``norm(ReLU(ReLU(s W1ᵀ + b1) W2ᵀ + b2))`` with ``s_v = h_v + Σ_{u→v} h_u``: ``[N, ·]`` to ``[N, P]``."""
    graphs = graphs.merge_added()
    first, first_bias, second, second_bias, norm = weights
    if training and _fits_kernels(h, graphs) and FUSED.on:
        result: Tensor = _FusedLayer.apply(
            h, first, first_bias, second, second_bias, norm.weight, norm.bias, graphs, norm
        )
        return result
    # W1 commutes with the sum, so it comes first: the sum then has P columns, however many features there are.
    h = h if first is None else linear(h, first)
    h = neighbour_sum(h, graphs, self_weight=1.0) + first_bias
    h = relu(linear(relu(h), second, second_bias))
    return batch_norm(h, norm, graphs.node_keep, graphs.split, training=training)


def gin_sums(z: Tensor, graphs: "Graphs", layers: Sequence[GINWeights], *, training: bool) -> Tensor:
    """``[B, K · P]``: the outputs of all K layers, side by side, summed over each graph's nodes.

    ``z`` (``[N, P]``) are the features after the first layer's first map.
    """
    graphs = graphs.merge_added()
    if training and _folds(graphs) and FOLDED.on:
        return _folded_sums(z, graphs, layers)
    h, outputs = z, []
    for weights in layers:
        h = gin_layer(h, graphs, weights, training=training)
        outputs.append(h)
    return graph_sum(torch.cat(outputs, 1), graphs)


# On a GPU: a layer of few units in four launches forwards and five backwards.


def _fits_kernels(h: Tensor, graphs: "Graphs") -> bool:
    if not serve(h) or h.dtype != torch.float32 or not is_undirected(graphs) or across_ranks.active():
        return False
    return NARROWEST <= h.shape[1] <= WIDEST and h.shape[0] > 1


class _FusedLayer(torch.autograd.Function):
    """``s = (I + A) h``, ``y = ReLU(ReLU(s W1ᵀ + b1) W2ᵀ + b2)`` and its norm.

    Backwards through the norm and the perceptron as ``ops/triton/gin.py`` derives it; then, the graph being undirected,
    ``∂L/∂h = (I + A)ᵀ ∂L/∂s = (I + A) ∂L/∂s``.
    """

    @staticmethod
    def forward(
        ctx: Any,
        h: Tensor,
        first: Tensor | None,
        first_bias: Tensor,
        second: Tensor,
        second_bias: Tensor,
        gamma: Tensor,
        beta: Tensor,
        graphs: "Graphs",
        norm: Norm,
    ) -> Tensor:
        from nmrgcl.ops.triton.batch_norm import merge_statistics, normalise
        from nmrgcl.ops.triton.gin import Weights, layer_with_statistics

        s = row_sums(
            h, graphs.edge_index[0], graphs.row_ptr, edge_shares(graphs), self_weight=1.0, ends=edge_ends(graphs)
        )
        weights = Weights(first, first_bias, second, second_bias)
        y, partial = layer_with_statistics(s, weights, graphs.node_keep, graphs.split)
        statistics = merge_statistics(partial, (norm.running_mean, norm.running_var, norm.momentum))
        ctx.save_for_backward(y, s, statistics, first, first_bias, second, second_bias, gamma, beta)
        ctx.graphs, ctx.eps = graphs, norm.eps
        return normalise(y, statistics, gamma, beta, norm.eps, graphs.split)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        from nmrgcl.ops.triton.batch_norm import gradient_sums
        from nmrgcl.ops.triton.gin import Weights, layer_back

        y, s, statistics, first, first_bias, second, second_bias, gamma, beta = ctx.saved_tensors
        graphs: Graphs = ctx.graphs
        grad = grads[0] if grads[0].stride(1) == 1 else grads[0].contiguous()
        sums = gradient_sums(grad, y, statistics, gamma, beta, ctx.eps, graphs.split)
        weights = Weights(first, first_bias, second, second_bias)
        on_s, on = layer_back(grad, y, s, weights, graphs.node_keep, graphs.split, statistics, sums, gamma, ctx.eps)
        on_h = sum_to_sources(on_s, graphs, edge_shares(graphs), 1.0, undirected=True)
        return on_h, on.first, on.first_bias, on.second, on.second_bias, sums[-1, 1], sums[-1, 0], None, None


# On a CPU: all layers and the readout at once, with batch norm folded into the linear maps on either side of it.


def _folds(graphs: "Graphs") -> bool:
    """True if every node is kept and nothing asks for a gradient, or a precision, that the folded form lacks."""
    return (
        graphs.device.type == "cpu"
        and (graphs.num_nodes > 1 or across_ranks.active())
        and graphs.node_keep is None
        and graphs.views == 1
        and not graphs.weights_learn
        and not torch.is_autocast_enabled("cpu")
    )


def _folded_sums(z: Tensor, graphs: "Graphs", layers: Sequence[GINWeights]) -> Tensor:
    tensors = [t for first, *maps, norm in layers for t in (first, *maps, norm.weight, norm.bias)]
    result: Tensor = _FoldedGIN.apply(z, graphs, [layer.norm for layer in layers], *tensors)
    return result


class _Weights(NamedTuple):
    first: Tensor  # [P, P]; None in the first layer
    first_bias: Tensor
    second: Tensor
    second_bias: Tensor
    gamma: Tensor
    beta: Tensor


class _Outputs(NamedTuple):
    t: Tensor  # after the first ReLU, [N, P]
    u: Tensor  # after the second
    pooled: Tensor  # sums of u over each graph, [B, P]


class _Affine(NamedTuple):
    mean: Tensor
    inverse_std: Tensor
    scale: Tensor
    shift: Tensor
    rows: Tensor | int  # that the statistics are of


Fields = TypeVar("Fields", _Weights, _Outputs)


class _FoldedGIN(torch.autograd.Function):
    """Sums of the outputs of all layers over each graph, ``[B, K · P]``.

    A layer computes, from z (``[N, P]``) and with A weighted by the edges:

        t = ReLU((I + A) z + b1)    u = ReLU(t W2ᵀ + b2)    y = a u + c,  a = γ/σ,  c = β − a μ

    where y goes nowhere but into linear maps: the next layer's W1, and the sum over a graph's nodes. These absorb a and
    c, so y is never computed:

        z' = y W1ᵀ = u (W1 diag a)ᵀ + W1 c        Σ_{i in g} y_i = a Σ_{i in g} u_i + n_g c

    Backwards, let R (``[B, P]``) be the gradient of the graph sums and Z' that of z'. Then Y = ∂L/∂y has the rows
    R_g(i) + Z'_i W1. It is not computed either, because its sums over nodes follow from smaller matrices:

        S0 = Σ_i Y_i     = Σ_g n_g R_g + (Σ_i Z'_i) W1
        S1 = Σ_i Y_i u_i = Σ_g R_g (Σ_{i in g} u_i) + column sums of (Z'ᵀ u) ∘ W1

    where Z'ᵀ u is needed for ``∂L/∂W1 = Z'ᵀ y = (Z'ᵀ u) diag a + (Σ_i Z'_i) cᵀ`` anyway. With û = (u − μ)/σ,

        ∂L/∂β = S0        ∂L/∂γ = Σ_i Y_i û_i = (S1 − μ S0)/σ
        ∂L/∂u = a (Y − (S0 + û ∂L/∂γ)/N) = a Y − slope · u − level,
        slope = a/(N σ) · ∂L/∂γ,    level = a/N · S0 − μ slope
    """

    @staticmethod
    def forward(ctx: Any, z: Tensor, graphs: "Graphs", norms: list[Norm], *weights: Tensor) -> Tensor:
        size, share = graphs.node_counts().to(z.dtype), edge_shares(graphs, z.dtype)
        kept: list[_Outputs] = []
        folded: list[_Affine] = []
        for layer, norm in zip(_by_layer(_Weights, weights), norms, strict=True):
            if folded:
                z = torch.addmm(layer.first @ folded[-1].shift, kept[-1].u, (layer.first * folded[-1].scale).T)
            t = row_sums(z, graphs.edge_index[0], graphs.row_ptr, share, self_weight=1.0)
            # In place, because reading and writing these matrices takes longer than the arithmetic.
            t = t.add_(layer.first_bias).relu_()
            u = torch.addmm(layer.second_bias, t, layer.second.T).relu_()
            kept.append(_Outputs(t, u, row_sums(u, None, graphs.node_ptr)))
            folded.append(_affine(u, norm))
        ctx.graphs, ctx.size, ctx.share, ctx.norms, ctx.layers = graphs, size, share, folded, len(norms)
        ctx.save_for_backward(*weights, *(tensor for outputs in kept for tensor in outputs))
        parts = zip(kept, folded, strict=True)
        return torch.cat([torch.outer(size, norm.shift).addcmul_(out.pooled, norm.scale) for out, norm in parts], 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        graphs, split, undirected = ctx.graphs, len(_Weights._fields) * ctx.layers, is_undirected(ctx.graphs)
        layers, kept = _by_layer(_Weights, ctx.saved_tensors[:split]), _by_layer(_Outputs, ctx.saved_tensors[split:])
        on_weights: list[Tensor | None] = []
        after: tuple[Tensor, Tensor] | None = None  # the next layer's W1 and Z'
        for layer, (t, u, pooled), norm, grad in zip(
            reversed(layers), reversed(kept), reversed(ctx.norms), reversed(grads[0].chunk(ctx.layers, 1)), strict=True
        ):
            on_shift, on_scale = ctx.size @ grad, (pooled * grad).sum(0)  # S0 and S1
            if after is not None:
                first, on_z = after
                product, total = on_z.T @ u, on_z.sum(0)
                on_shift += total @ first
                on_scale += (product * first).sum(0)
                on_weights[0] = torch.outer(total, norm.shift).addcmul_(product, norm.scale)
            on_gamma, on_beta = norm.inverse_std * (on_scale - norm.mean * on_shift), on_shift
            all_gamma, all_beta = on_gamma, on_beta
            if across_ranks.active():
                all_gamma, all_beta = across_ranks.add_up(torch.stack([on_gamma, on_beta]), "statistics")
            # N counts the rows of all ranks; γ and β get the gradient of this rank's rows, which is averaged later.
            share = norm.scale * (1 / norm.rows)
            slope = share * norm.inverse_std * all_gamma
            level = share * all_beta - norm.mean * slope
            # a R_g − level is the same for all nodes of a graph, so it is computed once per graph and then copied.
            on_u = (grad * norm.scale - level).index_select(0, graphs.batch)
            if after is not None:
                on_u.addmm_(on_z, first * norm.scale)
            on_u = _where_positive(on_u.addcmul_(u, slope, value=-1.0), u)
            on_t = _where_positive(on_u @ layer.second, t)
            # None is the place of ∂L/∂W1. It needs u of the layer below, so the next iteration fills it in.
            on_weights = [None, on_t.sum(0), on_u.T @ t, on_u.sum(0), on_gamma, on_beta, *on_weights]
            after = layer.first, sum_to_sources(on_t, graphs, ctx.share, 1.0, undirected=undirected)
        return after[1] if after else None, None, None, *on_weights


def _affine(u: Tensor, norm: Norm) -> _Affine:
    """Batch norm as a scale and a shift; updates the running statistics."""
    rows: Tensor | int = u.shape[0]
    if across_ranks.active():
        mean, var, rows = (of_view[0] for of_view in shared_statistics(u, norm))
    else:
        mean, var = torch.batch_norm_update_stats(u, norm.running_mean, norm.running_var, norm.momentum)
    inverse_std = torch.rsqrt(var + norm.eps)
    scale = norm.weight * inverse_std
    return _Affine(mean, inverse_std, scale, norm.bias - mean * scale, rows)


def _by_layer(kind: type[Fields], tensors: Sequence[Tensor]) -> list[Fields]:
    """A flat list of tensors as one tuple per layer."""
    width = len(kind._fields)
    return [kind(*tensors[i : i + width]) for i in range(0, len(tensors), width)]


def _where_positive(grad: Tensor, value: Tensor) -> Tensor:
    """``grad``, changed in place, with zeros where ``value`` is not above zero: ReLU's backward pass."""
    result: Tensor = torch.ops.aten.threshold_backward.grad_input(grad, value, 0.0, grad_input=grad)
    return result
