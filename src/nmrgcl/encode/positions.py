"""Where a node is in its graph: eigenvectors of the normalised adjacency matrix (Qiu et al. 2020, GCC)."""

import torch
from torch import Tensor
from torch.nn.functional import normalize

from nmrgcl.graphs import Graphs

STEP = 8
"""Matrices have a multiple of so many rows: then each begins at a full cache line, wherever it is in its batch."""
BELOW = -2.0
"""Less than any eigenvalue of a normalised adjacency matrix: that of rows that only fill a matrix up."""


@torch.no_grad()
def positions(graphs: Graphs, columns: int) -> Tensor:
    """``[N, columns]`` in graphs without masks: rows of the leading min(n − 2, ``columns``) eigenvectors of D^-½AD^-½.

    Rows have unit length, and further columns are zero. Signs are arbitrary (here the entry that is largest in size is
    positive), and so are the eigenvectors of an eigenvalue that occurs more than once: a graph gets the same ones in
    every batch, but not with its nodes renamed. The host asks for sizes, and whether decompositions have converged,
    which a GPU has to wait for.
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
        beyond = torch.arange(rows, device=graphs.device) >= size[alike, None]
        matrix = torch.diag_embed(beyond * torch.tensor(BELOW, dtype=torch.float64))
        matrix[place[owner[edges]], destination, source] = share[edges]
        vectors = torch.linalg.eigh(matrix).eigenvectors.flip(2)[:, :, :columns]
        largest = vectors.gather(1, vectors.abs().argmax(1, keepdim=True))
        vectors = torch.where(largest < 0, -vectors, vectors)
        used = torch.arange(vectors.shape[2], device=graphs.device) < (size[alike, None] - 2)
        vectors = (vectors * used[:, None])[place[graphs.batch[nodes]], local[nodes]]
        found[nodes, : vectors.shape[1]] = normalize(vectors).float()
    return found
