"""The catalog of named datasets: published statistics, origin, licence, and how edges were counted."""

import os
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from nmrgcl.data.tu_names import TU_NAMES
from nmrgcl.errors import DataError, nearest

if TYPE_CHECKING:  # shell completion imports this module and must not load torch
    from nmrgcl.data.dataset import Dataset, Level

Counting = Literal[
    "undirected", "undirected, self-loops once", "directed", "directed, self-loops once", "stored entries, twice"
]
"""How a published number of edges was counted; "stored entries" are the rows of the file, including repeats."""

_TU_LICENCE = "none stated by the TU collection; used for research"
_MORRIS = "Morris et al., TUDataset, ICML workshop GRL+ 2020"
_YANARDAG = f"Yanardag & Vishwanathan, Deep graph kernels, KDD 2015; {_MORRIS}"
_DOBSON = "Dobson & Doig, Distinguishing enzyme structures from non-enzymes without alignments, JMB 2003"
_YANG = "Yang et al., Revisiting semi-supervised learning with graph embeddings, ICML 2016"
_SHCHUR = "Shchur et al., Pitfalls of graph neural network evaluation, R2L workshop 2018"
_WU = "Wu et al., MoleculeNet: a benchmark for molecular machine learning, Chem. Sci. 9, 2018"
_ZINC_LICENCE = "ZINC: free to use, no redistribution of major portions"
_PLANETOID_PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")


