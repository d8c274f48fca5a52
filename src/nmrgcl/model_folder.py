"""Save and load a pre-trained encoder as a folder: ``config.json``, ``model.safetensors``, a card and checksums."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load

from nmrgcl import __version__, reading
from nmrgcl.checksums import NAME as CHECKSUMS
from nmrgcl.checksums import verify_checksums, write_checksums
from nmrgcl.data.features import FeatureSpec
from nmrgcl.data.ids import LONGEST
from nmrgcl.encode.named import is_own, network_bytes
from nmrgcl.errors import ModelError, UserError
from nmrgcl.evaluate.normalise import ColumnScale, Normalise, require_word
from nmrgcl.methods import Embedder, Pretraining, build_method, find_method
from nmrgcl.model_card import model_card
from nmrgcl.owned import FolderKind
from nmrgcl.settings import Settings
from nmrgcl.settings.renamed import is_old, renamed
from nmrgcl.train.checkpoint import packed

FORMAT = 2
"""Version of ``config.json``. Since version 2, the options of a method are under ``options``."""
MAX_CONFIG = 1 << 28
"""Largest size of ``config.json``, which lists every label that the model knows."""
WEIGHTS = "model.safetensors"
FILES = ("config.json", "README.md", WEIGHTS, "SHA256SUMS")
EMBEDDER = "embedder.json"
"""Parameters of ``GraphEmbedder`` that are not settings, and the ids of the graphs it was fitted on."""
BESIDE = (EMBEDDER, "metrics.jsonl", "timings.jsonl", "evaluation.json", "splits.json", "report.html")
"""Files that a run and its evaluation add to a model folder."""


def _is_config(values: Mapping[str, Any]) -> bool:
    """Return True if a config.json is ours, because many libraries use that name."""
    parts = [values.get(name) for name in ("settings", "features")]
    return isinstance(values.get("nmrgcl"), str) and all(isinstance(part, dict) for part in parts)


MODEL = FolderKind("model", "config.json", _is_config, lambda _: (*FILES, *BESIDE))


@dataclass(frozen=True)
class Model:
    """A trained method with its settings and features.

    ``encoder_only``: only the encoder is saved and loaded, without projection heads and the like. Such a model can
    embed graphs and serve as a start for other trainings.

    ``data_sha256`` is the digest of the training graphs and features, and ``columns`` the scale of their embeddings;
    both are None in models of earlier versions. ``normalise`` is the default scaling of embeddings.
    """

    method: Pretraining | Embedder
    settings: Settings
    features: FeatureSpec
    dataset: str
    data_sha256: str | None = None
    encoder_only: bool = False
    columns: ColumnScale | None = None
    normalise: Normalise = "none"

    @property
    def weights(self) -> torch.nn.Module:
        """The module whose weights are saved."""
        if not self.encoder_only:
            return self.method
        if not isinstance(self.method, Pretraining):
            raise ModelError(f"method {self.settings.label} has no encoder that could be saved separately")
        return self.method.encoder


def save_model(
    folder: Path, model: Model, *, training: dict[str, Any] | None = None, embedder: dict[str, Any] | None = None
) -> None:
    """Write a model to an existing ``folder``; ``training`` (epochs, loss …) and ``embedder`` are stored unchanged."""
    config = {
        "format": FORMAT,
        "nmrgcl": __version__,
        "dataset": model.dataset,
        "data_sha256": model.data_sha256,
        "features": model.features.to_dict(),
        "settings": model.settings.to_dict(),
        "normalise": model.normalise,
        "columns": None if model.columns is None else model.columns.to_dict(),
        "training": training,
        **({"encoder_only": True} if model.encoder_only else {}),
    }
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    pooled = bool(getattr(getattr(model.method, "encoder", None), "pooled", False))
    trained_on = model.dataset, model.data_sha256
    card = model_card(model.settings, model.features, *trained_on, training, pooled=pooled)
    (folder / "README.md").write_text(card, encoding="utf-8")
    if embedder is not None:
        (folder / EMBEDDER).write_text(json.dumps(embedder) + "\n", encoding="utf-8")
    # Not with safetensors' save_file, whose error on a full disk is not an OSError.
    (folder / WEIGHTS).write_bytes(packed(model.weights.state_dict()))
    write_checksums(folder)


def weights_digest(module: torch.nn.Module) -> str:
    """Return the SHA-256 of all parameters and buffers."""
    digest = hashlib.sha256()
    for name, tensor in module.state_dict().items():
        # Bytes alone would be equal for two tensors whose shapes or names are exchanged.
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).numpy().data)
    return digest.hexdigest()


def folder_digest(folder: Path) -> str:
    """Return the SHA-256 of a model folder's checksums, which identifies its weights and settings."""
    try:
        return hashlib.sha256(reading.read_bytes(folder / CHECKSUMS)).hexdigest()
    except OSError as error:
        raise ModelError(f"{folder / CHECKSUMS}: cannot be read ({error.strerror})") from None


