"""Turn a pre-trained model into the encoder that ships with the package: without its head, in bfloat16, with a card.

    nmrgcl pretrain ZINC-2.2M --preset molecules --seeds 1 --out runs/zinc
    python benchmarks/bundle.py runs/zinc/seed-0 --on "NVIDIA H200"

The card has the command that trains with the settings of the model, and says how much embeddings by the bfloat16
weights differ from those by the original ones.
"""

import argparse
import hashlib
import json
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from nmrgcl import atomic
from nmrgcl.checksums import write_checksums
from nmrgcl.errors import ModelError, UserError
from nmrgcl.model_folder import MODEL, WEIGHTS, Model, load_model, save_model
from nmrgcl.run.bundled import FOLDER
from nmrgcl.run.folder import read_record
from nmrgcl.run.molecules import embed_smiles, require_molecules
from nmrgcl.run.recipe import default_preset, recipe
from nmrgcl.settings import Settings
from nmrgcl.settings.check import flatten
from nmrgcl.tune.files import toml_value

DATASET = "ZINC-2.2M"
LARGEST = 4_000_000
"""The maximum size of the weights in bytes."""
FARTHEST = 0.02
"""The largest allowed distance of an embedding from the float32 one, relative to its length."""
MOLECULES = (
    "CC(=O)Oc1ccccc1C(=O)O",  # aspirin
    "CC(=O)Nc1ccc(O)cc1",  # paracetamol
    "CN1C=NC2=C1C(=O)N(C)C(=O)N2C",  # caffeine
    "CC(C)Cc1ccc(cc1)[C@@H](C)C(=O)O",  # ibuprofen
    "CN1CCC[C@H]1c1cccnc1",  # nicotine
    "CC(C)NCC(O)COc1cccc2ccccc12",  # propranolol
    "Clc1ccc2c(c1)C(=NCC(=O)N2)c1ccccc1",  # a benzodiazepine
    "CC1(C)S[C@@H]2[C@H](NC(=O)Cc3ccccc3)C(=O)N2[C@H]1C(=O)O",  # penicillin G
    "Cc1ccc(cc1)-c1cc(nn1-c1ccc(cc1)S(N)(=O)=O)C(F)(F)F",  # celecoxib
    "CCO",
    "C",
    "[Na+].[Cl-]",
)
DATA = """\
2,186,417 molecules: the clean leads of MOSES (1,936,962 SMILES, chosen from ZINC) and ZINC250k (249,455 SMILES). They
are not the sample of ZINC15 that Hu et al. 2020 and later papers pre-train on. No label was used. ZINC's terms allow
research but not to redistribute major portions of it; the weights hold no molecule, and the package holds no data."""
LIMITS = """\
- The training molecules are mostly drug-like leads of about 22 heavy atoms. MOSES holds C, N, O, S, F, Cl and Br, none
  charged; ZINC250k adds I, P and charges. Other elements are embedded, but by vectors that were never trained.
- Salts, metals, polymers, peptides and large natural products are far from what it has seen.
- Hydrogens are not atoms here, and neither charge nor isotope nor 3D shape is a feature.
- As in Hu et al. 2020, chirality and the direction of bonds are relative to the order in which a SMILES names atoms. A
  molecule with stereo marks therefore has another embedding if it is written in another way; write such molecules as
  canonical SMILES first.
- It is a start for fine-tuning. As frozen features for a linear model its embeddings are not better than those of an
  untrained encoder on BBBP and SIDER (`nmrgcl finetune DATA --probe`).
- Fingerprints are often better for predicting properties; `nmrgcl finetune` shows both on your data.
- It is for research. Do not base decisions about health or safety on it alone."""


@dataclass(frozen=True)
class Distance:
    """The largest deviation of bfloat16 embeddings from float32 ones over all molecules."""

    share: float
    cosine: float


def bundle(source: Path, out: Path, *, hardware: str, farthest: float = FARTHEST) -> Distance:
    """Write the model folder ``out`` from that of a run."""
    model = load_model(source)
    require_molecules(model, str(source))
    if model.dataset != DATASET:
        raise ModelError(f"{source}: was trained on {model.dataset}; the card describes {DATASET}")
    if (record := read_record(source.parent)) and record.start_sha256:
        raise ModelError(f"{source}: was trained from another model, which the command on the card would leave out")
    command, training = command_of(model.settings), json.loads((source / "config.json").read_text())["training"]
    before = _embedded(model)
    small = replace(load_model(source), encoder_only=True)
    small.method.to(torch.bfloat16)
    with atomic.new_folder(out, MODEL) as folder:
        save_model(folder, small, training=training)
        distance = _distance(before, _embedded(load_model(folder)))
        weights = (folder / WEIGHTS).read_bytes()
        if len(weights) > LARGEST or distance.share > farthest:
            raise ModelError(f"{source}: {len(weights):,} bytes in bfloat16, embeddings off by {distance.share:.2%}")
        digest = hashlib.sha256(weights).hexdigest()
        text = _card((folder / "README.md").read_text(), command, hardware, distance, digest, len(weights))
        (folder / "README.md").write_text(text)
        write_checksums(folder)
    return distance


def command_of(settings: Settings) -> str:
    """The command that trains with these settings."""
    preset = default_preset(settings.method, "molecule")
    plain = dict(flatten(recipe(settings.method, preset=preset).to_dict()))
    changed = [f"{k}={toml_value(v)}" for k, v in flatten(settings.to_dict()) if k not in plain or plain[k] != v]
    if recipe(settings.method, preset=preset, assignments=changed) != settings:
        raise ModelError("the settings of the model are not those of any command")
    words = ["nmrgcl", "pretrain", DATASET, "--preset", preset, *(w for one in changed for w in ("--set", one))]
    return shlex.join([*words, "--seeds", "1", "--out", "runs/zinc"])


def _embedded(model: Model) -> np.ndarray:
    return np.concatenate([part.z for part in embed_smiles(model, MOLECULES, torch.device("cpu"), jobs=1)])


def _distance(exact: np.ndarray, rounded: np.ndarray) -> Distance:
    lengths = np.linalg.norm(exact, axis=1)
    cosines = (exact * rounded).sum(1) / (lengths * np.linalg.norm(rounded, axis=1))
    return Distance(float((np.linalg.norm(rounded - exact, axis=1) / lengths).max()), float(cosines.min()))


def _card(text: str, command: str, hardware: str, distance: Distance, digest: str, size: int) -> str:
    """The usual model card, extended by what users of a bundled model need to know."""
    facts, _, rest = text.partition("## Use")
    return f"""{facts}## Use

```
nmrgcl embed molecules.csv --out z.parquet
nmrgcl finetune data.csv --labels y
nmrgcl neighbours query.csv library.csv --model bundled
```

```python
from nmrgcl import MoleculeEmbedder

z = MoleculeEmbedder().transform(["CCO", "c1ccccc1"])
```

## How it was made

```
{command}
python benchmarks/bundle.py runs/zinc/seed-0
```

Trained on {hardware}. The pre-training sees no labels. Its recipe was the best of several on the validation parts of
BBBP, SIDER and ClinTox (`benchmarks/molecule_recipes.py`): labels of those parts guided it, but none of a test part.

## Data

{DATA}

## Weights

The encoder alone, in bfloat16: {size:,} bytes, SHA-256 `{digest}`.
They become float32 when loaded. Embeddings of {len(MOLECULES)} molecules differ from those by the float32 weights by at
most {distance.share:.2%} of their length (cosine at least {distance.cosine:.6f}).

## Limits

{LIMITS}

{rest[rest.index("## Cite") :]}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="model folder of a run")
    parser.add_argument("--on", required=True, metavar="HARDWARE", help="what it was trained on")
    parser.add_argument("--out", type=Path, default=FOLDER)
    arguments = parser.parse_args()
    try:
        distance = bundle(arguments.model, arguments.out, hardware=arguments.on)
    except UserError as error:
        raise SystemExit(f"bundle: {error}") from None
    size = (arguments.out / WEIGHTS).stat().st_size
    print(f"{size:,} bytes in {arguments.out}; off by {distance.share:.3%} at most, cosine {distance.cosine:.6f}")


if __name__ == "__main__":
    main()
