"""A point of the map as a drawing: a molecule, a graph, or a node among its neighbours."""

import numpy as np
from markupsafe import Markup

from nmrgcl.data.dataset import Dataset
from nmrgcl.report.drawing import cut_graph, layout, rank_labels

SIZE = 220.0
"""Units of the square that a drawing fills."""
AROUND = 40
"""Neighbours of a node that are drawn."""
COLOURS = 6
"""The most frequent labels have a colour each, in page.css; the rest is ink."""


def draw(dataset: Dataset, row: int, level: str) -> str:
    """An ``<svg>`` element; of molecules by RDKit, if it is there."""
    if level == "node":
        return draw_node(dataset, row)
    if dataset.molecules is not None and (svg := draw_molecule(str(dataset.molecules.smiles[row]))):
        return svg
    nodes, edges = cut_graph(dataset, row)
    return _svg(layout(edges, len(nodes)), edges, rank_labels(dataset, nodes, COLOURS))


def draw_molecule(smiles: str) -> str | None:
    """The picture that chemists know; None without RDKit, or for what RDKit does not read."""
    try:
        from rdkit import Chem, RDLogger
        from rdkit.Chem.Draw import rdMolDraw2D
    except ImportError:
        return None
    RDLogger.DisableLog("rdApp.*")  # type: ignore[attr-defined]
    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None:
        return None
    picture = rdMolDraw2D.MolDraw2DSVG(int(SIZE), int(SIZE))
    picture.DrawMolecule(molecule)
    picture.FinishDrawing()
    text = str(picture.GetDrawingText())
    return text[text.index("<svg") :]


def draw_node(dataset: Dataset, node: int) -> str:
    """A node, those that point at it, and the edges among them."""
    graphs = dataset.graphs
    low, high = (int(graphs.row_ptr[node + i]) for i in (0, 1))
    around = graphs.edge_index[0, low:high].unique().numpy()
    kept = np.unique(np.append(around[around != node][:AROUND], node))
    pairs = []
    for place, one in enumerate(kept):
        low, high = (int(graphs.row_ptr[one + i]) for i in (0, 1))
        sources = graphs.edge_index[0, low:high].numpy()
        found = np.searchsorted(kept, sources[np.isin(sources, kept)])
        # Each undirected edge once.
        pairs += [(other, place) for other in found.tolist() if other < place]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return _svg(
        layout(edges, len(kept)), edges, rank_labels(dataset, kept, COLOURS), marked=int(np.searchsorted(kept, node))
    )


def _svg(places: np.ndarray, edges: np.ndarray, kinds: list[int], marked: int = -1) -> str:
    spread = np.ptp(places, axis=0).max(initial=0) or 1.0
    middle = (places.max(0) + places.min(0)) / 2 if len(places) else 0.0
    at = ((places - middle) / spread * (SIZE - 24) + SIZE / 2).round(1)
    lines = Markup("").join(
        Markup('<line x1="{}" y1="{}" x2="{}" y2="{}"/>').format(*at[one], *at[two]) for one, two in edges.T
    )
    size = 7 if len(places) <= 30 else 4
    marks = Markup("").join(
        Markup('<circle cx="{}" cy="{}" r="{}" class="kind{}{}"/>').format(
            *place, size, kind, " marked" if number == marked else ""
        )
        for number, (place, kind) in enumerate(zip(at, kinds, strict=True))
    )
    head = Markup('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {0:.0f}" class="graph">').format(SIZE)
    return str(head + Markup("<g>{}</g><g>{}</g></svg>").format(lines, marks))
