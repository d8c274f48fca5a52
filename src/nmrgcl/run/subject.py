"""What a judgement is about: the models and the data, each by its digest."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nmrgcl.data.dataset import Dataset
from nmrgcl.data.features import FeatureSpec, apply_features
from nmrgcl.model_folder import folder_digest
from nmrgcl.run.record import digest_of


@dataclass(frozen=True)
class Subject:
    """SHA-256 of each model folder, in order, and of the graphs with their labels."""

    models: tuple[str, ...]
    data: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"models_sha256": list(self.models), "data_sha256": self.data}


def subject_of(folders: Sequence[Path], dataset: Dataset, features: FeatureSpec) -> Subject:
    """What is judged if the models in ``folders``, whose features are these, are judged on ``dataset``."""
    digest = hashlib.sha256(digest_of(apply_features(dataset, features)).encode())
    for labels in (dataset.y, dataset.public_split):
        digest.update(b"none" if labels is None else labels.astype("<i8").tobytes())
    return Subject(tuple(folder_digest(folder) for folder in folders), digest.hexdigest())