def load_model(folder: Path) -> Model:
    """Load the model in ``folder``, in evaluation mode on the CPU; anything unexpected is an error.

    Weights that are stored as bfloat16 become float32.
    """
    verify_checksums(folder, required=("config.json", WEIGHTS), unlimited=WEIGHTS)
    try:
        config = json.loads(reading.read_text(folder / "config.json", MAX_CONFIG))
        if config["format"] not in (1, FORMAT):
            raise ModelError(
                f"{folder}: model format {config['format']!r}, this version reads {FORMAT}; upgrade nmrgcl"
            )
        values = renamed(config["settings"]) if is_old(config["settings"]) else config["settings"]
        settings = Settings.from_dict(values, source=str(folder / "config.json"))
        features = FeatureSpec.from_dict(config["features"])
        weights = reading.read_bytes(folder / WEIGHTS, limit=None)
        has_encoder = issubclass(find_method(settings.method), Pretraining)
        # Before the network is built, because settings from a foreign folder could ask for any amount of memory.
        if has_encoder and _least_bytes(settings, features) > len(weights):
            raise ModelError(f"{folder}: its settings need more weights than there are; copy the model folder again")
        method = build_method(settings, features.width, features.edge_shape)
        digest, alone = config.get("data_sha256"), config.get("encoder_only", False) is True
        if not isinstance(digest, str | None):
            raise TypeError("data_sha256 is not text")
        normalise = config.get("normalise", "none")
        require_word(normalise, f"{folder / 'config.json'}: normalise")
        model = Model(method, settings, features, str(config["dataset"]), digest, alone, normalise=normalise)
        model.weights.load_state_dict(load(weights))
        if (columns := config.get("columns")) is not None:  # some methods know their width only with their weights
            model = replace(model, columns=ColumnScale.from_dict(columns, method.full_width))
    # Messages of our own say more than the general one below.
    except UserError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RecursionError, RuntimeError, SafetensorError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(f"{folder}: not a usable model folder ({reason})") from None
    method.eval()
    return model


def read_embedder(folder: Path) -> dict[str, Any]:
    """Read the ``embedder`` values that ``save_model`` stored, if any; ``load_model`` verifies the checksum."""
    try:
        found = json.loads(reading.read_text(folder / EMBEDDER, MAX_CONFIG))
        names = [str(name) for name in found["ids"] if type(name) in (str, int)]
        if not isinstance(found["parameters"], dict) or len(names) < len(found["ids"]):
            raise TypeError("its parameters or ids are invalid")
        if max(map(len, names), default=0) > LONGEST:
            raise ValueError("an id is too long")
    except FileNotFoundError:
        return {"parameters": {}, "ids": []}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(f"{folder / EMBEDDER}: cannot be used ({error}); copy the model folder again") from None
    return {"parameters": found["parameters"], "ids": names}


def _least_bytes(settings: Settings, features: FeatureSpec) -> int:
    """Return a lower bound on the size of the weights, so that settings with absurd sizes are refused early."""
    units, layers = settings.encoder.units, settings.encoder.layers
    if is_own(settings.encoder.name):
        return network_bytes(settings.encoder.name, num_features=features.width, units=units, layers=layers)
    edges = 0 if features.edges is None else features.edges.width
    # Two bytes each, because weights may be stored as bfloat16.
    return 2 * units * (features.width + (layers - 1) * units + layers * edges)