@dataclass(frozen=True)
class CatalogEntry:
    """A dataset that loads by name, with its published statistics.

    Attributes:
        graphs: number of graphs; ``nodes`` and ``edges`` are averages per graph.
        counted: how the published number of edges was counted.
        features: published number of node features; None if none was published.
        tasks: number of labels per molecule, None if the graphs are not molecules. A single binary task gives classes.
        stem: name of its files, if it differs from ``name``.
        sha256: digests of files known to contain it, by file name; other archives may contain it too.
        parts: names of the datasets it is composed of, in order.
        note: a remark on the published numbers.
    """

    name: str
    graphs: int
    nodes: float
    edges: float
    classes: int
    aliases: tuple[str, ...] = ()
    counted: Counting = "undirected"
    features: int | None = None
    tasks: int | None = None
    format: Literal["tu", "planetoid", "npz", "moleculenet", "zinc"] = "tu"
    stem: str = ""
    licence: str = _TU_LICENCE
    citation: str = _MORRIS
    sha256: dict[str, str] = field(default_factory=dict)
    parts: tuple[str, ...] = ()
    note: str = ""

    @property
    def level(self) -> "Level":
        """Whether graphs are classified, or the nodes of one graph."""
        return "node" if self.format in ("planetoid", "npz") else "graph"

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of the files to download, relative to the folder of the format."""
        if self.format == "planetoid":
            return tuple(f"{self.name}/raw/ind.{self.name.lower()}.{part}" for part in _PLANETOID_PARTS)
        if self.tasks is not None:
            return tuple(self.sha256)
        return (f"{self.stem or self.name}.{'zip' if self.format == 'tu' else 'npz'}",)


CATALOG = (
    CatalogEntry(
        "MUTAG", 188, 17.93, 19.79, 2,
        citation=f"Debnath et al., J. Med. Chem. 34, 1991; {_MORRIS}",
        sha256={"MUTAG.zip": "5b13b1b4326291871e005f21f3b0d03e3d946157b79d0d1b18ac3ad4fce514d9"},
    ),
    CatalogEntry(
        "PTC_MR", 344, 14.29, 14.69, 2, ("PTC",),
        citation=f"Helma et al., The Predictive Toxicology Challenge, Bioinformatics 2001; {_MORRIS}",
        sha256={"PTC_MR.zip": "974a074dc8b116fdf2583e4754becb8b759fa70c0ec83b9d998a77c04e3e06f4"},
    ),
    CatalogEntry(
        "PROTEINS", 1113, 39.06, 72.82, 2,
        citation=f"Borgwardt et al., Bioinformatics 21, 2005; {_DOBSON}",
        sha256={"PROTEINS.zip": "31d6163f4be0656c4448634bb8bd5adf3dc5f6dd6abe41ad7c12c9793d43e21f"},
    ),
    CatalogEntry(
        "NCI1", 4110, 29.87, 32.30, 2,
        citation=f"Wale et al., Knowl. Inf. Syst. 14, 2008; {_MORRIS}",
        sha256={"NCI1.zip": "4058fa85bb04f4e2a48e51d1b12961006b053e85df31da19597abd18c506e9bc"},
    ),
    CatalogEntry(
        "DD", 1178, 284.32, 715.66, 2, ("D&D",),
        citation=f"{_DOBSON}; {_MORRIS}",
        sha256={"DD.tar.xz": "ef909e3a84234c6a4653478a4ad52daa660709ca964b66dfe7ed826ebe70b049"},
    ),
    CatalogEntry(
        "COLLAB", 5000, 74.49, 2457.78, 3,
        counted="undirected, self-loops once", citation=_YANARDAG,
        sha256={"COLLAB.tar.xz": "1a5e6b034fcac015db7d0534e0b8cb55b878375827f7447308e89f4c58b134e6"},
        note="arXiv 2203.12821 prints 74.79 nodes, which no copy has; the graphs have 2457.22 edges without self-loops",
    ),
    CatalogEntry(
        "IMDB-BINARY", 1000, 19.77, 96.53, 2, ("IMDB-B",), citation=_YANARDAG,
        sha256={"IMDB-BINARY.zip": "c45f4148bbf2fc4f5f66b3ea16fa207e96f3cc4c04e726fb0ea6adc0fc4e83a9"},
        note="the files list every direction twice",
    ),
    CatalogEntry(
        "IMDB-MULTI", 1500, 13.00, 65.94, 3, ("IMDB-M",), citation=_YANARDAG,
        sha256={"IMDB-MULTI.zip": "28530ab4169605e68b148467b1b502973c2b0eb056c1efa3690790c8eb3f217d"},
        note="the files list every direction twice",
    ),
    CatalogEntry(
        "REDDIT-BINARY", 2000, 429.63, 497.75, 2, ("RDT-B", "REDDIT-B"), citation=_YANARDAG,
        sha256={"REDDIT-BINARY.tar.xz": "9afff96cebbe17e6aa46cfa1c78cfafa97fe198817a337718156af301bfbd07a"},
        note="the files list every direction twice",
    ),
    CatalogEntry(
        "REDDIT-MULTI-5K", 4999, 508.52, 594.87, 5,
        ("RDT-M5K", "RDT-M", "REDDIT-M5K", "REDDIT-MULTI", "MULTI-5K"), citation=_YANARDAG,
    ),
    CatalogEntry(
        "PubMed", 1, 19717, 88651, 3,
        counted="directed, self-loops once", features=500, format="planetoid", licence="MIT (planetoid)",
        citation=f"Namata et al., MLG workshop 2012; {_YANG}",
        sha256={
            "PubMed.tar.xz": "697f12dab4733b51e41fa19c91b9d92116b43605ae53ce6d9a618bfad2fdf2b6",
            "ind.pubmed.allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
            "ind.pubmed.ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
            "ind.pubmed.graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
            "ind.pubmed.test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
            "ind.pubmed.tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
            "ind.pubmed.ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
            "ind.pubmed.x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
            "ind.pubmed.y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
        },
    ),
    CatalogEntry(
        "Cora", 1, 2708, 10556, 7,
        counted="directed", features=1433, format="planetoid", licence="MIT (planetoid)",
        citation=f"Sen et al., Collective classification in network data, AI Magazine 2008; {_YANG}",
    ),
    CatalogEntry(
        "CiteSeer", 1, 3327, 9104, 6,
        counted="directed", features=3703, format="planetoid", licence="MIT (planetoid)",
        citation=f"Sen et al., Collective classification in network data, AI Magazine 2008; {_YANG}",
        note="15 isolated nodes of the test range are in no file; they have no features and no label",
    ),
    CatalogEntry(
        "Coauthor-CS", 1, 18333, 327576, 15, ("CS", "ms_academic_cs"),
        counted="stored entries, twice", features=6805, format="npz", stem="ms_academic_cs",
        licence="MIT (gnn-benchmark)", citation=_SHCHUR,
        sha256={"ms_academic_cs.npz": "48847b887513f48ab9eebc1df5502fd69c538879a60337899c715c8f8f0cc7a8"},
    ),
    CatalogEntry(
        "Coauthor-Physics", 1, 34493, 495924, 5, ("Physics", "ms_academic_phy"),
        counted="directed", features=8415, format="npz", stem="ms_academic_phy",
        licence="MIT (gnn-benchmark)", citation=_SHCHUR,
    ),
    CatalogEntry(
        "Amazon-Photo", 1, 7650, 287326, 8, ("Photo", "amazon_electronics_photo"),
        counted="stored entries, twice", features=745, format="npz", stem="amazon_electronics_photo",
        licence="MIT (gnn-benchmark)", citation=f"McAuley et al., SIGIR 2015; {_SHCHUR}",
        sha256={"amazon_electronics_photo.npz": "bbd79ecd5203127c0e89e63c5de768a543a72d446165d213d3b044aea05af60b"},
    ),
    CatalogEntry(
        "Amazon-Computers", 1, 13752, 574418, 10, ("Computers", "Amazon-Computer", "amazon_electronics_computers"),
        counted="stored entries, twice", features=767, format="npz", stem="amazon_electronics_computers",
        licence="MIT (gnn-benchmark)", citation=f"McAuley et al., SIGIR 2015; {_SHCHUR}",
        sha256={"amazon_electronics_computers.npz": "31f68de2eef9eb3ba00190e48b05e98bfd88870183a69cd746b1211b68637d3e"},
    ),
    CatalogEntry(
        "BBBP", 2039, 24.06, 25.95, 2,
        tasks=1, format="moleculenet", licence="MIT (DeepChem)",
        citation=f"Martins et al., A Bayesian approach to in silico blood-brain barrier penetration, 2012; {_WU}",
        sha256={"BBBP.csv": "6aecd84110e8c0549bc4e2e486c52267d4e775178fca8999f5465029e31e75bb"},
        note="11 of 2050 rows are not valid SMILES",
    ),
    CatalogEntry(
        "ToxCast", 8597, 18.77, 19.25, 0,
        tasks=617, format="moleculenet", stem="toxcast_data", licence="MIT (DeepChem)",
        citation=f"Richard et al., ToxCast chemical landscape, Chem. Res. Toxicol. 29, 2016; {_WU}",
        sha256={"toxcast_data.csv.gz": "a2d2eacf26f769a1a3df052fb4bb921ebb543da97ec23dba77a7828ef28d8249"},
        note="18 of 8615 rows are not valid SMILES",
    ),
    CatalogEntry(
        "SIDER", 1427, 33.64, 35.36, 0,
        tasks=27, format="moleculenet", stem="sider", licence="MIT (DeepChem)",
        citation=f"Kuhn et al., The SIDER database of drugs and side effects, Nucleic Acids Res. 44, 2016; {_WU}",
        sha256={"sider.csv.gz": "ebf65c641eaaaf1702e39faaadde886bfc8c5245fa34c4a55087327dabddead7"},
    ),
    CatalogEntry(
        "ClinTox", 1479, 26.25, 27.99, 0,
        tasks=2, format="moleculenet", stem="clintox", licence="MIT (DeepChem)",
        citation=f"Gayvert et al., A data-driven approach to predicting clinical trial outcomes, 2016; {_WU}",
        sha256={"clintox.csv.gz": "f354756b21ce34d40a2234a162768b62159eff6db16b70ebe08c3c8a665cff0e"},
        note="of 1484 rows 4 are not valid SMILES, and one has an atom that is no element, which others keep (1480)",
    ),
    CatalogEntry(
        "ZINC250k", 249455, 23.15, 24.90, 0,
        tasks=0, format="zinc", stem="zinc250k", licence=_ZINC_LICENCE,
        citation="Irwin et al., ZINC: a free tool to discover chemistry for biology, JCIM 52, 2012",
        sha256={"zinc250k.smi.xz": "dfadc61b74b71806036ce6970cde583a8b624e3b8025bae77c9cccae3e2bc42c"},
    ),
    CatalogEntry(
        "MOSES", 1936962, 21.67, 23.25, 0, ("ZINC-clean-leads",),
        tasks=0, format="zinc", stem="moses_zinc_clean_leads", licence=f"MIT (molsets); {_ZINC_LICENCE}",
        citation="Polykovskiy et al., Molecular Sets (MOSES), Front. Pharmacol. 11, 2020",
        sha256={"moses_zinc_clean_leads.smi.xz": "115e144a57bec79523b48045ece892854bec6156b9256328571bbbded4aebd31"},
        note="training, test and scaffold test sets in this order; not the two million of Hu et al. (26.6 atoms)",
    ),
    CatalogEntry(
        "ZINC-2.2M", 2186417, 21.84, 23.44, 0,
        tasks=0, format="zinc", licence=f"MIT (molsets); {_ZINC_LICENCE}", parts=("ZINC250k", "MOSES"),
        citation="Irwin et al., JCIM 52, 2012; Polykovskiy et al., Front. Pharmacol. 11, 2020",
        note="ZINC250k, then MOSES; 13,903 molecules are in both (same SMILES) and occur twice",
    ),
)  # fmt: skip


def find(name: str) -> CatalogEntry | None:
    """Return the entry with that name or alias; case, hyphens and underscores are ignored."""
    return _BY_NAME.get(_plain(name))


def find_tu(name: str) -> str | None:
    """Return how the TU collection spells the name of a dataset without an entry; ``tu:NAME`` accepts any name."""
    return name[3:] if name.lower().startswith("tu:") else _TU_BY_NAME.get(_plain(name))


def count_edges(dataset: "Dataset", counted: Counting) -> float:
    """Return the mean number of edges per graph, counted as in a publication."""
    graphs, _, directed = dataset.counts
    total = {
        "undirected": directed / 2,
        "undirected, self-loops once": directed / 2 + dataset.self_loops,
        "directed": directed,
        "directed, self-loops once": directed + dataset.self_loops,
        "stored entries, twice": 2 * dataset.listed_edges,
    }[counted]
    return total / max(graphs, 1)


def known_names() -> list[str]:
    """Return every dataset name that can be loaded."""
    return [*(entry.name for entry in CATALOG), *TU_NAMES, "motifs"]


def require_name(name_or_path: str) -> None:
    """Refuse what is neither the name of a dataset nor an existing file or folder."""
    named = find(name_or_path) or find_tu(name_or_path) or name_or_path.lower() == "motifs"
    if named or (name_or_path and os.path.exists(os.path.expanduser(name_or_path))):
        return
    if "/" in name_or_path or os.sep in name_or_path or PurePath(name_or_path).suffix:
        raise DataError(f"{name_or_path}: no such file or folder")
    raise DataError(f"unknown dataset {name_or_path!r}; {nearest(name_or_path, known_names())}")


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


_BY_NAME = {_plain(name): entry for entry in CATALOG for name in (entry.name, *entry.aliases)}
_TU_BY_NAME = {_plain(name): name for name in TU_NAMES}
