"""TU datasets as text, written for tests."""

from pathlib import Path

# Two graphs: a path of three nodes with labels on everything, and a single edge.
TINY = {
    "A": "1, 2\n2, 1\n2, 3\n3, 2\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "7\n-1\n",
    "node_labels": "0\n3\n3\n0\n5\n",
    "node_attributes": "0.5, 1\n-1e-3, 2\n+3., 3\n.25, 4\n5E2, 5\n",
    "edge_labels": "10\n10\n20\n20\n30\n30\n",
    "edge_attributes": "1.5\n1.5\n2.5\n2.5\n3.5\n3.5\n",
}


def write_tu(folder: Path, name: str = "T", **files: str | bytes | None) -> Path:
    """The tiny dataset in ``folder``, some of its files replaced or (None) left out."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, text in (TINY | files).items():
        if text is not None:
            (folder / f"{name}_{kind}.txt").write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder
