# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Molecules: similarity by the bundled encoder, beside fingerprints
#
# The package comes with an encoder that was pre-trained on 2.2 million molecules. Here it embeds common drugs of six
# classes; classes are used to judge only. RDKit reads the SMILES.

# %%
import matplotlib.pyplot as plt
import numpy as np
from rdkit import Chem
from rdkit.Chem import rdFingerprintGenerator
from rdkit.DataStructs import BulkTanimotoSimilarity

from nmrgcl import MoleculeEmbedder

# %%
drugs = {
    "benzodiazepine": {
        "diazepam": "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc12",
        "oxazepam": "OC1N=C(c2ccccc2)c2cc(Cl)ccc2NC1=O",
        "nordazepam": "O=C1CN=C(c2ccccc2)c2cc(Cl)ccc2N1",
        "lorazepam": "OC1N=C(c2ccccc2Cl)c2cc(Cl)ccc2NC1=O",
    },
    "anti-inflammatory": {
        "ibuprofen": "CC(C)Cc1ccc(cc1)C(C)C(=O)O",
        "naproxen": "COc1ccc2cc(ccc2c1)C(C)C(=O)O",
        "ketoprofen": "CC(C(=O)O)c1cccc(C(=O)c2ccccc2)c1",
        "flurbiprofen": "CC(C(=O)O)c1ccc(-c2ccccc2)c(F)c1",
    },
    "steroid": {
        "testosterone": "CC12CCC3C(CCC4=CC(=O)CCC34C)C1CCC2O",
        "progesterone": "CC(=O)C1CCC2C3CCC4=CC(=O)CCC4(C)C3CCC12C",
        "estradiol": "CC12CCC3c4ccc(O)cc4CCC3C1CCC2O",
        "cortisone": "CC12CCC(=O)C=C1CCC1C2C(=O)CC2(C)C1CCC2(O)C(=O)CO",
    },
    "xanthine": {
        "caffeine": "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
        "theophylline": "Cn1c(=O)c2[nH]cnc2n(C)c1=O",
        "theobromine": "Cn1cnc2c1c(=O)[nH]c(=O)n2C",
        "pentoxifylline": "CC(=O)CCCCn1c(=O)c2c(ncn2C)n(C)c1=O",
    },
    "beta blocker": {
        "propranolol": "CC(C)NCC(O)COc1cccc2ccccc12",
        "atenolol": "CC(C)NCC(O)COc1ccc(CC(N)=O)cc1",
        "metoprolol": "COCCc1ccc(OCC(O)CNC(C)C)cc1",
        "pindolol": "CC(C)NCC(O)COc1cccc2[nH]ccc12",
    },
    "local anaesthetic": {
        "lidocaine": "CCN(CC)CC(=O)Nc1c(C)cccc1C",
        "procaine": "CCN(CC)CCOC(=O)c1ccc(N)cc1",
        "benzocaine": "CCOC(=O)c1ccc(N)cc1",
        "tetracaine": "CCCCNc1ccc(cc1)C(=O)OCCN(C)C",
    },
}
names = [name for members in drugs.values() for name in members]
smiles = [one for members in drugs.values() for one in members.values()]
classes = np.repeat([*drugs], 4)

# %% [markdown]
# ## Embed
#
# No training takes place: the weights are in the package, and their checksums are verified.

# %%
z = MoleculeEmbedder(model="bundled", normalise="squash").transform(smiles)
unit = z / np.linalg.norm(z, axis=1, keepdims=True)
by_embedding = unit @ unit.T
print(z.shape)

# %% [markdown]
# ## The other similarity: fingerprints
#
# ECFP4 fingerprints and their Tanimoto similarity take no training at all.

# %%
generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)
prints = [generator.GetFingerprint(Chem.MolFromSmiles(one)) for one in smiles]
by_fingerprint = np.array([BulkTanimotoSimilarity(one, prints) for one in prints])

# %%
figure, panels = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for axes, (title, similarity) in zip(
    panels, {"embeddings": by_embedding, "ECFP4": by_fingerprint}.items(), strict=True
):
    axes.imshow(similarity, vmin=0, vmax=1, cmap="viridis")
    axes.set_title(title)
    axes.set_yticks(range(len(names)), names, fontsize=6)
    axes.set_xticks([])
plt.show()

# %% [markdown]
# ## Which one finds the class?
#
# The nearest other molecule of each one.

# %%
for title, similarity in {"embeddings": by_embedding, "ECFP4": by_fingerprint}.items():
    others = similarity - 2 * np.eye(len(names))
    nearest = others.argmax(1)
    print(f"{title}: {(classes[nearest] == classes).sum()} of {len(names)} nearest neighbours are of the same class")
    for row in np.flatnonzero(classes[nearest] != classes):
        print(f"  {names[row]} ({classes[row]}) is nearest to {names[nearest[row]]} ({classes[nearest[row]]})")

# %% [markdown]
# Twenty-four molecules prove nothing; they show how to ask. On real tasks fingerprints are the baseline to beat, and
# `nmrgcl finetune FILE --labels COLUMN` prints it beside the fine-tuned encoder.
