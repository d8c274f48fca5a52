"""Compare the measured statistics of a dataset with the published ones."""

from dataclasses import dataclass

from nmrgcl.data.catalog import CatalogEntry, count_edges
from nmrgcl.data.dataset import Dataset
from nmrgcl.errors import DataError


@dataclass(frozen=True)
class PublishedComparison:
    """The measured and published statistics of a dataset; edges are counted as in the publication."""

    name: str
    measured: dict[str, float]
    published: dict[str, float]
    counted: str
    note: str = ""

    @property
    def ok(self) -> bool:
        """True if every measured number agrees with the published one to two decimals."""
        return not self.differing

    @property
    def differing(self) -> list[str]:
        """The quantities whose measured number differs from the published one."""
        # Half of the last printed digit, and room for the rounding of binary fractions.
        return [key for key, value in self.published.items() if abs(self.measured[key] - value) > 0.005 + 1e-9]


def compare(dataset: Dataset, entry: CatalogEntry) -> PublishedComparison:
    """Measure the quantities for which the catalog has published numbers."""
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
    """Raise DataError unless the dataset has the published statistics."""
    comparison = compare(dataset, entry)
    if comparison.ok:
        return
    units = {"nodes": "nodes per graph", "edges": "edges per graph"}
    measured, published = comparison.measured, comparison.published
    wrong = ", ".join(
        f"{_shown(measured[key])} {units.get(key, key)} instead of {_shown(published[key])}"
        for key in comparison.differing
    )
    raise DataError(
        f"{dataset.source}: differs from the published {entry.name}: {wrong}; "
        "replace the file, or pass its path to use it as it is"
    )


def _shown(value: float) -> str:
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.2f}"
