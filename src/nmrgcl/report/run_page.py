"""The page about a run: the finding, accuracy, maps, curves, spectrum, settings, and how to repeat it."""

import json
import shlex
from pathlib import Path

import numpy as np
import torch
from markupsafe import Markup

from nmrgcl.data.catalog import find
from nmrgcl.data.dataset import Dataset
from nmrgcl.errors import SettingError
from nmrgcl.evaluate.spread import signed, with_p
from nmrgcl.model_folder import MODEL
from nmrgcl.owned import require_named
from nmrgcl.report import page
from nmrgcl.report.collapse import COLLAPSE
from nmrgcl.report.collect import Facts, collect
from nmrgcl.report.findings import compare_with_untrained, find_in_accuracy, find_in_rank, largest_class
from nmrgcl.report.live_page import link_to_page
from nmrgcl.report.pictures import example_rows, examples, maps, plots
from nmrgcl.report.svg import Picture
from nmrgcl.run.evaluation import Evaluation
from nmrgcl.run.folder import RUN
from nmrgcl.run.machine import hardware, versions
from nmrgcl.run.model_folders import find_models
from nmrgcl.settings import Settings
from nmrgcl.settings.check import flatten


def write_report(
    run: Path, dataset: Dataset, out: Path, *, device: torch.device, figures: Path | None = None, jobs: int = 0
) -> Path:
    """Write the page about ``run`` to ``out`` and, if given, each figure as SVG and PDF to the folder ``figures``."""
    find_models(run)
    page.require_writable(out, figures)
    facts = collect(run, dataset, device=device, jobs=jobs)
    drawn, placed, compared = plots(facts), maps(facts), examples(facts)
    # Build the page before figures are saved: drawing a figure again changes the last digits of its layout.
    text = _page(facts, out, drawn, placed, compared)
    if figures is not None:
        _save([*drawn, *placed, *compared], figures)
    page.write_texts({out: text})
    return out


def own_page(run: Path) -> Path:
    """``RUN/report.html``; raises SettingError if a file of that name is not ours."""
    path = run / "report.html"
    require_named(path, RUN, MODEL)
    return path


def _save(pictures: list[Picture], folder: Path) -> None:
    try:
        for picture in pictures:
            picture.require_place(folder)
        for picture in pictures:
            picture.save(folder)
    except OSError as error:
        raise SettingError(f"{error.filename or folder}: cannot be written ({error.strerror})") from None


def _page(facts: Facts, out: Path, drawn: list[Picture], placed: list[Picture], compared: list[Picture]) -> str:
    curves = [page.figure(picture) for picture in drawn]
    untrained = "No curves: these models were not trained, or their metrics.jsonl is missing."
    missing = [] if any(picture.key == "loss" for picture in drawn) else [page.paragraph(untrained, "card")]
    sections = [
        page.section("accuracy", "Accuracy", *_accuracy(facts)),
        _maps(facts, placed),
        page.section("figures", "Training and embeddings", _rank(facts), *missing, page.side_by_side(curves)),
        *([_neighbours(facts, compared)] if compared else []),
        _again(facts, out),
        _made(facts),
    ]
    title = f"{facts.models[0].settings.label} on {facts.dataset.name}"
    return page.build_page(title, [*_lead(facts), page.paragraph(_summary(facts), "faint")], sections, script="maps.js")


def _lead(facts: Facts) -> list[Markup]:
    """The finding in one sentence, and the verdicts."""
    found, label = facts.evaluation, facts.models[0].settings.label
    sentence, verdicts = find_in_rank(label, *facts.rank_ends, facts.after.shape[1]), []
    if found is not None and facts.dataset.y is not None:
        start = None if found.untrained is None else found.untrained.to_dict()["mean"]
        largest, difference = largest_class(facts.dataset.y), compare_with_untrained(found)
        seen = find_in_accuracy(label, found.trained.to_dict()["mean"], start, difference, largest)
        sentence, verdicts = seen.sentence, [page.verdict(f"Accuracy: {seen.verdict}", seen.tone)]
    if facts.collapse is not None:
        words, tone = COLLAPSE[facts.collapse.kind]
        verdicts.append(page.verdict(f"Embeddings: {words}", tone))
    return [page.paragraph(sentence, "lead"), page.paragraph(Markup(" ").join(verdicts))]


