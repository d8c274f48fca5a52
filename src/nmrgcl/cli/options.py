"""Options that several commands share."""

from typing import Annotated, Any

import typer

from nmrgcl.cli.completion import complete_assignment, complete_dataset

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Dataset name, or a file or folder of graphs or molecules.",
        show_default=False,
        autocompletion=complete_dataset,
    ),
]
Device = Annotated[str, typer.Option(metavar="auto|cpu|cuda", help="Where to compute.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print exactly one JSON object; the rest goes to stderr.")]
ResumeOption = Annotated[
    str,
    typer.Option(metavar="[auto]", help="Go on with the run in --out; auto: go on, or start one.", show_default=False),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change one setting, for example encoder.units=64; nmrgcl settings lists them.",
        show_default=False,
        autocompletion=complete_assignment,
    ),
]
Epochs = Annotated[int | None, typer.Option(min=0, help="Passes over the data. (default: the recipe's)")]
LearningRate = Annotated[float | None, typer.Option("--lr", help="Learning rate. (default: the recipe's)")]
BatchSize = Annotated[int | None, typer.Option(min=2, help="Graphs or nodes per step. (default: the recipe's)")]

EncoderOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|FILE:CLASS", help="For example gcn, or a PyG network such as gcn.py:GCN3. (default: the recipe's)"
    ),
]
SplitOption = Annotated[
    str | None,
    typer.Option(metavar="public|random-10-10-80|paper-80-10-10", help="Of nodes. (default: random-10-10-80)"),
]
ProtocolOption = Annotated[
    str | None,
    typer.Option(metavar="svm|lssvm|linear", help="lssvm: cheaper, on the device. (default: svm, nodes: linear)"),
]
Jobs = Annotated[int, typer.Option(min=0, help="Worker processes; 0: one per core.")]
CellJobs = Annotated[int, typer.Option("--jobs", min=0, help="Cells at a time; 0: as many as suit the machine.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
KeepTrained = Annotated[
    bool,
    typer.Option("--keep-trained", help="Keep the weights of every training: other judges, later, need not train."),
]


def training_options(
    epochs: int | None, lr: float | None, batch_size: int | None, group: str = "train"
) -> dict[str, tuple[str, Any]]:
    """The setting and value of each option that commands which train share; input of ``with_options``."""
    return {
        "--epochs": (f"{group}.epochs", epochs),
        "--lr": (f"{group}.lr", lr),
        "--batch-size": ("train.batch_size", batch_size),
    }


def with_resume_value(arguments: list[str]) -> list[str]:
    """``--resume`` without a value means ``--resume yes``, which Typer has no words for."""
    given = []
    for i, argument in enumerate(arguments):
        alone = argument == "--resume" and arguments[i + 1 : i + 2] not in (["auto"], ["yes"], ["no"])
        given.append("--resume=yes" if alone else argument)
    return given
