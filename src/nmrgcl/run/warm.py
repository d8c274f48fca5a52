"""Compile the GPU kernels of methods before they are needed, by training each method briefly on synthetic graphs."""

from collections.abc import Iterator, Sequence

import torch

from nmrgcl.data.features import apply_features, choose_features
from nmrgcl.data.motifs import motifs
from nmrgcl.methods import MoleculePretraining, Pretraining, build_method, find_method, method_names
from nmrgcl.run.embeddings import embed_all
from nmrgcl.run.recipe import recipe
from nmrgcl.train import pretrain


def warm(device: torch.device, methods: Sequence[str] = ()) -> Iterator[str]:
    """Train one epoch of each method, embed the graphs, discard the result, and yield the name of the method.

    The default is every method that embeds graphs with an encoder. Kernels for other widths, and for the number of
    labels of a dataset, are compiled when they are first used.
    """
    dataset = motifs()
    for name in methods or _of_graphs():
        settings = recipe(name, assignments={"train.epochs": 1})
        features = choose_features(dataset, "degree")
        graphs = apply_features(dataset, features).to(device)
        method = build_method(settings, features.width, features.edge_shape).to(device)
        list(pretrain(method, graphs, settings.train, device=device))
        embed_all(method, graphs)
        yield name


def _of_graphs() -> list[str]:
    kinds = {name: find_method(name) for name in method_names()}
    able = [name for name, kind in kinds.items() if issubclass(kind, Pretraining) and "graph" in kind.PRESETS]
    return [name for name in able if not issubclass(kinds[name], MoleculePretraining) and name != "untrained"]
