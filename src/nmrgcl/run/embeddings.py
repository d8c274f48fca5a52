"""Embed whole datasets; read and write files of embeddings."""

import csv
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from torch import Tensor

from nmrgcl import atomic
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.featured import featured_store
from nmrgcl.data.features import Unknown, apply_features
from nmrgcl.data.formats.arrays import read_arrays
from nmrgcl.data.ids import id_array
from nmrgcl.data.molecule_rows import MoleculeRows
from nmrgcl.data.molecules.dataset import Watch
from nmrgcl.errors import DataError, ModelError, SettingError, writing
from nmrgcl.evaluate.normalise import ColumnScale, normalised
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Embedder, Method
from nmrgcl.model_folder import Model
from nmrgcl.run.embedding_tables import BESIDE, TABLES, read_table, read_tables
from nmrgcl.run.recipe import require_level
from nmrgcl.train.feed import Source
from nmrgcl.words.colours import colour_counts

AT_A_TIME = 4096
"""How many molecules are embedded before they are written."""
RANK_GRAPHS = 1024
"""Effective rank is tracked on at most this many graphs or nodes: an SVD of more would cost as much as an epoch."""
SCALE_NUMBERS = 1 << 24
"""Column means and deviations are computed from rows that hold at most this many numbers in total."""


@dataclass(frozen=True, eq=False)
class Embeddings:
    """One row per graph or node, in the dataset's order: ``z`` ``[B, D]``, ``y`` ``[B]`` or None, ``id`` ``[B]``.

    A missing label is NaN in a numeric ``y`` and an empty text otherwise. Ids are those of the dataset, or count from
    0 if it has none. Molecules also have ``smiles`` ``[B]``.
    """

    z: np.ndarray
    y: np.ndarray | None
    id: np.ndarray
    smiles: np.ndarray | None = None

    @property
    def labelled(self) -> np.ndarray:
        """``[B]`` whether each row has a label."""
        if self.y is None:
            return np.zeros(len(self.z), bool)
        if self.y.dtype.kind == "f":
            return ~np.isnan(self.y)
        return self.y != "" if self.y.dtype.kind == "U" else np.ones(len(self.y), bool)


def write_embeddings(embeddings: Embeddings | Iterable[Embeddings], out: Path) -> None:
    """Write ``.npz``, ``.csv`` or ``.parquet``, chosen by the suffix; the file appears complete or not at all.

    Embeddings may come in parts, only one of which is in memory at a time, except for ``.npz``, which needs all.
    """
    if out.suffix not in WRITERS:
        raise SettingError(f"{out}: the suffix must be one of {', '.join(WRITERS)}")
    with writing(out), atomic.new_file(out) as file:
        WRITERS[out.suffix](iter([embeddings] if isinstance(embeddings, Embeddings) else embeddings), file)


def read_embeddings(path: Path | str, *, molecules: bool = False) -> Embeddings:
    """Read ``z`` and, where present, ``y`` and ``id`` from our own files or from an ``.npz`` by any other program.

    A folder of Parquet files, as ``nmrgcl embed`` writes it for a folder of stores, is read in the order of the graphs.
    Nothing in the file is executed. For ``molecules``, ``smiles`` is read too, as ``write_embeddings`` writes it.
    """
    # A file by another program may use the name smiles for something else, so it is read only where it is needed.
    path, wanted = Path(path), ("id", "smiles", "y") if molecules else ("id", "y")
    if path.is_dir():
        arrays = read_tables(path, wanted)
    elif path.suffix in TABLES:
        arrays = read_table(path, wanted)
    else:
        arrays = read_arrays(path, str(path), lambda name: name in ("z", *wanted))
    z, y = arrays.get("z"), arrays.get("y")
    if z is None or z.ndim != 2 or z.dtype.kind not in "fiu":
        raise DataError(f"{path}: needs an array z with one row per graph; save it with numpy.savez(z=…, y=…)")
    if y is not None and (y.shape != (len(z),) or not _is_classes(y)):
        raise DataError(f"{path}: y must hold one class per row of z ({len(z)}); it has shape {list(y.shape)}")
    smiles, names = arrays.get("smiles"), arrays.get("id", np.arange(len(z)))
    if smiles is not None and (smiles.shape != (len(z),) or smiles.dtype.kind != "U" or names.shape != smiles.shape):
        raise DataError(f"{path}: smiles and id must hold one text per row of z ({len(z)}); embed the molecules again")
    return Embeddings(z, y, names, smiles)


