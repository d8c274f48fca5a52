"""``nmrgcl pretrain``."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmrgcl.cli.completion import complete_method, complete_preset
from nmrgcl.cli.options import (
    AsJson,
    Assignments,
    BatchSize,
    Data,
    Device,
    EncoderOption,
    Epochs,
    LearningRate,
    Quiet,
    ResumeOption,
    training_options,
)
from nmrgcl.errors import SettingError

if TYPE_CHECKING:
    from nmrgcl.data import Dataset


def pretrain(
    data: Data,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Recipe, for example graphcl; nmrgcl presets lists them. (default: the method's)",
            autocompletion=complete_preset,
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="For example graphcl or grace, or a file such as mine.py. (default: nmrgcl)",
            autocompletion=complete_method,
        ),
    ] = None,
    encoder: EncoderOption = None,
    seeds: Annotated[int, typer.Option(min=1, max=10_000, help="How many models, from seed 0 on.")] = 5,
    out: Annotated[Path | None, typer.Option(help="Run folder. (default: runs/DATA-METHOD)")] = None,
    config: Annotated[
        Path | None, typer.Option(help="Settings as TOML or JSON; a run's own settings.json will do.")
    ] = None,
    assignments: Assignments = None,
    epochs: Epochs = None,
    lr: LearningRate = None,
    batch_size: BatchSize = None,
    max_molecules: Annotated[
        int | None,
        typer.Option(min=2, help="Train on a random sample of so many, the same for all seeds. (default: all)"),
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Train for so many batches instead of whole epochs.")] = None,
    device: Device = "auto",
    track_every: Annotated[int, typer.Option(min=1, help="Epochs between measurements of collapse.")] = 10,
    tracker: Annotated[
        str | None,
        typer.Option(
            "--track",
            metavar="tensorboard|wandb|mlflow",
            help="Also tell this tracker, in OUT.TRACKER.",
            show_default=False,
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="MODEL", help="Start from the encoder of this model folder, or of bundled."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show settings, time and memory; train nothing.")] = False,
    quiet: Quiet = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier run in the same folder.")] = False,
    resume: ResumeOption = "no",
    checkpoint_epochs: Annotated[int, typer.Option(min=0, help="Epochs between checkpoints; 0: never.")] = 0,
    checkpoint_steps: Annotated[int, typer.Option(min=0, help="Batches between checkpoints; 0: never.")] = 0,
    checkpoint_minutes: Annotated[float, typer.Option(min=0, help="Minutes between checkpoints; 0: never.")] = 5.0,
    as_json: AsJson = False,
) -> None:
    """Pre-train encoders on graphs, or on the nodes of one graph, without looking at labels.

    A run that was interrupted or killed goes on with --resume as if nothing had happened, to the last bit.

    Examples:

      nmrgcl pretrain MUTAG --preset graphcl --out runs/mutag

      nmrgcl pretrain IMDB-BINARY --epochs 12 --set features=degree

      nmrgcl pretrain path/to/MY_TU_FOLDER --seeds 1 --device cuda

      nmrgcl pretrain PubMed --method cca_ssg --out runs/pubmed

      nmrgcl pretrain MUTAG --encoder pyg_gcn.py:GCN3 --out runs/gcn3

      nmrgcl pretrain NCI1 --out runs/nci1 --resume auto

      nmrgcl pretrain molecules.csv --out runs/molecules

      nmrgcl pretrain ZINC-2.2M --max-molecules 250000 --steps 20000 --checkpoint-steps 1000 --out runs/zinc
    """
    from nmrgcl.cli.molecules import molecules_made
    from nmrgcl.cli.progress import show_epochs
    from nmrgcl.data import load
    from nmrgcl.model_folder import load_model
    from nmrgcl.run import Cadence, choose_device, estimate_cost, find_model, pretrain_seeds, require_level
    from nmrgcl.run.cell import canonical
    from nmrgcl.run.recipe import recipe, with_encoder, with_options
    from nmrgcl.trackers import require_tracker, tracked

    if resume not in ("no", "yes", "auto"):
        raise SettingError(f"--resume {resume}: unknown; use --resume or --resume auto")
    given: dict[str, Any] = {
        "preset": preset,
        "config": config,
        "assignments": with_options(
            with_encoder(assignments or (), encoder),
            {"--max-molecules": ("train.max_graphs", max_molecules), "--steps": ("train.steps", steps)}
            | training_options(epochs, lr, batch_size),
        ),
    }
    if tracker is not None:
        require_tracker(tracker)
    recipe(method, **given)  # what is impossible is said before the data is loaded
    where = choose_device(device)
    with molecules_made(quiet=quiet) as watch:
        dataset = load(data, watch=watch)
    settings = recipe(method, **given, level=dataset.kind, dataset=canonical(data))
    settings.updated({"seed": settings.seed + seeds - 1}, source=f"--seeds {seeds}")
    require_level(dataset, settings)
    if dry_run:
        cost = estimate_cost(dataset, settings, seeds=seeds, device=where).to_dict()
        print(json.dumps({"dataset": dataset.name, "settings": settings.to_dict(), "estimate": cost}, indent=2))
        return
    folder = out or Path("runs") / f"{Path(dataset.name).name}-{settings.label}"
    numbers = range(settings.seed, settings.seed + seeds)
    begin = partial(
        pretrain_seeds,
        dataset,
        settings,
        seeds=numbers,
        out=folder,
        device=where,
        track_every=track_every,
        overwrite=overwrite,
        resume=resume,  # type: ignore[arg-type]
        cadence=Cadence(checkpoint_epochs, checkpoint_steps, checkpoint_minutes),
        start=load_model(find_model(start)) if start else None,
        data=data,
    )

    def start_run(watch: Any) -> Any:
        found = begin(watch=watch)
        if tracker is None:
            return found
        return tracked(found, tracker, folder.with_name(f"{folder.name}.{tracker}"), settings=settings)

    last = show_epochs(
        start_run,
        seeds=numbers,
        title=f"{settings.label} on {dataset.name}",
        items=f"{dataset.kind}s",
        quiet=quiet,
    )
    if as_json:
        ends = {seed: step.record() for seed, step in last.items()}  # an untrained encoder has no last epoch
        models = [{"seed": s, "folder": str(folder / f"seed-{s}"), **ends.get(s, {})} for s in numbers]
        print(json.dumps({"dataset": dataset.name, "method": settings.label, "run": str(folder), "models": models}))
    else:
        print(f"{seeds} model{'s' if seeds > 1 else ''} in {folder}; {_next_step(dataset, folder, numbers[0], data)}")


def _next_step(dataset: "Dataset", folder: Path, seed: int, data: str) -> str:
    """What can be done with the models: without labels there is nothing to judge them by."""
    if dataset.classes:
        return f"judge them: nmrgcl evaluate {folder}"
    return f"use them: nmrgcl embed {folder}/seed-{seed} {data}, or look at them: nmrgcl report {folder}"
