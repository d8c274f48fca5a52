"""PyTorch Geometric's own reader as an independent oracle."""

import os
from pathlib import Path

import pytest
import torch

from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.data.files.archive import members
from nmrgcl.data.formats.tu import read_tu
from nmrgcl.data.locate import INCLUDED


def compare(source: Path, name: str, root: Path) -> None:
    """Lay the raw files out so that PyG finds them, and expect the same graphs, features and classes."""
    datasets = pytest.importorskip("torch_geometric.datasets")
    raw = root / name / "raw"
    raw.mkdir(parents=True)
    for file, stream in members(source, lambda file: file.startswith(f"{name}_")):
        (raw / file).write_bytes(stream.read(1 << 30))
    theirs = datasets.TUDataset(str(root), name, use_node_attr=True)
    ours = read_tu(source)
    batch, slices = theirs._data, theirs.slices
    sizes = ours.graphs.node_ptr.diff()
    offset = torch.repeat_interleave(ours.graphs.node_ptr[:-1], slices["edge_index"].diff())
    edges = batch.edge_index + offset
    order = torch.argsort(edges[1] * ours.graphs.num_nodes + edges[0])
    assert torch.equal(edges[:, order], ours.graphs.edge_index)
    assert torch.equal(sizes, torch.tensor([int(theirs[i].num_nodes) for i in range(len(theirs))]))
    assert ours.graphs.y is not None
    assert torch.equal(batch.y, ours.graphs.y)
    if ours.node_labels is not None:
        labels = batch.x[:, 0 if ours.node_attributes is None else ours.node_attributes.shape[1] :]
        # PyG has a column for every number up to the largest label; seven of DD's 89 never occur.
        used = labels[:, labels.any(0)]
        assert torch.equal(used, apply_features(ours, choose_features(ours, "labels")).dense_x())
    if ours.node_attributes is not None:
        attributes = apply_features(ours, choose_features(ours, "attributes")).x
        assert torch.equal(batch.x[:, : attributes.shape[1]], attributes)
    if ours.edge_labels is not None:
        codes = torch.from_numpy(ours.edge_labels[:, 0] - ours.edge_labels.min())
        assert torch.equal(batch.edge_attr[order].argmax(1), codes)


def test_mutag_as_the_package_carries_it(tmp_path: Path) -> None:
    compare(INCLUDED / "tu" / "MUTAG.zip", "MUTAG", tmp_path)


@pytest.mark.parametrize("name", ["PTC_MR", "PROTEINS", "IMDB-BINARY", "IMDB-MULTI", "NCI1", "DD"])
def test_sets_of_the_mirror(mirror: Path, tmp_path: Path, name: str) -> None:
    (source,) = (mirror / "tu").glob(f"{name}.*")
    compare(source, name, tmp_path)


@pytest.mark.parametrize("name", ["REDDIT-BINARY", "COLLAB"])
def test_large_sets_of_the_mirror(mirror: Path, tmp_path: Path, name: str) -> None:
    if not os.environ.get("NMRGCL_SLOW"):
        pytest.skip("PyG's loader needs 30 s for REDDIT-BINARY, and 90 s and 6.5 GB for COLLAB; NMRGCL_SLOW=1 runs it")
    (source,) = (mirror / "tu").glob(f"{name}.*")
    compare(source, name, tmp_path)