def _is_classes(y: np.ndarray) -> bool:
    """Whole numbers or text; NaN stands for a missing label."""
    known = y[~np.isnan(y)] if y.dtype.kind == "f" else y
    return y.dtype.kind in "iubU" or (y.dtype.kind == "f" and bool((known == np.round(known)).all()))


def _write_npz(parts: Iterator[Embeddings], file: IO[bytes]) -> None:
    held = list(parts)
    arrays = {"z": [part.z for part in held]}
    for name in BESIDE:
        if getattr(held[0], name) is not None:
            arrays[name] = [getattr(part, name) for part in held]
    whole: dict[str, Any] = {name: np.concatenate(found) for name, found in arrays.items()}
    np.savez(file, **whole)


def columns_of(embeddings: Embeddings) -> dict[str, np.ndarray]:
    """The columns of a table: ``id``, ``smiles`` and ``y`` where there are any, then ``z0``, ``z1`` and so on."""
    beside = {name: getattr(embeddings, name) for name in BESIDE if getattr(embeddings, name) is not None}
    return {**beside, **{f"z{i}": column for i, column in enumerate(embeddings.z.T)}}


class _Lines:
    """Gives ``csv`` a file to write to and turns its ``\\r\\n`` into ``\\n``.

    The writer's own line ends stay ``\\r\\n`` because only then does it quote a label that contains ``\\r``.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def write(self, line: str) -> None:
        self.file.write((line.removesuffix("\r\n") + "\n").encode(errors="backslashreplace"))


def _write_csv(parts: Iterator[Embeddings], file: IO[bytes]) -> None:
    writer = csv.writer(_Lines(file))
    for number, part in enumerate(parts):
        columns = columns_of(part)
        if number == 0:
            writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def _write_parquet(parts: Iterator[Embeddings], file: IO[bytes]) -> None:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise SettingError("Parquet files need pyarrow: pip install 'nmrgcl[parquet]', or write .npz or .csv") from None
    table = pyarrow.table(columns_of(next(parts)))
    with pyarrow.parquet.ParquetWriter(file, table.schema) as writer:
        writer.write_table(table)
        for part in parts:
            writer.write_table(pyarrow.table(columns_of(part)))


WRITERS: dict[str, Callable[[Iterator[Embeddings], IO[bytes]], None]] = {
    ".npz": _write_npz,
    ".csv": _write_csv,
    ".parquet": _write_parquet,
}


@torch.no_grad()
def embed_all(method: Method, graphs: Graphs) -> Tensor:
    """``[B, D]`` embeddings of all graphs in their order, or ``[N, D]`` of all nodes, in evaluation mode.

    Graphs have their counts of colours beside what the method embeds, if its settings ask for them.
    """
    method.eval()
    if method.level == "node":
        z = method.embed(graphs)
    else:
        z = torch.cat([_embed_graphs(method, part) for part in graphs.passes(torch.arange(graphs.num_graphs))])
    if not bool(z.isfinite().all()):
        raise ModelError(
            "the embeddings contain NaN or infinity: training has diverged; train again with a lower train.lr"
        )
    return z


def _embed_graphs(method: Method, graphs: Graphs) -> Tensor:
    z, colours = method.embed(graphs), method.colours
    if not colours.width:
        return z
    return torch.cat([z, colour_counts(graphs, colours.rounds, width=colours.width).to(z.dtype)], 1)


def kernels_of(method: Method, graphs: Graphs) -> np.ndarray | None:
    """The method's own kernels ``[K, B, B]``, if it has any."""
    found = method.kernels(graphs) if isinstance(method, Embedder) else None
    return None if found is None else found.cpu().numpy()


