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
# # Own graphs: embed, look, compare, search
#
# The graphs are NetworkX graphs of four families, without node features or labels. Anything that NetworkX, igraph,
# PyTorch Geometric or a file holds can take their place.

# %%
import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from nmrgcl import GraphEmbedder

# %%
families = {
    "tree": lambda n: nx.random_labeled_tree(n, seed=n),
    "random": lambda n: nx.gnm_random_graph(n, 2 * n, seed=n),
    "scale-free": lambda n: nx.barabasi_albert_graph(n, 2, seed=n),
    "small-world": lambda n: nx.watts_strogatz_graph(n, 4, 0.1, seed=n),
}
graphs = [make(n) for n in range(15, 55) for make in families.values()]
family = np.array([*families] * 40)
print(len(graphs), "graphs of", min(map(len, graphs)), "to", max(map(len, graphs)), "nodes")

# %% [markdown]
# ## Train
#
# `fit` sees graphs only. Nodes without features get their degrees. The recipe `graphcl` is quick; without `preset` a
# larger encoder is trained.

# %%
embedder = GraphEmbedder(preset="graphcl", random_state=0).fit(graphs)
z = embedder.transform(graphs)
print(z.shape)

# %%
figure, axes = plt.subplots(figsize=(6, 3))
axes.plot([epoch.number for epoch in embedder.history_], [epoch.loss for epoch in embedder.history_])
axes.set(xlabel="epoch", ylabel="loss")
plt.show()

# %% [markdown]
# ## Look
#
# Two principal components of the embeddings. Families are mostly told apart, and larger graphs lie further out.

# %%
figure, axes = plt.subplots(figsize=(6, 4))
points = PCA(2).fit_transform(z)
for name in families:
    axes.scatter(*points[family == name].T, label=name, s=14)
axes.legend()
plt.show()

# %% [markdown]
# ## Compare with the untrained encoder
#
# An encoder with random weights is a strong baseline. Families are used here for the first time, to judge.

# %%
judge = KNeighborsClassifier(3)
for method in ("untrained", "nmrgcl"):
    rows = GraphEmbedder(method, preset="graphcl", random_state=0).fit_transform(graphs)
    scores = cross_val_score(judge, rows, family, cv=5)
    print(f"{method:<10} three nearest neighbours: {100 * scores.mean():.0f} ± {100 * scores.std():.0f} % right")

# %% [markdown]
# ## Keep the model, embed new graphs
#
# The folder holds settings, weights and checksums. A loaded model embeds graphs of sizes that it has not seen.

# %%
embedder.save("own-graphs-model")
again = GraphEmbedder.load("own-graphs-model")
new = [make(80) for make in families.values()]
for name, row in zip(families, again.transform(new), strict=True):
    nearest = np.linalg.norm(z - row, axis=1).argsort()[:3]
    print(f"a {name} graph of 80 nodes is nearest to: {', '.join(family[nearest])}")
