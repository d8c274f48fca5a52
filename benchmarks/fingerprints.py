"""Losses of two epochs at seed 0 and a digest of all weights for every pre-training, to prove trainings identical.

python benchmarks/fingerprints.py    # before and after a refactoring, then compare what it prints
"""

import hashlib

import torch

from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.data.loading import load
from nmrgcl.methods import Level, MoleculePretraining, Pretraining, build_method, find_method, method_names
from nmrgcl.run.recipe import recipe
from nmrgcl.train import pretrain

DATA: dict[Level, str] = {"graph": "MUTAG", "node": "Amazon-Photo"}


def fingerprint(name: str, level: Level) -> str:
    small: dict[str, int] = {} if name == "untrained" else {"train.epochs": 2}
    small |= {"encoder.units": 32} if level == "node" else {}
    settings, dataset = recipe(name, level=level, assignments=small), load(DATA[level])
    features = choose_features(dataset, settings.data.features, settings.data.max_degree, settings.data.scale)
    graphs = apply_features(dataset, features)
    method = build_method(settings, features.width)
    losses = [epoch.loss.hex() for epoch in pretrain(method, graphs, settings.train, seed=settings.seed)]
    digest = hashlib.sha256()
    for key, value in method.state_dict().items():
        digest.update(key.encode() + value.numpy().tobytes())
    return f"{name} of {level}s: {' '.join(losses)} {digest.hexdigest()}"


if __name__ == "__main__":
    torch.set_num_threads(1)
    for one in method_names():
        if issubclass(kind := find_method(one), Pretraining) and not issubclass(kind, MoleculePretraining):
            for where in kind.PRESETS:
                print(fingerprint(one, where), flush=True)
