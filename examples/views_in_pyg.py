"""Views of nmrgcl in a PyTorch Geometric training loop: GraphCL's idea with PyG's own encoder.

python views_in_pyg.py
"""

import torch
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GIN, global_add_pool
from torch_geometric.transforms import Compose

from nmrgcl import DropEdges, DropNodes, OneOf, infonce, load, svm_scores, to_pyg


def main(epochs: int = 3) -> float:
    """Pre-train without labels, then print the accuracy of an SVM on the embeddings."""
    torch.manual_seed(0)
    data = to_pyg(load("MUTAG"))
    view = Compose([OneOf(DropNodes(0.2), DropEdges(0.2))])  # a view is a transform like any other
    encoder = GIN(data.num_features, hidden_channels=32, num_layers=3)
    optimiser = torch.optim.Adam(encoder.parameters(), lr=1e-3)
    for epoch in range(1, epochs + 1):
        for batch in DataLoader(data.to_data_list(), batch_size=64, shuffle=True):
            z1, z2 = (
                embed(encoder, view(batch)) for _ in range(2)
            )  # a new batch each time; ``batch`` stays as it is
            loss = infonce(z1, z2, tau=0.2)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        print(f"epoch {epoch}: loss {loss.item():.3f}")
    with torch.no_grad():
        z = embed(encoder, data)
    accuracy = float(svm_scores(z.numpy(), data.y.numpy(), seed=0).mean())
    print(f"accuracy {accuracy:.1f} %")
    return accuracy


def embed(encoder, data):  # type: ignore[no-untyped-def]
    """``[B, D]``: one embedding per graph."""
    return global_add_pool(encoder(data.x, data.edge_index), data.batch, size=data.num_graphs)


if __name__ == "__main__":
    main()
