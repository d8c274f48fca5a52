"""Find similar molecules by the encoder that comes with the package: no training, no network.

python similar_molecules.py

RDKit reads the SMILES.
"""

from sklearn.neighbors import NearestNeighbors

from nmrgcl import MoleculeEmbedder

LIBRARY = {
    "aspirin": "CC(=O)Oc1ccccc1C(=O)O",
    "ibuprofen": "CC(C)Cc1ccc(cc1)C(C)C(=O)O",
    "naproxen": "COc1ccc2cc(ccc2c1)C(C)C(=O)O",
    "diazepam": "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc12",
    "oxazepam": "OC1N=C(c2ccccc2)c2cc(Cl)ccc2NC1=O",
    "caffeine": "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
    "testosterone": "CC12CCC3C(CCC4=CC(=O)CCC34C)C1CCC2O",
    "progesterone": "CC(=O)C1CCC2C3CCC4=CC(=O)CCC4(C)C3CCC12C",
    "glucose": "OCC1OC(O)C(O)C(O)C1O",
}
QUERIES = {
    "theophylline": "Cn1c(=O)c2[nH]cnc2n(C)c1=O",
    "ketoprofen": "CC(C(=O)O)c1cccc(C(=O)c2ccccc2)c1",
    "estradiol": "CC12CCC3c4ccc(O)cc4CCC3C1CCC2O",
    "nordazepam": "O=C1CN=C(c2ccccc2)c2cc(Cl)ccc2N1",
}


def main() -> None:
    """Print the two molecules of the library that are nearest to each query."""
    embedder = MoleculeEmbedder(model="bundled", normalise="squash")
    names = [*LIBRARY]
    index = NearestNeighbors(n_neighbors=2, metric="cosine").fit(
        embedder.transform([*LIBRARY.values()])
    )
    distances, nearest = index.kneighbors(embedder.transform([*QUERIES.values()]))
    for query, rows, far in zip(QUERIES, nearest, distances, strict=True):
        found = ", ".join(f"{names[row]} ({1 - d:.2f})" for row, d in zip(rows, far, strict=True))
        print(f"{query}: {found}")


if __name__ == "__main__":
    main()
