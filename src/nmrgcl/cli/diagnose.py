"""``nmrgcl diagnose``."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nmrgcl.cli.completion import complete_dataset
from nmrgcl.cli.options import AsJson, Device
from nmrgcl.cli.terminal import tell
from nmrgcl.errors import SettingError

if TYPE_CHECKING:
    import torch

    from nmrgcl.run.diagnosis import Diagnosis

KINDS = ("dimensional", "complete")
"""Kinds of collapse, the worst last."""

Source = Annotated[
    str | None,
    typer.Argument(
        metavar="MODEL",
        help="Model or run folder, bundled, or embeddings: .npz, .csv, .parquet or .npy.",
        show_default=False,
    ),
]
DataOrModel = Annotated[
    str | None,
    typer.Argument(
        metavar="[DATA|MODEL]",
        help="Dataset (default: that of the model), or another model to compare with.",
        autocompletion=complete_dataset,
    ),
]
CommonData = Annotated[
    str | None,
    typer.Option(
        "--data", metavar="DATA", help="Dataset for the comparison of two models.", autocompletion=complete_dataset
    ),
]
Labels = Annotated[Path | None, typer.Option(metavar="FILE", help="Classes for embeddings in an .npy, also an .npy.")]
Out = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write an HTML report.")]
Arrays = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write spectra and correlations: .npz.")]
FailOn = Annotated[
    str | None,
    typer.Option(metavar="dimensional|complete", help="Exit with 1 if a model has collapsed at least this far (CI)."),
]


def diagnose(
    model: Source = None,
    data: DataOrModel = None,
    on: CommonData = None,
    labels: Labels = None,
    out: Out = None,
    arrays: Arrays = None,
    fail_on: FailOn = None,
    device: Device = "auto",
    as_json: AsJson = False,
) -> None:
    """Diagnose whether embeddings have collapsed: a verdict in plain words, and the numbers behind it.

    Complete collapse: all embeddings are one point. Dimensional collapse: they span only a part of their dimensions. If
    a run contains several models, the first is shown in full.

    Examples:

      nmrgcl diagnose runs/mutag MUTAG --out collapse.html

      nmrgcl diagnose runs/without runs/with --data MUTAG

      nmrgcl diagnose z.npz --json

      nmrgcl diagnose z.npy --labels y.npy --fail-on complete
    """
    if model is None:
        raise SettingError("diagnose: pass a model or run folder, or a file of embeddings")
    if fail_on not in (None, *KINDS):
        raise SettingError(f"--fail-on {fail_on}: known: {', '.join(KINDS)}")
    if arrays is not None and arrays.suffix != ".npz":
        raise SettingError(f"--arrays {arrays}: the ending must be .npz")
    from nmrgcl.run.bundled import BUNDLED, model_path
    from nmrgcl.run.diagnosis import diagnose_path, is_model, write_arrays
    from nmrgcl.run.machine import choose_device

    where, place = choose_device(device), model_path(model)
    if data is not None and (data == BUNDLED or is_model(Path(data))):
        sides = _compare(place, model_path(data), on, where, as_json)
        _fail([*sides[0], *sides[1]], fail_on)
        return
    found = diagnose_path(place, data or on, where, labels=labels)
    if out is not None:
        from nmrgcl.report.collapse import write_diagnosis

        write_diagnosis(found, out)
    if arrays is not None:
        write_arrays(found[0].found.arrays(), arrays)
    print(json.dumps(_as_json(found)) if as_json else _words(found))
    _fail(found, fail_on)


def _fail(found: "list[Diagnosis]", fail_on: str | None) -> None:
    """Exit with 1 and one line if a model has collapsed at least as far as ``fail_on``."""
    wrong = KINDS[KINDS.index(fail_on) :] if fail_on else ()
    bad = [f"{one.source} ({one.found.verdict.kind})" for one in found if one.found.verdict.kind in wrong]
    if bad:
        tell(f"nmrgcl: --fail-on {fail_on}: {', '.join(bad)}")
        raise typer.Exit(1)


def _compare(
    first: Path, second: Path, data: str | None, device: "torch.device", as_json: bool
) -> "list[list[Diagnosis]]":
    from nmrgcl.diagnose.paired import compare_measures, say_which_is_flatter
    from nmrgcl.run.diagnosis import diagnose_pair

    sides = diagnose_pair(first, second, data, device)
    facts = [[one.to_dict() for one in side] for side in sides]
    differences = compare_measures(*facts)
    sentence = say_which_is_flatter(differences)
    if as_json:
        names = {"first": str(first), "second": str(second), "dataset": sides[0][0].dataset, "sentence": sentence}
        kinds = {"verdicts": [[one["verdict"] for one in side] for side in facts]}
        print(json.dumps(names | kinds | {"differences": [one.to_dict() for one in differences]}))
        return sides
    print(f"first {first}, second {second}" + (f", on {sides[0][0].dataset}" if sides[0][0].dataset else ""))
    print(sentence)
    print(f"  {'':<26} {'first':>9} {'second':>9} {'difference':>11}   95 % interval")
    for one in differences:
        interval = "" if one.low is None else f"{one.low:+.3f} … {one.high:+.3f}"
        name = one.measure.replace("_", " ")
        print(f"  {name:<26} {one.first:>9.3f} {one.second:>9.3f} {one.difference:>+11.3f}   {interval}")
    return sides


def _as_json(found: "list[Diagnosis]") -> dict[str, Any]:
    """Return the first model in full, and the verdict on each."""
    short = [
        {"source": one.source, "seed": one.seed, "verdict": one.found.verdict.kind}
        | {"effective_rank": one.found.verdict.effective_rank, "used": one.found.verdict.used}
        for one in found
    ]
    return found[0].to_dict() | {"models": short}


def _words(found: "list[Diagnosis]") -> str:
    from nmrgcl.report.collapse import rows_of

    first = found[0]
    of = f" on {first.dataset}" if first.dataset else ""
    lines = [first.found.verdict.sentence]
    if first.found.meaning:
        lines.append(first.found.meaning)
    lines.append(f"{first.source}{of}: {first.found.rows} {first.things}, {first.found.verdict.width} dimensions")
    lines += [f"  {name:<34} {value}" for name, value in rows_of(first.found)]
    if len(found) > 1:
        kinds = [f"seed {one.seed}: {one.found.verdict.kind} ({one.found.verdict.effective_rank:.1f})" for one in found]
        lines.append("Verdict and effective rank of each model: " + ", ".join(kinds))
    return "\n".join(lines)
