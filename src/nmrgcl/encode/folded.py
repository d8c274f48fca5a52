"""GIN and its readout in training on a CPU, with batch norm folded into the linear maps on either side of it.

Batch norm is ``y = scale · u + shift``, a scale and a shift for each unit, and ``y`` goes nowhere but into linear maps:
that of the next layer and the sum over a graph's nodes. They absorb scale and shift, so ``y`` is never computed. What
its backward pass sums over nodes follows from the gradient of the next layer's weights, which is needed anyway.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding_bag

from nmrgcl.encode.aggregate import edge_shares, sum_sources, sum_targets
from nmrgcl.encode.gin import GIN, GINLayer
from nmrgcl.encode.norm import MaskedBatchNorm
from nmrgcl.graphs import Graphs


def folds(encoder: GIN, graphs: Graphs, readout: str) -> bool:
    """Whether ``embed_folded`` serves.

    Edge features, dropout, the last layer alone, masks, few nodes, learned weights or ``max`` are in the way.
    """
    return (
        encoder.training
        and encoder.edges is None
        and not encoder.last
        and encoder.dropout == 0
        and graphs.device.type == "cpu"
        and graphs.num_nodes > 1
        and graphs.node_keep is None
        and graphs.views == 1
        and graphs.added is None
        and not graphs.weights_learn
        and not torch.is_autocast_enabled("cpu")
        and readout in ("sum", "mean")
    )


def embed_folded(encoder: GIN, graphs: Graphs, readout: str) -> Tensor:
    """``[B, D]``: what ``pool(encoder(graphs), graphs, readout)`` is."""
    layers = cast("list[GINLayer]", list(encoder.layers))
    weights: list[Tensor | None] = []
    for number, layer in enumerate(layers):
        first = cast("Tensor", layer.first.weight) if number else None
        weights += [first, layer.bias, layer.second.weight, layer.second.bias, layer.norm.weight, layer.norm.bias]
    norms = [layer.norm for layer in layers]
    total: Tensor = _FoldedGIN.apply(layers[0].first(graphs.x), graphs, norms, *weights)
    return total if readout == "sum" else total / graphs.node_counts().clamp(min=1).to(total.dtype)[:, None]


class _Weights(NamedTuple):
    first: Tensor  # [out, in]; None in the first layer, whose map has been applied
    bias: Tensor
    second: Tensor
    second_bias: Tensor
    gamma: Tensor
    beta: Tensor


class _Outputs(NamedTuple):
    t: Tensor  # after the first ReLU, [N, P]
    u: Tensor  # after the second
    pooled: Tensor  # sums of u over each graph, [B, P]


class _Norm(NamedTuple):
    mean: Tensor
    inverse_std: Tensor
    scale: Tensor
    shift: Tensor


Fields = TypeVar("Fields", _Weights, _Outputs)


class _FoldedGIN(torch.autograd.Function):
    """Sums of all layers' outputs over each graph, ``[B, K · P]``, from the first layer's mapped features."""

    @staticmethod
    def forward(ctx: Any, z: Tensor, graphs: Graphs, norms: list[MaskedBatchNorm], *weights: Tensor) -> Tensor:
        size, weight = graphs.node_counts().to(z.dtype), edge_shares(graphs, z.dtype)
        nodes = torch.arange(graphs.num_nodes)
        kept: list[_Outputs] = []
        folded: list[_Norm] = []
        for layer, norm in zip(_split(_Weights, weights), norms, strict=True):
            if folded:
                z = torch.addmm(layer.first @ folded[-1].shift, kept[-1].u, (layer.first * folded[-1].scale).T)
            t = sum_sources(z, graphs, weight, 1.0).add_(layer.bias).relu_()
            u = torch.addmm(layer.second_bias, t, layer.second.T).relu_()
            kept.append(_Outputs(t, u, embedding_bag(nodes, u, graphs.node_ptr, mode="sum", include_last_offset=True)))
            folded.append(_statistics(u, norm))
        ctx.graphs, ctx.size, ctx.weight, ctx.norms, ctx.layers = graphs, size, weight, folded, len(norms)
        ctx.save_for_backward(*weights, *(tensor for outputs in kept for tensor in outputs))
        parts = zip(kept, folded, strict=True)
        return torch.cat([torch.outer(size, norm.shift).addcmul_(out.pooled, norm.scale) for out, norm in parts], 1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        graphs, split = ctx.graphs, len(_Weights._fields) * ctx.layers
        layers, kept = _split(_Weights, ctx.saved_tensors[:split]), _split(_Outputs, ctx.saved_tensors[split:])
        on_weights: list[Tensor | None] = []
        after: tuple[Tensor, Tensor] | None = None  # the next layer's map, and the gradient by what it gave
        for layer, (t, u, pooled), norm, grad in zip(
            reversed(layers), reversed(kept), reversed(ctx.norms), reversed(grads[0].chunk(ctx.layers, 1)), strict=True
        ):
            # Sums over nodes of dL/dy and of u · dL/dy: through the readout, and through the next layer.
            on_shift, on_scale = ctx.size @ grad, (pooled * grad).sum(0)
            if after is not None:
                first, on_z = after
                product, total = on_z.T @ u, on_z.sum(0)
                on_shift += total @ first
                on_scale += (product * first).sum(0)
                on_weights[0] = torch.outer(total, norm.shift).addcmul_(product, norm.scale)
            on_gamma = norm.inverse_std * (on_scale - norm.mean * on_shift)
            share = norm.scale * (1 / u.shape[0])
            slope = share * norm.inverse_std * on_gamma
            level = share * on_shift - norm.mean * slope
            # dL/du = scale · dL/dy − slope · u − level
            on_u = (grad * norm.scale - level).index_select(0, graphs.batch)
            if after is not None:
                on_u.addmm_(on_z, first * norm.scale)
            on_u = _where_positive(on_u.addcmul_(u, slope, value=-1.0), u)
            on_t = _where_positive(on_u @ layer.second, t)
            on_weights = [None, on_t.sum(0), on_u.T @ t, on_u.sum(0), on_gamma, on_shift, *on_weights]
            after = layer.first, sum_targets(on_t, graphs, ctx.weight, 1.0)
        return after[1] if after else None, None, None, *on_weights


def _statistics(u: Tensor, norm: MaskedBatchNorm) -> _Norm:
    """Batch norm as a scale and a shift; its running statistics are brought up to date."""
    mean, var = torch.batch_norm_update_stats(u, norm.running_mean, norm.running_var, norm.momentum)
    inverse_std = torch.rsqrt(var + norm.eps)
    scale = norm.weight * inverse_std
    return _Norm(mean, inverse_std, scale, norm.bias - mean * scale)


def _split(kind: type[Fields], tensors: Sequence[Tensor]) -> list[Fields]:
    """The tensors of all layers, layer by layer."""
    width = len(kind._fields)
    return [kind(*tensors[i : i + width]) for i in range(0, len(tensors), width)]


def _where_positive(grad: Tensor, value: Tensor) -> Tensor:
    """``grad``, changed in place, with zeros where ``value`` is not above zero: ReLU's backward pass."""
    result: Tensor = torch.ops.aten.threshold_backward.grad_input(grad, value, 0.0, grad_input=grad)
    return result
