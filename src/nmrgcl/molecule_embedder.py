"""Molecule embeddings as a scikit-learn transformer: returns one embedding per SMILES."""

from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.molecule_rows import MoleculeRows
from nmrgcl.data.molecules import Invalid, featurise
from nmrgcl.data.molecules.smiles import MANY
from nmrgcl.data.texts import Texts
from nmrgcl.encode.named import Named
from nmrgcl.errors import DataError, SettingError, printable
from nmrgcl.estimator import GraphEmbedder, ids_of, saved_parameters
from nmrgcl.evaluate.normalise import Normalise, normalised
from nmrgcl.methods import Method
from nmrgcl.model_folder import Model
from nmrgcl.run.bundled import BUNDLED, is_there
from nmrgcl.run.machine import choose_device
from nmrgcl.run.molecules import embed_smiles, load_molecule_model

TRAINING = ("method", "encoder", "preset", "settings")
"""The parameters of a training, which a given model does not need."""


class MoleculeEmbedder(GraphEmbedder):
    """Embed molecules with a trained encoder, or pre-train one without labels; returns one embedding per SMILES.

    Without a ``model`` and without settings for a training (``method``, ``encoder``, ``preset`` or ``settings``), the
    bundled encoder is used; if there is none, an encoder is trained with the preset ``molecules``. SMILES may be a
    list, an array, a pandas series, or a table of one column.

    Args:
        method: name of the method, a file such as ``mine.py``, or a class; None: that of the preset.
        model: a model folder trained on molecules, or ``"bundled"``. It is used as it is: ``transform`` then needs no
            ``fit``, and ``fit`` only checks its molecules.
        encoder: None: that of the preset; otherwise as in ``GraphEmbedder``.
        preset: name of the preset to train with; None: ``molecules``.
        random_state: seed of everything; None or a ``RandomState`` draws one.
        settings: settings that override the preset, for example ``{"train.epochs": 5}``.
        normalise: scaling of the embeddings, as in ``GraphEmbedder``; None: that of the given model, or ``squash``.
        invalid: how to treat rows that are not molecules: ``error``, or ``nan`` for rows of NaN, which are ignored in
            training. There is always one row per SMILES, so that rows and labels stay aligned.
        device: ``auto``, ``cpu`` or ``cuda``.
        verbose: print each epoch.
        warm_start: let ``fit`` continue the previous training, unless a model was given.

    Attributes:
        model_: the model.
        history_: one ``Epoch`` per pass over the molecules; empty if nothing was trained.
        ids_: row numbers, from 0, of the valid molecules of ``fit``.

    Example:
        >>> from nmrgcl import MoleculeEmbedder
        >>> embedder = MoleculeEmbedder(model="bundled", invalid="nan")  # needs no training
        >>> z = embedder.transform(["CCO", "c1ccccc1", "not a molecule"])
        >>> z.shape, bool(z[2].any())
        ((3, 300), True)
    """

    PRESET = "molecules"

    def __init__(
        self,
        method: str | type[Method] | None = None,
        *,
        model: Path | str | None = None,
        encoder: Named | None = None,
        preset: str | None = None,
        random_state: int | np.random.RandomState | None = 0,
        settings: dict[str, Any] | None = None,
        normalise: Normalise | None = None,
        invalid: Literal["error", "nan"] = "error",
        device: str = "auto",
        verbose: bool = False,
        warm_start: bool = False,
    ) -> None:
        super().__init__(
            method,
            encoder=encoder,
            preset=preset,
            random_state=random_state,
            settings=settings,
            device=device,
            verbose=verbose,
            warm_start=warm_start,
        )
        self.normalise = normalise  # type: ignore[assignment]
        self.model = model
        self.invalid = invalid

    def fit(self, smiles: Any, y: Any = None) -> Self:
        """Pre-train on the molecules, unless a model was given; ``y`` is ignored."""
        given = self._given()
        if given is None:
            return super().fit(smiles, y)
        if ignored := [name for name in TRAINING if getattr(self, name) is not None]:
            raise SettingError(
                f"{', '.join(ignored)}: only for training, but a model is given; leave out one or the other"
            )
        self.ids_ = ids_of(self._dataset(smiles), "graph")
        self.model_, self.history_ = load_molecule_model(given), []
        if self.verbose:
            print(f"model: {given}, {self.model_.settings.label} on {self.model_.dataset}")
        return self

    def transform(self, smiles: Any) -> np.ndarray:
        """Return ``[B, D]`` embeddings in the order of ``smiles``."""
        model, texts = self._fitted(), _texts(smiles)
        # Invalid molecules keep their rows of NaN.
        z = np.full((len(texts), model.method.full_width), np.nan, np.float32)
        jobs = 1 if len(texts) < MANY else -1
        for part in embed_smiles(model, texts, choose_device(self.device), jobs=jobs):
            self._refuse(part.invalid)
            z[part.rows] = part.z
        return normalised(z, self._scale(model), model.columns)

    @classmethod
    def load(cls, folder: Path | str, **options: Any) -> Self:
        """Return ``MoleculeEmbedder(model=folder)`` with its saved parameters; ``options`` override them."""
        return cls(model=folder, **(saved_parameters(folder, cls) | options))

    def __sklearn_is_fitted__(self) -> bool:
        return self._given() is not None or hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags

    def _given(self) -> Path | str | None:
        """Return the model to use as it is; None if ``fit`` trains one."""
        unnamed = all(getattr(self, name) is None for name in TRAINING)
        return BUNDLED if self.model is None and unnamed and is_there() else self.model

    def _fitted(self) -> Model:
        given = self._given()
        if given is not None and not hasattr(self, "model_"):
            return load_molecule_model(given)
        return super()._fitted()

    def _scale(self, model: Model) -> Normalise:
        return self.normalise or ("squash" if self._given() is None else model.normalise)

    def _dataset(self, graphs: Any) -> Dataset:
        """Return the valid molecules as a dataset."""
        texts = _texts(graphs)
        molecules, invalid = featurise(texts)
        self._refuse(invalid)
        if not len(molecules):
            raise DataError(f"none of the {len(invalid)} rows is a valid molecule; {_first(invalid)}")
        rows = np.setdiff1d(np.arange(len(texts)), [one.row for one in invalid])
        smiles, names = Texts.of(texts[row] for row in rows), Texts.of(map(str, rows.tolist()))
        listed = MoleculeRows(smiles, rows + 1, np.zeros((len(rows), 0), np.float32), names=names)
        return Dataset("molecules", molecules, molecules=listed)

    def _refuse(self, invalid: list[Invalid]) -> None:
        # Checked here and not in the constructor, as scikit-learn's conventions ask.
        if self.invalid not in ("error", "nan"):
            raise SettingError(f"invalid is {self.invalid!r}; it must be error or nan")
        if invalid and self.invalid == "error":
            raise DataError(f"{_first(invalid)}; correct it, or use invalid='nan' for rows of NaN")


def _first(invalid: list[Invalid]) -> str:
    return printable(f"row {invalid[0].row} (counted from 0), {invalid[0].text!r}: {invalid[0].reason}")


def _texts(smiles: Any) -> list[Any]:
    """Return the SMILES of a list, an array, a series or a table of one column."""
    if isinstance(smiles, str | bytes | Path) or not hasattr(smiles, "__len__"):
        raise DataError(f"SMILES must be a list or a column, not {type(smiles).__name__}")
    cells = np.asarray(smiles.to_numpy() if hasattr(smiles, "to_numpy") else smiles, dtype=object)
    if cells.ndim == 2 and cells.shape[1] == 1:
        cells = cells[:, 0]
    if cells.ndim != 1:
        raise DataError(f"SMILES must be one column; this has the shape {list(cells.shape)}")
    if not len(cells):
        raise DataError("there are no SMILES in the list")
    if any(hasattr(cell, "GetNumAtoms") for cell in cells):
        raise DataError("SMILES must be text, not RDKit molecules; pass Chem.MolToSmiles(mol) for each of them")
    return list(cells)
