"""A table of the paper as data: its rows, its columns, and what is printed in them."""

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class PrintedFigure:
    """A printed mean with its standard deviation, where one is printed, or a limit that it is ``below``."""

    mean: float | None = None
    std: float | None = None
    below: float | None = None


@dataclass(frozen=True)
class Published:
    """What another paper prints for the row, and under which split."""

    dataset: str
    split: str
    figure: PrintedFigure
    source: str


@dataclass(frozen=True, eq=False)
class TableRow:
    """A row of a table.

    Attributes:
        name: as the paper has it.
        group: the heading it stands under.
        method: the file that computes it; without that file it shows what is printed.
        preset: its recipe; "": the method's own or, where it has none, the table's.
        protocol: how it is judged; "": as the table says.
        seeds: at most so many; 0: as many as others.
        tuned: its settings were searched with labels. Its "honest" line is the nested estimate of ``nmrgcl tune``;
            what the setting that the search chose for all folds scores on them is a line of its own, "seen".
        pretrained_on: the dataset on which its encoder is pre-trained, by ``method``, ``preset`` and ``settings``,
            before it is judged on those of the table; "": it is trained where it is judged.
        settings: that make the row what it is.
        printed: by dataset.
        published: in other papers.
    """

    name: str
    group: str
    method: str = ""
    preset: str = ""
    protocol: str = ""
    seeds: int = 0
    tuned: bool = False
    pretrained_on: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    printed: dict[str, PrintedFigure] = field(default_factory=dict)
    published: tuple[Published, ...] = ()

    @property
    def supervised(self) -> bool:
        """Whether its encoder sees labels."""
        return self.group == "supervised"

    @property
    def sees_labels(self) -> bool:
        """Whether its encoder or its settings do; such rows are not ranked with the others, nor set in bold."""
        return self.supervised or self.tuned


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table.

    Attributes:
        source: of the printed figures.
        columns: datasets with the paper's names for them.
        rows: in its order.
        reference: the row that others are tested against.
        absent: datasets that are not available offline; computed only where they are asked for by name.
        splits: of nodes.
        public: datasets that also have a public split.
        bold: what is set in bold.
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
        """The paper's name for it, or its own."""
        return self.columns.get(dataset, dataset)


@cache
def load_sheet(name: str) -> Sheet:
    """The table of that name inside the package."""
    text = (resources.files("nmrgcl.reproduce") / "tables" / f"{name}.toml").read_text(encoding="utf-8")
    values: dict[str, Any] = tomllib.loads(text)
    rows = tuple(_row(row) for row in values.pop("rows"))
    lists: dict[str, Any] = {key: tuple(values.pop(key, ())) for key in ("absent", "splits", "public")}
    return Sheet(rows=rows, **values, **lists)


def figures_of(method: str) -> list[Published]:
    """What Tables 1 and 2 print for a method, without a split, and what other papers do; not of its supervised rows."""
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
