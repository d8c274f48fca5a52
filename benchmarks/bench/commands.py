"""The commands of ``nmrgcl bench``."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmrgcl.cli.options import AsJson, Device

if TYPE_CHECKING:
    import torch

    from bench.table import Row

app = typer.Typer(
    help="Measure costs on this machine and those of peers in the same process; ratio is peer / value.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
Names = Annotated[
    list[str] | None, typer.Option("--data", metavar="NAME", help="Dataset; may be repeated.", show_default=False)
]
Repeats = Annotated[int, typer.Option(min=1, help="Number of measurements; the median is shown.")]


@app.command()
def step(data: Names = None, device: Device = "auto", repeats: Repeats = 7, as_json: AsJson = False) -> None:
    """Measure a pre-training epoch, compared with its floor and with PyG.

    Examples:

      nmrgcl bench step --data NCI1 --data MUTAG
    """
    from bench.step import step_rows

    _measure(lambda where: step_rows(data or (), device=where, repeats=repeats), device, as_json)
    _note_missing_pyg()


@app.command()
def views(data: Names = None, device: Device = "auto", repeats: Repeats = 7, as_json: AsJson = False) -> None:
    """Measure each view on a batch of 128 graphs, compared with its counterpart in PyG.

    Examples:

      nmrgcl bench views --data PROTEINS
    """
    from bench.views import view_rows

    _measure(lambda where: view_rows(data or (), device=where, repeats=repeats), device, as_json)
    _note_missing_pyg()


@app.command()
def loss(
    pairs: Annotated[
        list[int] | None,
        typer.Option(min=2, help="Pairs N; may be repeated.", show_default="some that fit the device"),
    ] = None,
    units: Annotated[int, typer.Option(min=1, help="Width D of the embeddings.")] = 128,
    device: Device = "auto",
    repeats: Repeats = 5,
    as_json: AsJson = False,
) -> None:
    """Measure time and memory of InfoNCE with its gradient, compared with the plain matrix form.

    Examples:

      nmrgcl bench loss --pairs 1024 --pairs 4096
    """
    from bench.loss import loss_rows

    _measure(lambda where: loss_rows(pairs or (), units=units, device=where, repeats=repeats), device, as_json)


@app.command()
def store(
    graphs: Annotated[int, typer.Option(min=1, help="Graphs in the store.")] = 200_000,
    folder: Annotated[
        Path | None, typer.Option(help="Where to write it.", show_default="a temporary folder", file_okay=False)
    ] = None,
    repeats: Repeats = 7,
    as_json: AsJson = False,
) -> None:
    """Measure opening a store of molecule-sized graphs and gathering batches, compared with PyG's loader.

    Examples:

      nmrgcl bench store --graphs 2000000
    """
    from bench.store import store_rows

    _measure(lambda where: store_rows(graphs, repeats=repeats, folder=folder), "cpu", as_json)
    _note_missing_pyg()


@app.command()
def scale(
    graphs: Annotated[
        int | None,
        typer.Option(min=1000, help="Maximum number of graphs.", show_default="2,000,000 on a GPU, else 20,000"),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="File for a plot of time and memory: .svg, .png or .pdf.", dir_okay=False)
    ] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where to write stores.", show_default="a temporary folder", file_okay=False)
    ] = None,
    device: Device = "auto",
    repeats: Repeats = 3,
    as_json: AsJson = False,
) -> None:
    """Measure epochs over increasing numbers of molecule-sized graphs, on the device and in chunks.

    Examples:

      nmrgcl bench scale --graphs 100000 --plot scale.svg
    """
    from bench.scale import Point, scale_rows
    from bench.scale_plot import check_plot, plot_scale

    if plot:
        check_plot(plot)
    drawn: list[Point] = []

    def measure(where: "torch.device") -> "list[Row]":
        most = graphs or (2_000_000 if where.type == "cuda" else 20_000)
        rows, points = scale_rows(most, device=where, repeats=repeats, folder=folder)
        drawn.extend(points)
        return rows

    _measure(measure, device, as_json)
    if plot:
        plot_scale(drawn, plot)


@app.command()
def svm(
    data: Names = None,
    rows: Annotated[int, typer.Option(min=100, help="Number of synthetic embeddings, without --data.")] = 1500,
    folds: Annotated[int, typer.Option(min=2, help="Outer folds; the protocol has ten.")] = 2,
    repeats: Repeats = 3,
    as_json: AsJson = False,
) -> None:
    """Measure the SVM protocol, compared with scikit-learn's GridSearchCV, which must give the same scores.

    Examples:

      nmrgcl bench svm --data MUTAG

      nmrgcl bench svm --data NCI1 --folds 10 --repeats 1
    """
    from bench.svm import svm_rows

    _measure(lambda where: svm_rows(data or (), rows=rows, folds=folds, repeats=repeats), "cpu", as_json)


def _measure(measure: "Callable[[torch.device], list[Row]]", device: str, as_json: bool) -> None:
    from bench.script import print_rows
    from bench.timing import one_thread
    from nmrgcl.run.machine import choose_device

    where = choose_device(device)
    with one_thread():
        rows = measure(where)
    print_rows(rows, where, as_json=as_json)


def _note_missing_pyg() -> None:
    from bench.geometric import installed

    if not installed():
        print("note: PyG is not installed, so its columns are empty; pip install torch-geometric", file=sys.stderr)
