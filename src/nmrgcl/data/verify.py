"""What was measured beside what is published."""

from dataclasses import dataclass

from nmrgcl.data.catalog import CatalogEntry, count_edges
from nmrgcl.data.dataset import Dataset
from nmrgcl.errors import DataError


@dataclass(frozen=True)
class PublishedComparison:
    """One dataset: the same quantities twice; ``edges`` is counted as the publication does."""

    name: str
    measured: dict[str, float]
    published: dict[str, float]
    counted: str
    note: str = ""

    @property
    def ok(self) -> bool:
        """Whether every published number is the measured one, averages to the two decimals they are printed with."""
        return all(abs(self.measured[key] - value) <= 0.005 + 1e-9 for key, value in self.published.items())


def compare(dataset: Dataset, entry: CatalogEntry) -> PublishedComparison:
    """Measure what the catalog has published numbers for."""
    statistics = dataset.statistics
    published: dict[str, float] = {
        "graphs": entry.graphs,
        "nodes": entry.nodes,
        "edges": entry.edges,
        "classes": entry.classes,
    }
    measured = {
        "graphs": statistics.graphs,
        "nodes": statistics.avg_nodes,
        "edges": count_edges(dataset, entry.counted),
        "classes": statistics.classes,
    }
    if entry.features is not None:
        attributes = dataset.node_attributes
        published["features"] = entry.features
        measured["features"] = 0 if attributes is None else attributes.shape[1]
    if entry.tasks is not None:
        published["tasks"] = entry.tasks
        measured["tasks"] = 0 if dataset.molecules is None else len(dataset.molecules.tasks)
    return PublishedComparison(entry.name, measured, published, entry.counted, entry.note)


def require(dataset: Dataset, entry: CatalogEntry) -> None:
    """Raise unless the dataset shows the published numbers."""
    comparison = compare(dataset, entry)
    if comparison.ok:
        return
    units = {"nodes": "nodes a graph", "edges": "edges a graph"}
    wrong = [
        f"{_shown(comparison.measured[key])} {units.get(key, key)} instead of {_shown(value)}"
        for key, value in comparison.published.items()
        if abs(comparison.measured[key] - value) > 0.005 + 1e-9
    ]
    raise DataError(
        f"{dataset.source}: not {entry.name} as published: {', '.join(wrong)}; "
        "replace the file, or pass its path to use it as it is"
    )


def _shown(value: float) -> str:
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.2f}"
