"""A run as the page asks for it; read only, and computed once."""

import re
import threading
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.loading import load
from nmrgcl.errors import ModelError
from nmrgcl.model_folder import MODEL, load_model
from nmrgcl.owned import read_marker
from nmrgcl.report.figures import plot_curves, plot_projection, plot_spectra
from nmrgcl.report.svg import Picture
from nmrgcl.run.folder import RUN, read_record
from nmrgcl.run.own_data import load_own_data
from nmrgcl.settings import Settings
from nmrgcl.view.metrics import of_model, under_way
from nmrgcl.view.placed import Placed

MOST_DRAWN = 2000
"""Points of a map that is downloaded as a picture."""
_SEED = re.compile(r"seed-(\d{1,9})")
_DRAWING = threading.Lock()
"""Matplotlib draws one figure at a time."""


class Viewed:
    """The run or model in ``path``; with ``data`` in place of the graphs that it was trained on."""

    def __init__(self, path: Path, *, data: str | None, device: torch.device) -> None:
        self.path, self.data, self.device = path, data, device
        self.alone = read_marker(path, MODEL) is not None
        if not self.alone and read_marker(path, RUN) is None:
            raise ModelError(f"{path}: no such run or model folder; make one with nmrgcl pretrain")
        self._about = self._words()
        self._lock = threading.Lock()
        self._dataset: Dataset | None = None
        self._placed: dict[tuple[Path, int], Placed] = {}
        self._curves: dict[tuple[Path, int], dict[str, Any]] = {}

    def models(self) -> dict[int, Path]:
        """The complete models by seed."""
        if self.alone:
            return {0: self.path}
        found = {int(m[1]): path for path in self.path.glob("seed-*") if (m := _SEED.fullmatch(path.name))}
        return {seed: found[seed] for seed in sorted(found) if read_marker(found[seed], MODEL) is not None}

    def status(self) -> dict[str, Any]:
        """What is there, and how far a training is."""
        models = self.models()
        told, silent = ({}, None) if self.alone else under_way(self.path)
        training = None
        if told:
            # A training that goes on has no complete model yet.
            seed = max(told, key=lambda one: (one not in models, one))
            if seed not in models:
                training = {"seed": seed, "epoch": told[seed]["epoch"], "silent": round(silent or 0.0, 1)}
        return {
            **self._about,
            "seeds": list(models),
            "training": training,
            "report": self.report() is not None,
        }

    def _words(self) -> dict[str, Any]:
        """What the run is called, what it was trained on and how; a method of one's own by its short name."""
        record = None if self.alone else read_record(self.path)
        if record is not None:
            settings, dataset = Settings.from_dict(record.settings), record.dataset
        else:
            model = load_model(next(iter(self.models().values())))
            settings, dataset = model.settings, model.dataset
        name = self.path.absolute().name
        return {"name": name, "dataset": dataset, "method": settings.label, "epochs": settings.train.epochs}

    def curves(self) -> dict[str, Any]:
        """Loss and effective rank by seed, and spectra of those that are training."""
        told = {} if self.alone else under_way(self.path)[0]
        for seed, folder in self.models().items():
            key = _version(folder)
            if key not in self._curves:
                self._curves[key] = of_model(folder)
            told[seed] = self._curves[key]
        return {"seeds": {str(seed): told[seed] for seed in sorted(told)}}

    def placed(self, seed: int) -> Placed:
        """The map of one model, computed once."""
        folder = self.models().get(seed)
        if folder is None:
            raise ModelError(f"{self.path}: the model of seed {seed} is not complete yet")
        key = _version(folder)
        with self._lock:
            if key not in self._placed:
                if self._dataset is None:
                    command = f"nmrgcl view {self.path} --data"
                    self._dataset = load(self.data) if self.data else load_own_data(folder, command)
                while len(self._placed) >= 3:  # a map may be hundreds of megabytes
                    del self._placed[next(iter(self._placed))]
                self._placed[key] = Placed.by(load_model(folder), self._dataset, self.device)
            return self._placed[key]

    def map(self, seed: int) -> dict[str, Any]:
        """What the page needs to know before it asks for points."""
        placed = self.placed(seed)
        found = {}
        for name, one in placed.attributes.items():
            finite = one.values[np.isfinite(one.values)] if one.kind == "number" else one.values
            ends = [float(finite.min()), float(finite.max())] if len(finite) else [0.0, 0.0]
            found[name] = {"kind": one.kind, "names": list(one.names), "ends": ends}
        return {
            "count": len(placed.z),
            "things": f"{placed.level}s",
            "dimensions": placed.z.shape[1],
            "shares": placed.points[1],
            "aspect": placed.points[2],
            "rank": placed.rank,
            "spectrum": placed.spectrum,
            "attributes": found,
        }

    def report(self) -> Path | None:
        """``RUN/report.html``, if it is a file in the run itself."""
        path = self.path / "report.html"
        return path if path.is_file() and not path.is_symlink() else None

    def picture(self, kind: str, seed: int) -> str:
        """A figure as an SVG file."""
        by_seed = self.curves()["seeds"]
        words = f"{self._about['method']} on {self._about['dataset']}"
        if kind in ("loss", "rank"):
            curves = [dict(zip(*one[kind], strict=True)) for one in by_seed.values() if one[kind][0]]
            if not curves:
                raise ModelError(f"there is no {kind} to draw yet")
            label = "loss" if kind == "loss" else "effective rank"
            with _DRAWING:
                figure = plot_curves([{int(epoch): value for epoch, value in one.items()} for one in curves], label)
                return Picture(kind, f"{label}, {words}", f"{len(curves)} lines", "", figure).file
        if kind == "spectrum":
            live = by_seed.get(str(seed), {}).get("spectra")
            spectra = {"embeddings": np.array(live[-1] if live else self.placed(seed).spectrum)}
            with _DRAWING:
                return Picture(kind, f"singular spectrum, {words}", "a falling line", "", plot_spectra(spectra)).file
        placed = self.placed(seed)
        rows = np.arange(0, len(placed.z), -(-len(placed.z) // MOST_DRAWN) or 1)
        classes = placed.attributes.get("class")
        y = None if classes is None else np.where(classes.values < 0, len(classes.names), classes.values)[rows]
        names = [] if classes is None else [*(f"class {name}" for name in classes.names), "no label"]
        names = names if y is not None and (y == len(names) - 1).any() else names[:-1]
        with _DRAWING:
            figure = plot_projection(placed.z[rows].astype(np.float64), y, names)
            return Picture(kind, f"map, {words}", f"{len(rows)} points", "", figure).file


def _version(folder: Path) -> tuple[Path, int]:
    """Another one once a model is replaced."""
    try:
        return folder, (folder / "config.json").stat().st_mtime_ns
    except OSError:
        return folder, 0
