"""Apply the measures of ``nmrgcl.diagnose`` to models, or to embeddings from any source."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nmrgcl import atomic
from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import apply_features
from nmrgcl.data.formats.arrays import read_arrays
from nmrgcl.data.loading import load
from nmrgcl.diagnose.layers import layer_outputs
from nmrgcl.diagnose.measure import Measurement, measure
from nmrgcl.encode import Foreign, embed_graphs, pool
from nmrgcl.errors import DataError, SettingError, writing
from nmrgcl.graphs import Graphs
from nmrgcl.methods import Pretraining
from nmrgcl.model_folder import Model, load_model
from nmrgcl.run.embedding_tables import TABLES, column_names
from nmrgcl.run.embeddings import WRITERS, Embeddings, embed_all, read_embeddings
from nmrgcl.run.measures import embed_views
from nmrgcl.run.model_folders import find_models
from nmrgcl.run.own_data import load_own_data
from nmrgcl.run.recipe import require_level

EMBEDDING_FILES = (".npy", *WRITERS)
DELTA = 0.7
"""The threshold of Eq. 13 for models whose method has no such option."""


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """A measurement together with what was measured."""

    source: str
    dataset: str | None
    things: str
    method: str | None
    seed: int | None
    found: Measurement

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        names = {"source": self.source, "dataset": self.dataset, "method": self.method, "seed": self.seed}
        return names | self.found.to_dict()


def diagnose_path(path: Path, data: str | None, device: torch.device, *, labels: Path | None = None) -> list[Diagnosis]:
    """Diagnose embeddings in a file, or each model of a run on ``data`` (default: the data it was trained on)."""
    if path.suffix in EMBEDDING_FILES and not path.is_dir():
        if data is not None:
            raise SettingError(f"{path}: embeddings need no dataset; leave out {data} (labels: --labels y.npy)")
        return [diagnose_embeddings(read_rows(path, labels), path.name)]
    if labels is not None:
        raise SettingError("--labels is for embeddings in a file; a dataset has its own labels")
    models = [(folder, load_model(folder)) for folder in find_models(path)]
    dataset = load_own_data(path, f"nmrgcl diagnose {path}") if data is None else load(data)
    return [diagnose_model(model, dataset, device, str(folder)) for folder, model in models]


def diagnose_pair(first: Path, second: Path, data: str | None, device: torch.device) -> list[list[Diagnosis]]:
    """Diagnose two runs or files, which must have the same seeds; files of embeddings do not use ``data``."""
    sides = [diagnose_path(path, None if path.suffix in EMBEDDING_FILES else data, device) for path in (first, second)]
    if [one.seed for one in sides[0]] != [one.seed for one in sides[1]]:
        raise SettingError(f"{second}: has other seeds than {first}; compare runs of the same seeds")
    return sides


def is_model(path: Path) -> bool:
    """True for a model, a run or a file of embeddings; False for a dataset."""
    embeddings = path.suffix in EMBEDDING_FILES and path.is_file()
    if embeddings and path.suffix in TABLES:  # It could also be an edge list, which has other columns.
        return "z0" in column_names(path)
    return embeddings or (path / "config.json").is_file() or any(path.glob("seed-*/config.json"))


def write_arrays(arrays: dict[str, Any], out: Path) -> None:
    """Write spectra and correlations as ``.npz``."""
    with writing(f"--arrays {out}"), atomic.new_file(out) as file:
        np.savez(file, **arrays)


def diagnose_model(model: Model, dataset: Dataset, device: torch.device, source: str) -> Diagnosis:
    """Measure the model's embeddings of ``dataset``, its layers, and two views drawn as its settings say."""
    settings = model.settings
    if settings.level == "node":
        require_level(dataset, settings)
    graphs = apply_features(dataset, model.features).to(device)
    method = model.method.to(device).eval()
    z = embed_all(method, graphs)
    if len(z) < 2:
        raise DataError(f"{dataset.name}: has {len(z)} {settings.level}s; a diagnosis needs at least two")
    found = measure(
        z,
        y=_codes(dataset, settings.level, device),
        views=embed_views(method, graphs, settings) if isinstance(method, Pretraining) else None,
        layers=_embed_layers(method, graphs) if isinstance(method, Pretraining) else (),
        delta=getattr(settings.options, "delta", DELTA),
    )
    return Diagnosis(source, dataset.name, f"{settings.level}s", settings.label, settings.seed, found)


def diagnose_embeddings(embeddings: Embeddings, source: str) -> Diagnosis:
    """Measure embeddings from any source; labels may be numbers or text."""
    z = embeddings.z
    if len(z) < 2 or z.shape[1] < 1:
        raise DataError(f"{source}: z has shape {list(z.shape)}; it needs at least two rows and one column")
    broken = ~np.isfinite(z.astype(np.float64)).all(1)
    if broken.any():
        raise DataError(
            f"{source}: row {int(broken.argmax())} of z is not finite ({int(broken.sum())} such rows); "
            "leave out these rows or fix the program that wrote them"
        )
    y = None
    if embeddings.y is not None:
        _, codes = np.unique(embeddings.y, return_inverse=True)
        y = torch.from_numpy(np.where(embeddings.labelled, codes, -1))
    found = measure(torch.from_numpy(z.astype(np.float64 if z.dtype.kind != "f" else z.dtype)), y=y)
    return Diagnosis(source, None, "rows", None, None, found)


def read_rows(path: Path, labels: Path | None = None) -> Embeddings:
    """Read embeddings from an ``.npy`` or any file that ``read_embeddings`` accepts; ``labels`` must be an ``.npy``."""
    if path.suffix != ".npy":
        found = read_embeddings(path)
        z, y = found.z, found.y
    else:
        array, y = read_arrays(path, str(path)).get("arr_0"), None
        if array is None or array.ndim != 2 or array.dtype.kind not in "fiu":
            raise DataError(f"{path}: needs one row of numbers per graph or node, an array [rows, dimensions]")
        z = array
    if labels is not None:
        y = read_arrays(labels, str(labels)).get("arr_0")
        if y is None or y.shape != (len(z),) or y.dtype.kind not in "iubUf":
            raise DataError(f"{labels}: must be an .npy with one class per row of {path.name} ({len(z)} rows)")
    return Embeddings(z, y, np.arange(len(z)))


def _embed_layers(method: Pretraining, graphs: Graphs) -> list[Tensor]:
    """The ``[B, ·]`` readout of each layer, or ``[N, ·]`` at node level; a user's own network counts as one layer."""
    if isinstance(method.encoder, Foreign):
        return [_embed_whole(method, graphs)]
    if method.level == "node":
        return layer_outputs(method.encoder, graphs)
    parts = []
    for rows in torch.arange(graphs.num_graphs).split(512):
        batch = graphs.take(rows)
        parts.append([pool(h, batch, method.readout) for h in layer_outputs(method.encoder, batch)])
    return [torch.cat(layer) for layer in zip(*parts, strict=True)]


@torch.no_grad()
def _embed_whole(method: Pretraining, graphs: Graphs) -> Tensor:
    """Embeddings by the encoder alone, without what the method adds."""
    if method.level == "node":
        nodes: Tensor = method.encoder(graphs)
        return nodes
    passes = graphs.passes(torch.arange(graphs.num_graphs))
    return torch.cat([embed_graphs(method.encoder, part, method.readout) for part in passes])


def _codes(dataset: Dataset, level: str, device: torch.device) -> Tensor | None:
    if dataset.y is None or dataset.level != level or not dataset.classes:
        return None
    return torch.from_numpy(np.asarray(dataset.y)).long().to(device)
