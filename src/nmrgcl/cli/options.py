"""Options that several commands share."""

from typing import Annotated, Any

import typer

from nmrgcl.cli.completion import complete_assignment, complete_dataset, complete_preset
from nmrgcl.errors import SettingError

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="Dataset name, or a file or folder of graphs or molecules.",
        show_default=False,
        autocompletion=complete_dataset,
    ),
]
RunData = Annotated[
    str | None,
    typer.Argument(
        metavar="[DATA]", help="Dataset. (default: the one the run was trained on)", autocompletion=complete_dataset
    ),
]
Datasets = Annotated[
    list[str],
    typer.Argument(metavar="DATA…", help="Datasets.", show_default=False, autocompletion=complete_dataset),
]
Device = Annotated[str, typer.Option(metavar="auto|cpu|cuda", help="Where to compute.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print exactly one JSON object; the rest goes to stderr.")]
Preset = Annotated[
    str | None,
    typer.Option(
        help="Preset to start from; nmrgcl presets lists them. (default: the method's)", autocompletion=complete_preset
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be computed and what it costs.")]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a setting, for example encoder.units=64; nmrgcl settings lists them.",
        show_default=False,
        autocompletion=complete_assignment,
    ),
]
Epochs = Annotated[int | None, typer.Option(min=0, help="Passes over the data. (default: the preset's)")]
LearningRate = Annotated[float | None, typer.Option("--lr", help="Learning rate. (default: the preset's)")]
BatchSize = Annotated[int | None, typer.Option(min=2, help="Graphs or nodes per step. (default: the preset's)")]

EncoderOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|FILE:CLASS", help="For example gcn, or a PyG network such as gcn.py:GCN3. (default: the preset's)"
    ),
]
SplitOption = Annotated[
    str | None,
    typer.Option(
        metavar="public|random-10-10-80|paper-80-10-10", help="Split of the nodes. (default: random-10-10-80)"
    ),
]
ProtocolOption = Annotated[
    str | None,
    typer.Option(
        metavar="svm|lssvm|linear",
        help="Evaluation protocol; lssvm is cheaper and runs on the device. (default: svm, nodes: linear)",
    ),
]
Jobs = Annotated[int, typer.Option(min=0, help="Worker processes; 0: one per core.")]
CellJobs = Annotated[int, typer.Option("--jobs", min=0, help="Cells to compute in parallel; 0: chosen automatically.")]
Backend = Annotated[
    str, typer.Option(metavar="processes|ray|slurm|inline", help="Where to compute: here, on Ray, or as Slurm jobs.")
]
TaskBackend = Annotated[
    str, typer.Option("--backend", metavar="processes|ray|inline", help="Where to compute a folder of stores.")
]
Address = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT", help="Ray cluster. (default: RAY_ADDRESS, else one on this machine)", show_default=False
    ),
]
Slurm = Annotated[
    list[str] | None, typer.Option(metavar="KEY=VALUE", help="Slurm parameter, for example partition=gpu.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress.")]
KeepTrained = Annotated[
    bool,
    typer.Option(
        "--keep-trained", help="Keep the weights of every training, so that later evaluations can reuse them."
    ),
]


def training_options(
    epochs: int | None, lr: float | None, batch_size: int | None, group: str = "train"
) -> dict[str, tuple[str, Any]]:
    """Return the setting and value of each training option, as ``with_options`` expects them.

    Values are checked here already, so that the error names the option and not the setting behind it.
    """
    from nmrgcl.settings import Settings

    options: dict[str, tuple[str, Any]] = {
        "--epochs": (f"{group}.epochs", epochs),
        "--lr": (f"{group}.lr", lr),
        "--batch-size": ("train.batch_size", batch_size),
    }
    for option, (key, value) in options.items():
        if value is not None:
            Settings().updated({key: value}, source=option)
    return options


def refuse_task_options(backend: str, address: str | None, jobs: int, advice: str) -> None:
    """Refuse ``--backend``, ``--address`` and ``--jobs``, which only folders of stores have; ``advice`` says how."""
    for option, given in (("--address", address), ("--backend", backend != "processes"), ("--jobs", jobs)):
        if given:
            raise SettingError(f"{option}: is for a folder of stores; {advice}")


def with_resume_value(arguments: list[str]) -> list[str]:
    """Replace ``--resume`` without a value by ``--resume=yes``, because Typer has no optional values."""
    given = []
    for i, argument in enumerate(arguments):
        alone = argument == "--resume" and arguments[i + 1 : i + 2] not in (["auto"], ["yes"], ["no"])
        given.append("--resume=yes" if alone else argument)
    return given
