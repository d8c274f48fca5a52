"""``nmrgcl pretrain``."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmrgcl.cli.completion import complete_method
from nmrgcl.cli.counted import counted
from nmrgcl.cli.options import (
    AsJson,
    Assignments,
    BatchSize,
    Data,
    Device,
    DryRun,
    EncoderOption,
    Epochs,
    LearningRate,
    Preset,
    Quiet,
    training_options,
)
from nmrgcl.errors import SettingError

if TYPE_CHECKING:
    import torch

    from nmrgcl.data.dataset import Dataset
    from nmrgcl.run.pretrain import SeedEpoch
    from nmrgcl.settings import Settings

Method = Annotated[
    str | None,
    typer.Option(
        help="Method, for example graphcl, or a file such as mine.py. (default: nmrgcl)", autocompletion=complete_method
    ),
]
Seeds = Annotated[int, typer.Option(min=1, max=10_000, help="Number of models, with consecutive seeds.")]
Out = Annotated[Path | None, typer.Option(help="Run folder. (default: runs/DATA-METHOD)")]
Config = Annotated[
    Path | None, typer.Option(help="File of settings, TOML or JSON, such as the settings.json of a run.")
]
MaxMolecules = Annotated[
    int | None,
    typer.Option(min=2, help="Train on a random sample of this size, the same for all seeds. (default: all)"),
]
Steps = Annotated[int | None, typer.Option(min=1, help="Number of batches to train, instead of whole epochs.")]
TrackEvery = Annotated[int, typer.Option(min=1, help="Epochs between measurements of collapse.")]
Tracker = Annotated[
    str | None,
    typer.Option(
        "--track",
        metavar="tensorboard|wandb|mlflow",
        help="Also log to this tracker, in OUT.TRACKER.",
        show_default=False,
    ),
]
Start = Annotated[
    str | None,
    typer.Option("--from", metavar="MODEL", help="Start from the encoder of a model folder, or from bundled."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run in the same folder.")]
Resume = Annotated[
    str,
    typer.Option(
        metavar="[auto]", help="Continue the run in --out; auto: start it if there is none.", show_default=False
    ),
]
CheckpointEpochs = Annotated[int, typer.Option(min=0, help="Epochs between checkpoints; 0: none.")]
CheckpointSteps = Annotated[int, typer.Option(min=0, help="Batches between checkpoints; 0: none.")]
CheckpointMinutes = Annotated[float, typer.Option(min=0, help="Minutes between checkpoints; 0: none.")]


def pretrain(
    data: Data,
    preset: Preset = None,
    method: Method = None,
    encoder: EncoderOption = None,
    seeds: Seeds = 5,
    out: Out = None,
    config: Config = None,
    assignments: Assignments = None,
    epochs: Epochs = None,
    lr: LearningRate = None,
    batch_size: BatchSize = None,
    max_molecules: MaxMolecules = None,
    steps: Steps = None,
    device: Device = "auto",
    track_every: TrackEvery = 10,
    tracker: Tracker = None,
    start: Start = None,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    overwrite: Overwrite = False,
    resume: Resume = "no",
    checkpoint_epochs: CheckpointEpochs = 0,
    checkpoint_steps: CheckpointSteps = 0,
    checkpoint_minutes: CheckpointMinutes = 5.0,
    as_json: AsJson = False,
) -> None:
    """Pre-train encoders on graphs, or on the nodes of one graph, without labels.

    An interrupted run continues with --resume, with exactly the same results as without the interruption.

    Examples:

      nmrgcl pretrain MUTAG --preset graphcl --out runs/mutag

      nmrgcl pretrain IMDB-BINARY --epochs 12 --set features=degree

      nmrgcl pretrain path/to/MY_TU_FOLDER --seeds 1 --device cuda

      nmrgcl pretrain PubMed --method cca_ssg --out runs/pubmed

      nmrgcl pretrain MUTAG --encoder pyg_gcn.py:GCN3 --out runs/gcn3

      nmrgcl pretrain NCI1 --out runs/nci1 --resume auto

      nmrgcl pretrain molecules.csv --out runs/molecules

      nmrgcl pretrain ZINC-2.2M --max-molecules 250000 --steps 20000 --checkpoint-steps 1000 --out runs/zinc

      torchrun --nproc-per-node 4 -m nmrgcl pretrain ZINC-2.2M --seeds 1 --out runs/zinc
    """
    from nmrgcl.run.checkpoints import Cadence
    from nmrgcl.run.machine import choose_device
    from nmrgcl.run.ranks import joined_ranks, rank_device
    from nmrgcl.run.recipe import with_encoder, with_options
    from nmrgcl.trackers import require_tracker

    with joined_ranks() as ranks:
        # torchrun starts the same command again after a failure, which must then continue and not begin anew.
        if ranks.restarted:
            overwrite, resume = False, "auto"
        where, quiet = rank_device(choose_device(device)), quiet or not ranks.is_first
        if tracker is not None:
            require_tracker(tracker)
        if resume not in ("no", "yes", "auto"):
            raise SettingError(f"--resume {resume}: unknown value; use --resume or --resume auto")
        options = training_options(epochs, lr, batch_size)
        options |= {"--max-molecules": ("train.max_graphs", max_molecules), "--steps": ("train.steps", steps)}
        given = with_options(with_encoder(assignments or (), encoder), options)
        dataset, settings = _resolve(data, method, seeds, quiet, preset=preset, config=config, assignments=given)
        if dry_run:
            if ranks.is_first:
                _print_estimate(dataset, settings, seeds, where)
            return
        folder = out or Path("runs") / f"{Path(dataset.name).name}-{settings.label}"
        numbers = range(settings.seed, settings.seed + seeds)
        how: dict[str, Any] = {
            "track_every": track_every,
            "overwrite": overwrite,
            "resume": resume,
            "start": start,
            "tracker": tracker if ranks.is_first else None,
        }
        cadence = Cadence(checkpoint_epochs, checkpoint_steps, checkpoint_minutes)
        last = _train(dataset, settings, numbers, quiet, out=folder, device=where, cadence=cadence, data=data, **how)
    if not ranks.is_first:
        return
    if as_json:
        ends = {seed: step.record() for seed, step in last.items()}  # an untrained encoder has no last epoch
        models = [{"seed": s, "folder": str(folder / f"seed-{s}"), **ends.get(s, {})} for s in numbers]
        print(json.dumps({"dataset": dataset.name, "method": settings.label, "run": str(folder), "models": models}))
    else:
        print(f"{seeds} model{'s' if seeds > 1 else ''} in {folder}; {_next_step(dataset, folder, numbers[0], data)}")


def _resolve(data: str, method: str | None, seeds: int, quiet: bool, **given: Any) -> "tuple[Dataset, Settings]":
    """Load the dataset and resolve the settings for it."""
    from nmrgcl.data.loading import load
    from nmrgcl.run.cell import canonical
    from nmrgcl.run.recipe import recipe, require_level

    recipe(method, **given)  # report invalid settings before the data is loaded
    with counted("molecules", quiet=quiet) as watch:
        dataset = load(data, watch=watch)
    settings = recipe(method, **given, level=dataset.kind, dataset=canonical(data))
    # The last seed may be too large for a valid setting, even if the first is not.
    settings.updated({"seed": settings.seed + seeds - 1}, source=f"--seeds {seeds}")
    require_level(dataset, settings)
    return dataset, settings


def _print_estimate(dataset: "Dataset", settings: "Settings", seeds: int, device: "torch.device") -> None:
    from nmrgcl.run.pretrain import estimate_cost

    cost = estimate_cost(dataset, settings, seeds=seeds, device=device).to_dict()
    print(json.dumps({"dataset": dataset.name, "settings": settings.to_dict(), "estimate": cost}, indent=2))


def _train(
    dataset: "Dataset",
    settings: "Settings",
    seeds: range,
    quiet: bool,
    *,
    out: Path,
    start: str | None,
    tracker: str | None,
    **options: Any,
) -> "dict[int, SeedEpoch]":
    """Train with progress on standard error; return the last epoch of each seed."""
    from nmrgcl.cli.progress import show_epochs
    from nmrgcl.model_folder import load_model
    from nmrgcl.run.model_folders import find_model
    from nmrgcl.run.pretrain import pretrain_seeds
    from nmrgcl.trackers import tracked

    model = load_model(find_model(start)) if start else None

    def begin(watch: Any) -> Any:
        epochs = pretrain_seeds(dataset, settings, seeds=seeds, out=out, start=model, watch=watch, **options)
        if tracker is None:
            return epochs
        return tracked(epochs, tracker, out.with_name(f"{out.name}.{tracker}"), settings=settings)

    title, items = f"{settings.label} on {dataset.name}", f"{dataset.kind}s"
    return show_epochs(begin, seeds=seeds, title=title, items=items, quiet=quiet)


def _next_step(dataset: "Dataset", folder: Path, seed: int, data: str) -> str:
    """Suggest what to do with the models; without classes, they cannot be evaluated."""
    if dataset.classes:
        return f"judge them: nmrgcl evaluate {folder}"
    return f"use them: nmrgcl embed {folder}/seed-{seed} {data}, or look at them: nmrgcl report {folder}"