def column_scale(method: Method, graphs: Source) -> ColumnScale:
    """Mean and standard deviation of each column of the embeddings of the training data."""
    return ColumnScale.of(
        embed_some(method, graphs, max(RANK_GRAPHS, SCALE_NUMBERS // method.full_width)).cpu().numpy()
    )


def embed_some(method: Method, graphs: Source, most: int = RANK_GRAPHS) -> Tensor:
    """Embeddings of an evenly spaced sample of at most ``most`` graphs or nodes."""
    device = next((tensor.device for tensor in method.state_dict().values()), torch.device("cpu"))
    if method.level == "node":
        # Pass on the same object: methods cache what they have computed for a graph under its identity.
        whole = (graphs if isinstance(graphs, Graphs) else graphs.take(torch.arange(len(graphs)))).to(device)
        return embed_all(method, whole)[:: -(-whole.num_nodes // most)]
    sample = graphs.take(torch.arange(0, len(graphs), -(-len(graphs) // most)))
    return embed_all(method, sample.to(device))


def embed_dataset(model: Model, dataset: Dataset, device: torch.device, *, unknown: Unknown = "error") -> Embeddings:
    """Embeddings and labels of any dataset of graphs, or of the nodes of a graph; it need not be the training data."""
    if model.method.level == "node":
        require_level(dataset, model.settings)
    graphs = apply_features(dataset, model.features, unknown=unknown).to(device)
    z = embed_all(model.method.to(device), graphs).cpu().numpy()
    level = model.method.level
    return Embeddings(z, _original_labels(dataset, level), id_array(dataset.ids(level), len(z)))


def with_scale(embeddings: Embeddings, model: Model) -> Embeddings:
    """The embeddings on the scale stored with the model; protocols and diagnoses use the raw ones."""
    return replace(embeddings, z=normalised(embeddings.z, model.normalise, model.columns))


def embed_in_parts(
    model: Model, dataset: Dataset, device: torch.device, watch: Watch | None = None
) -> Iterator[Embeddings]:
    """Embeddings of molecules with identifiers and SMILES; graphs on disk are read a few thousand at a time.

    ``watch`` is called with the number of molecules done and the total.
    """
    rows, method = dataset.molecules, model.method.to(device)
    assert rows is not None
    graphs = featured_store(dataset, model.features) or apply_features(dataset, model.features)
    y = rows.targets[:, 0] if dataset.classes else None  # A shard may hold only one of the two classes.
    for index in torch.arange(len(graphs)).split(AT_A_TIME):
        some = slice(int(index[0]), int(index[-1]) + 1)
        z = embed_all(method, graphs.take(index).to(device)).cpu().numpy()
        yield Embeddings(z, None if y is None else y[some], _identifiers(rows, some), np.array(rows.smiles[some]))
        if watch is not None:
            watch(some.stop, len(graphs))


def _identifiers(rows: MoleculeRows, some: slice) -> np.ndarray:
    """``MoleculeRows.ids`` for a slice of the rows."""
    return np.array(rows.lines[some].astype(str) if rows.names is None else rows.names[some])


def _original_labels(dataset: Dataset, level: str) -> np.ndarray | None:
    """``[B]`` or ``[N]`` labels as in the original data; a missing one is NaN among numbers or an empty text."""
    y = dataset.y
    if y is None or dataset.level != level or not dataset.classes:
        return None
    # The index -1 of a missing label picks the last class, which is replaced below.
    labels = np.asarray(dataset.classes)[y]
    if (y < 0).any():
        labels = np.where(y < 0, "" if labels.dtype.kind == "U" else np.nan, labels)
    return labels