def _summary(facts: Facts) -> str:
    """Sizes of the dataset, features, and seeds."""
    first, found = facts.models[0], facts.dataset.statistics
    if facts.things == "nodes":
        sizes = f"{found.avg_nodes:.0f} nodes and {found.avg_edges:.0f} edges"
    else:
        sizes = f"{found.graphs} graphs, {found.avg_nodes:.1f} nodes and {found.avg_edges:.1f} edges on average"
    classes = f"{found.classes} classes" if found.classes else "no labels"
    s = "s" if len(facts.models) > 1 else ""
    seeds = f"{len(facts.models)} model{s}, seed{s} {', '.join(map(str, facts.seeds))}"
    trained = f"; pre-trained on {first.dataset}" if first.dataset != facts.dataset.name else ""
    return f"{sizes}, {classes}; {first.features.kind} features; {seeds}{trained}."


def _accuracy(facts: Facts) -> list[Markup]:
    """The numbers and the sentence that ``nmrgcl evaluate`` prints, with baselines and a test."""
    found, y = facts.evaluation, facts.dataset.y
    if found is None or y is None:
        return [page.paragraph(f"No accuracy: {facts.unjudged}.", "card")]
    n, by_model = len(found.trained.folds), found.varied == "model"
    rows = {} if found.untrained is None else {"untrained": found.untrained}
    rows[facts.models[0].settings.label] = found.trained
    spread = f"mean ± sample standard deviation over {n} {found.spread_over}" if n > 1 else ""
    cards = [page.number(name, f"{scores} %", spread) for name, scores in rows.items()]
    difference = compare_with_untrained(found) if len(rows) > 1 else None
    if difference is not None:
        between = f"95 % interval {signed(difference.low)} to {signed(difference.high)}, {with_p(difference.p)}"
        cards.append(page.number("difference in points", signed(difference.mean), between))
    cards.append(page.number("largest class", f"{largest_class(y):.2f} %", "the score of always predicting it"))
    words = (
        f"{found.sentence}: {_choice(found)}, and no epoch is chosen by labels. Untrained is the encoder with the "
        "initial weights of the same seed, evaluated on the same folds. The difference is tested by the corrected "
        "resampled t-test of Nadeau and Bengio (2003), because the training data of different folds overlap."
    )
    numbers = facts.seeds if by_model else list(range(n))
    scores = zip(*(one.to_dict()["scores"] for one in rows.values()), strict=True)
    seed = "seed" if by_model else "folds"
    listed = [[f"{seed} {number}", *map("{:.1f}".format, each)] for number, each in zip(numbers, scores, strict=True)]
    by_seed = page.card(page.table(listed, ("accuracy in %", *rows), kind="figures"))
    matrices = [_matrix(facts, name, counts) for name, counts in facts.confusion.items()]
    return [
        page.side_by_side(cards, "numbers"),
        page.paragraph(words, "spaced"),
        page.side_by_side([*matrices, by_seed], "thirds"),
    ]


def _rank(facts: Facts) -> Markup:
    """The number of dimensions in use, with the verdict of ``nmrgcl diagnose``."""
    (before, after), seed = facts.rank_ends, facts.seeds[0]
    change = f"{after:.1f}" if len(facts.embeddings) == 1 else f"{before:.1f} → {after:.1f}"
    words = f"Effective rank {change} of {facts.after.shape[1]} dimensions, seed {seed}."
    return page.paragraph(words if facts.collapse is None else f"{words} {facts.collapse.sentence}")


def _matrix(facts: Facts, name: str, counts: np.ndarray) -> Markup:
    """A confusion matrix with true classes as rows and predicted ones as columns, and the recall of each class."""
    classes = [str(label) for label in facts.dataset.classes]
    sums = counts.sum(1)
    rows = [
        [label, *(page.shaded(count, count / total) for count in line), f"{line[k] / total:.0%}"]
        for k, (label, line, total) in enumerate(zip(classes, counts.tolist(), np.maximum(sums, 1), strict=True))
    ]
    caption = f"Predictions: {name}, seed {facts.evaluation.seeds[0] if facts.evaluation else 0}"
    right = f"{int(np.trace(counts))} of {int(sums.sum())} held-out {facts.things} right."
    made = page.table(rows, ("true ↓ predicted →", *classes, "right"), caption=caption, kind="figures")
    return page.card(made, page.paragraph(right, "faint spaced"))


