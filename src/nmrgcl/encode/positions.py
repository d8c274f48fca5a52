"""Positional features of nodes: eigenvectors of the normalised adjacency matrix (Qiu et al. 2020, GCC)."""

import torch
from torch import Tensor
from torch.nn.functional import normalize

from nmrgcl.graphs import Graphs
from nmrgcl.ops.eigenvectors import eigenvectors

STEP = 8
"""Matrices are padded to a multiple of this many rows, so that each in a batch begins at a cache line."""
BELOW = -2.0
"""The eigenvalue of padding rows, less than any of a normalised adjacency matrix."""


@torch.no_grad()
def positions(graphs: Graphs, columns: int) -> Tensor:
    """``[N, columns]``: each node's entries in the leading min(n − 2, ``columns``) eigenvectors of D^-½AD^-½.

    The graphs must have no masks. Rows have unit length; the remaining columns are zero. Signs are arbitrary (here the
    entry of largest magnitude is positive), and so are the eigenvectors of a repeated eigenvalue: a graph gets the same
    ones in every batch (on a GPU, unless the solver fails for some batches), but not if its nodes are renumbered. On a
    GPU the host waits, for sizes and to learn whether the decompositions converged.
    """
    found = torch.zeros(graphs.num_nodes, columns, device=graphs.device)
    size, degree = graphs.node_ptr.diff(), graphs.row_ptr.diff().clamp(min=1).double()
    owner = graphs.batch.index_select(0, graphs.edge_index[1])
    local = torch.arange(graphs.num_nodes, device=graphs.device) - graphs.node_ptr[graphs.batch]
    share = (degree[graphs.edge_index[0]] * degree[graphs.edge_index[1]]).rsqrt()
    filled = (size + STEP - 1) // STEP * STEP
    for rows in (n for n in filled.unique().tolist() if n):
        alike = filled == rows
        place, edges, nodes = alike.cumsum(0) - 1, alike[owner].nonzero().squeeze(1), alike[graphs.batch]
        source, destination = local[graphs.edge_index[:, edges]]
        # Padding has eigenvalues of its own below all others, so its eigenvectors come last and the others are zero
        # there.
        beyond = torch.arange(rows, device=graphs.device) >= size[alike, None]
        matrix = torch.diag_embed(beyond * torch.tensor(BELOW, dtype=torch.float64))
        matrix[place[owner[edges]], destination, source] = share[edges]
        # Eigenvalues ascend, and the leading ones are wanted.
        vectors = eigenvectors(matrix).flip(2)[:, :, :columns]
        largest = vectors.gather(1, vectors.abs().argmax(1, keepdim=True))
        vectors = torch.where(largest < 0, -vectors, vectors)
        # At most n − 2 eigenvectors of a graph of n nodes, as in the published code.
        used = torch.arange(vectors.shape[2], device=graphs.device) < (size[alike, None] - 2)
        vectors = (vectors * used[:, None])[place[graphs.batch[nodes]], local[nodes]]
        found[nodes, : vectors.shape[1]] = normalize(vectors).float()
    return found
