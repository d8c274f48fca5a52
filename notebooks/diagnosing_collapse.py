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
# # Diagnosing collapse: watch the rank, not the loss
#
# Embeddings collapse if they use few of their dimensions. The loss does not show it; the singular values do.
# Everything here is measured on MUTAG, which comes with the package.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

from nmrgcl import (
    GraphEmbedder,
    apply_features,
    build_method,
    choose_features,
    effective_rank,
    load,
    measure,
    pretrain,
    resolve,
    singular_spectrum,
)

mutag = load("MUTAG")
graphs = apply_features(mutag, choose_features(mutag))

# %% [markdown]
# ## Rank and loss over the epochs
#
# `pretrain` yields after each epoch. One training has the usual learning rate, the other one a hundred times as high.


# %%
def train(**assignments: float) -> list[tuple[float, float]]:
    """Loss and effective rank after each epoch."""
    settings = resolve("nmrgcl", preset="graphcl", assignments=assignments)
    method = build_method(settings, graphs.num_features)
    found = []
    for epoch in pretrain(method, graphs, settings.train, seed=0):
        with torch.no_grad():
            found.append((epoch.loss, effective_rank(method.embed(graphs))))
    return found


curves = {"lr = 0.01": train(epochs=40), "lr = 1": train(epochs=40, lr=1.0)}

# %%
figure, panels = plt.subplots(1, 2, figsize=(10, 3.2))
for name, curve in curves.items():
    for axes, values in zip(panels, zip(*curve, strict=True), strict=True):
        axes.plot(range(1, len(curve) + 1), values, label=name)
panels[0].set(xlabel="epoch", ylabel="loss")
panels[1].set(xlabel="epoch", ylabel="effective rank")
panels[1].legend()
plt.show()
for name, curve in curves.items():
    print(f"{name}: loss {curve[-1][0]:.2f}, effective rank {curve[-1][1]:.1f}")

# %% [markdown]
# ## The spectrum of four embeddings
#
# Untrained, trained without and with removal, and one that is collapsed on purpose: every column repeats the first
# one.


# %%
def embeddings(method: str = "nmrgcl", seed: int = 0, **settings: str) -> torch.Tensor:
    """Raw embeddings of MUTAG, one row per graph."""
    embedder = GraphEmbedder(method, preset="graphcl", settings=settings, random_state=seed, normalise="none")
    return torch.from_numpy(embedder.fit_transform("MUTAG"))


rows = {
    "untrained": embeddings("untrained"),
    "without removal": embeddings(removal="none"),
    "with removal": embeddings(),
}
rows["one axis"] = rows["with removal"][:, :1] @ torch.ones(1, 96)

# %%
figure, axes = plt.subplots(figsize=(7, 3.6))
for name, z in rows.items():
    spectrum = singular_spectrum(z).numpy()
    axes.plot(np.arange(1, len(spectrum) + 1), spectrum / spectrum[0], label=name)
axes.set(xlabel="direction", ylabel="singular value / largest", yscale="log", ylim=(1e-5, 1.5))
axes.legend()
plt.show()

# %% [markdown]
# ## The verdict
#
# It needs no labels. "dimensional" is no alarm by itself: the number to compare with is that of the untrained
# encoder.

# %%
for name, z in rows.items():
    print(f"{name:<16} effective rank {effective_rank(z):5.1f} of 96: {measure(z).verdict.kind}")

# %% [markdown]
# ## Is the difference beyond chance?
#
# One seed says nothing about removal. Five pairs with the same seeds say a little more: look at how far they spread.

# %%
differences = [
    effective_rank(embeddings(seed=seed)) - effective_rank(embeddings(seed=seed, removal="none")) for seed in range(5)
]
print("effective rank with removal minus without, seed by seed:", np.round(differences, 1))
