"""A table of the paper as data: its rows, its columns, and the printed scores."""

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class PrintedFigure:
    """A printed mean with its standard deviation, if any, or an upper limit (``below``)."""

    mean: float | None = None
    std: float | None = None
    below: float | None = None


@dataclass(frozen=True)
class Published:
    """A score of the row in another paper, and its split."""

    dataset: str
    split: str
    figure: PrintedFigure
    source: str


@dataclass(frozen=True, eq=False)
class TableRow:
    """A row of a table.

    Attributes:
        name: the name in the paper.
        group: its heading.
        method: the method that computes it; if it does not exist here, only printed scores are shown.
        preset: its preset; "": the method's own or, if it has none, that of the table.
        protocol: its evaluation protocol; "": that of the table.
        seeds: the maximum number of seeds; 0: as many as the other rows.
        tuned: whether its settings were searched with labels. The "honest" line is then the nested estimate of
            ``nmrgcl tune``; the line "seen" is the score of the setting that the search chose for all folds.
        by_folds: whether it also has a line chosen by the evaluated folds; methods without epochs have none.
        pretrained_on: the dataset on which its encoder is pre-trained, with ``method``, ``preset`` and ``settings``,
            before it is evaluated on those of the table; "": it is trained on the dataset itself.
        settings: the settings that define the row.
        printed: the printed scores by dataset.
        published: the scores in other papers.
    """

    name: str
    group: str
    method: str = ""
    preset: str = ""
    protocol: str = ""
    seeds: int = 0
    tuned: bool = False
    by_folds: bool = True
    pretrained_on: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    printed: dict[str, PrintedFigure] = field(default_factory=dict)
    published: tuple[Published, ...] = ()

    @property
    def supervised(self) -> bool:
        """Whether its encoder is trained with labels."""
        return self.group == "supervised"

    @property
    def sees_labels(self) -> bool:
        """Whether labels affect its encoder or settings; such rows are neither ranked nor set in bold."""
        return self.supervised or self.tuned


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table.

    Attributes:
        source: the source of the printed scores.
        columns: the datasets, and the paper's names for them.
        rows: the rows in order.
        reference: the row that others are tested against.
        absent: datasets that are not available offline; they are computed only if named explicitly.
        splits: the splits of nodes.
        public: datasets that also have a public split.
        bold: a sentence that says what is set in bold.
    """

    source: str
    columns: dict[str, str]
    rows: tuple[TableRow, ...]
    reference: str
    absent: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    bold: str = "Bold: the best of a kind on a dataset among rows whose encoder and settings see no labels."

    def label(self, dataset: str) -> str:
        """The paper's name for a dataset, or its own name."""
        return self.columns.get(dataset, dataset)


@cache
def load_sheet(name: str) -> Sheet:
    """Load a table from the package by its name."""
    text = (resources.files("nmrgcl.reproduce") / "tables" / f"{name}.toml").read_text(encoding="utf-8")
    values: dict[str, Any] = tomllib.loads(text)
    rows = tuple(_row(row) for row in values.pop("rows"))
    lists: dict[str, Any] = {key: tuple(values.pop(key, ())) for key in ("absent", "splits", "public")}
    return Sheet(rows=rows, **values, **lists)


def figures_of(method: str) -> list[Published]:
    """The scores of a method in Tables 1 and 2 (without a split) and in other papers, except for supervised rows."""
    found = []
    for sheet in (load_sheet("table1"), load_sheet("table2")):
        for row in sheet.rows:
            if row.method == method and not row.supervised:
                found += [Published(dataset, "", figure, sheet.source) for dataset, figure in row.printed.items()]
                found += row.published
    return found


def _row(values: dict[str, Any]) -> TableRow:
    printed = {dataset: _figure(value) for dataset, value in values.pop("printed", {}).items()}
    published = tuple(
        Published(one["dataset"], one["split"], PrintedFigure(one["mean"], one.get("std")), one["source"])
        for one in values.pop("published", ())
    )
    return TableRow(**values, printed=printed, published=published)


def _figure(value: Any) -> PrintedFigure:
    return PrintedFigure(below=value["below"]) if isinstance(value, dict) else PrintedFigure(*value)