def _maps(facts: Facts, placed: list[Picture]) -> Markup:
    pointed = Markup('<p id="pointed-at" class="faint" aria-live="polite">Point at a mark to see which {} it is.</p>')
    drawn = page.side_by_side(page.figure(picture) for picture in placed)
    said, links = pointed.format(facts.models[0].settings.level), link_to_page(facts, example_rows(facts))
    return page.section("maps", f"Map of the {facts.things}", drawn, said, links)


def _choice(found: Evaluation) -> str:
    if found.protocol == "linear":
        return "the penalty C is chosen on the validation nodes"
    fixed = found.settings.svm.c == "default"
    return "the penalty C is 1" if fixed else "the penalty C is chosen inside the training folds"


def _neighbours(facts: Facts, compared: list[Picture]) -> Markup:
    coloured = "Nodes are coloured by their label; the six most frequent have a colour each. "
    labels = coloured if facts.dataset.node_labels is not None else ""
    words = (
        f"Embeddings of seed {facts.seeds[0]}, neighbours among all graphs. {labels}The layout follows path lengths."
    )
    drawn = page.side_by_side(page.figure(picture) for picture in compared)
    heading = "Graphs and their nearest neighbours"
    return page.section("neighbours", heading, page.paragraph(words, "faint"), drawn)


def commands(facts: Facts, out: Path) -> list[str]:
    """Commands that pre-train with the same settings and seeds into a new folder, evaluate it, and write its report."""
    again, seeds, dataset = Path(f"{facts.run}-again"), facts.seeds, facts.dataset
    known = dataset.name == "motifs" or find(dataset.name) is not None
    data = shlex.quote(dataset.name if known else dataset.source or dataset.name)
    device, folder = f"--device {facts.device.type}", shlex.quote(str(again))
    config = shlex.quote(str(facts.folders[0] / "config.json"))
    count = seeds[-1] - seeds[0] + 1
    lines = [f"nmrgcl pretrain {data} --config {config} --seeds {count} {device} --out {folder}"]
    if facts.evaluation is not None:
        folds = f" --seeds {len(facts.evaluation.trained.folds)}" if facts.evaluation.varied == "folds" else ""
        lines.append(f"nmrgcl evaluate {folder} {data}{folds} {device}")
    lines.append(f"nmrgcl report {folder} {data} {device} --out {shlex.quote(str(again / out.name))}")
    return lines


def _again(facts: Facts, out: Path) -> Markup:
    note = (
        "To get the same numbers, use the same versions and kind of device; the settings below, saved as a .json file, "
        "also work as --config."
    )
    settings = json.dumps(facts.models[0].settings.to_dict(), indent=2, ensure_ascii=False)
    shown = page.folded("Settings as JSON", page.code([settings]))
    again = page.card(page.code(commands(facts, out)), page.paragraph(note, "faint spaced"), shown)
    return page.section("repeat", "How to repeat this", again)


def _made(facts: Facts) -> Markup:
    """The settings that people usually change and those that differ from their defaults; the others are folded."""
    settings = facts.models[0].settings
    usual = dict(flatten(Settings().updated({"method": settings.method}).to_dict()))
    values = {key: json.dumps(value, ensure_ascii=False) for key, value in flatten(settings.to_dict())}
    matter = [key for key, value in flatten(settings.to_dict()) if key in MATTER or usual.get(key) != value]
    shown, rest = ([pair for pair in values.items() if (pair[0] in matter) is first] for first in (True, False))
    chosen = page.card(
        page.table(shown, caption=f"Settings of seed {facts.seeds[0]}"),
        page.folded(f"{len(rest)} more settings, all at their defaults", page.table(rest)),
    )
    source = {"run": facts.run, "data": facts.dataset.source or facts.dataset.name}
    made = page.facts(versions() | hardware(facts.device) | source, "This page was made with")
    return page.section("made", "Settings, versions, hardware", page.side_by_side([chosen, made]))


MATTER = (
    *("method", "data.features", "train.epochs", "train.batch_size", "train.lr"),
    *("encoder.name", "encoder.layers", "encoder.units", "encoder.pool"),
)
"""Settings that are shown even if they have their defaults."""
