"""Options that several commands share."""

from typing import Annotated

import typer

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA", help="Dataset name, or a file or folder of graphs or molecules.", show_default=False
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
    typer.Option("--set", metavar="KEY=VALUE", help="Change one setting, for example epochs=12.", show_default=False),
]

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


def with_resume_value(arguments: list[str]) -> list[str]:
    """``--resume`` without a value means ``--resume yes``, which Typer has no words for."""
    given = []
    for i, argument in enumerate(arguments):
        alone = argument == "--resume" and arguments[i + 1 : i + 2] not in (["auto"], ["yes"], ["no"])
        given.append("--resume=yes" if alone else argument)
    return given
