"""The model card of a pre-trained encoder."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from nmrgcl import __version__, own_code
from nmrgcl.data.features import FeatureSpec
from nmrgcl.encode.named import is_own
from nmrgcl.settings import Settings

_CITATION = """@article{sun2022nmrgcl,
  title  = {On Understanding and Mitigating the Dimensional Collapse of Graph Contrastive Learning:
            a Non-Maximum Removal Approach},
  author = {Sun, Jiawei and Chen, Ruoxin and Li, Jie and Wu, Chentao and Ding, Yue and Yan, Junchi},
  year   = {2022},
  note   = {arXiv:2203.12821}
}"""


def model_card(
    settings: Settings,
    features: FeatureSpec,
    dataset: str,
    data_sha256: str | None,
    training: dict[str, Any] | None,
    *,
    pooled: bool = False,
    metrics: Mapping[str, float] | None = None,
) -> str:
    """Return Markdown with the header for model hubs.

    ``pooled``: the encoder itself pools nodes to graphs. ``metrics`` are evaluation results, if there are any.
    """
    encoder, edges = settings.encoder, features.edges
    readout = f", {encoder.pool} pooling" if settings.level == "graph" and not pooled else ""
    needed = "node features" if edges is None else "node and edge features"
    network = f"{encoder.name}, {encoder.layers} layers × {encoder.units} units"
    again = ""
    if is_own(encoder.name):
        code, _, thing = encoder.name.partition(":")
        file = f"{own_code.label(code)}.py"
        network = f"{thing} of {file} ({code})" if own_code.is_kept(code) else f"{thing}, given in Python ({code})"
        again = f', encoder="{file}:{thing}"' if own_code.is_kept(code) else f", encoder={thing}"
    facts = {
        "Method": settings.label,
        "Dataset": dataset,
        **({"SHA-256 of the data": data_sha256} if data_sha256 else {}),
        **(
            {"Sample": f"at most {most:,} of its graphs, drawn at random"}
            if (most := settings.train.max_graphs)
            else {}
        ),
        **({"Steps": steps} if (steps := settings.train.steps) else {}),
        "Seed": settings.seed,
        "Embeds": f"{settings.level}s",
        "Encoder": f"{network}{readout}",
        "Node features": f"{features.kind}, {features.width} columns",
        **({} if edges is None else {"Edge features": f"{edges.kind}, {edges.width} columns"}),
        **{name.replace("_", " ").capitalize(): value for name, value in asdict(settings.options).items()},
    }
    facts |= {f"Last epoch's {key.replace('_', ' ')}": value for key, value in (training or {}).items()}
    judged = "\n".join(f"| {_cell(name)} | {_cell(float(value))} |" for name, value in (metrics or {}).items())
    measured = f"| | |\n|---|---|\n{judged}" if judged else "Not judged by any labels yet."
    rows = "\n".join(f"| {name} | {_cell(value)} |" for name, value in facts.items())
    return f"""---
library_name: nmrgcl
pipeline_tag: graph-ml
tags: [graph-embedding, self-supervised, contrastive-learning]
{_index(settings.label, dataset, metrics)}---

# {settings.label} on {_cell(dataset)}

A graph encoder pre-trained without labels by nmrgcl {__version__}.

| | |
|---|---|
{rows}

All settings are in `config.json`; `SHA256SUMS` lists the files.

## Use

```python
from nmrgcl import GraphEmbedder

z = GraphEmbedder.load("this-folder"{again}).transform(graphs)   # PyG data, NetworkX graphs, a TU folder …
```

or `nmrgcl embed this-folder DATA --out z.npz`. Graphs must have the {needed} named above.

## Metrics

{measured}

## Limits

{_limits(settings, features, needed)}

## Cite

```bibtex
{_CITATION}
```
"""


def _limits(settings: Settings, features: FeatureSpec, needed: str) -> str:
    """What the model is not for, as far as its settings tell."""
    known = {
        "labels": "Labels of nodes that the training graphs did not have are refused, or embedded without features.",
        "attributes": "Attributes must be the same columns, in the same units, as in training.",
        "degree": f"Degrees above {features.max_degree} are not told apart.",
        "constant": "It sees the structure of a graph and nothing else.",
        "molecules": "It reads atoms and bonds as RDKit writes them in SMILES, without coordinates.",
    }
    whole = "nodes" if settings.level == "node" else "graphs"
    return "\n".join(
        f"- {line}"
        for line in (
            f"It saw no labels in training. Beyond the metrics above, nothing is claimed of any task or of {whole} "
            "of another kind or size than those it was trained on; `nmrgcl diagnose` shows whether their embeddings "
            "have collapsed.",
            known[features.kind],
            f"Graphs without the {needed} named above cannot be embedded.",
            "The licence of the training data is not known here; ask whoever published it.",
        )
    )


def _index(label: str, dataset: str, metrics: Mapping[str, float] | None) -> str:
    """Metrics as hubs read them; JSON is YAML."""
    if not metrics:
        return ""
    found = [{"type": "accuracy" if "ccuracy" in name else name, "name": name, "value": float(value)}
             for name, value in metrics.items()]  # fmt: skip
    data = {"name": dataset, "type": "graphs"}
    results = [{"task": {"type": "graph-ml"}, "dataset": data, "metrics": found}]
    return f"model-index: {json.dumps([{'name': label, 'results': results}])}\n"


def _cell(value: object) -> str:
    """Escape text for a table cell."""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())
