"""A run as one page: accuracy, curves, spectrum, embeddings, settings, and how to repeat it."""

import json
from pathlib import Path

import torch
from markupsafe import Markup

from nmrgcl.data.dataset import Dataset
from nmrgcl.errors import SettingError
from nmrgcl.model_folder import MODEL
from nmrgcl.owned import require_named
from nmrgcl.report import page
from nmrgcl.report.collect import Facts, collect
from nmrgcl.report.pictures import examples, plots
from nmrgcl.report.repeat import commands
from nmrgcl.report.svg import Picture
from nmrgcl.run import Evaluation, find_models, hardware, versions
from nmrgcl.run.folder import RUN
from nmrgcl.settings.check import flatten


def write_report(
    run: Path, dataset: Dataset, out: Path, *, device: torch.device, figures: Path | None = None, jobs: int = 0
) -> Path:
    """Write the page about ``run`` to ``out``; with ``figures`` also each figure as SVG and PDF into that folder."""
    find_models(run)
    page.require_writable(out, figures)
    facts = collect(run, dataset, device=device, jobs=jobs)
    drawn, compared = plots(facts), examples(facts)
    # Before figures are saved: each drawing lays a figure out anew, by a last digit elsewhere.
    text = _page(facts, out, drawn, compared)
    if figures is not None:
        _save([*drawn, *compared], figures)
    page.write_texts({out: text})
    return out


def own_page(run: Path) -> Path:
    """``RUN/report.html``, if it is ours to write."""
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


def _page(facts: Facts, out: Path, drawn: list[Picture], compared: list[Picture]) -> str:
    curves = [page.figure(picture) for picture in drawn]
    untrained = "No curves: these models were not trained, or their metrics.jsonl is gone."
    missing = [] if any(picture.key == "loss" for picture in drawn) else [page.paragraph(untrained, "card")]
    sections = [
        page.section("accuracy", "Accuracy", *_accuracy(facts)),
        page.section("figures", "Training and embeddings", *missing, page.side_by_side(curves)),
        *([_neighbours(facts, compared)] if compared else []),
        _again(facts, out),
        _made(facts),
    ]
    title = f"{facts.models[0].settings.label} on {facts.dataset.name}"
    return page.build_page(title, [page.paragraph(_summary(facts), "faint")], sections)


def _summary(facts: Facts) -> str:
    """Sizes of the dataset, features, and seeds."""
    first, found = facts.models[0], facts.dataset.statistics
    if facts.things == "nodes":
        sizes = f"{found.avg_nodes:.0f} nodes and {found.avg_edges:.0f} edges"
    else:
        sizes = f"{found.graphs} graphs, {found.avg_nodes:.1f} nodes and {found.avg_edges:.1f} edges on average"
    s = "s" if len(facts.models) > 1 else ""
    seeds = f"{len(facts.models)} model{s}, seed{s} {', '.join(map(str, facts.seeds))}"
    trained = f"; pre-trained on {first.dataset}" if first.dataset != facts.dataset.name else ""
    return f"{sizes}, {found.classes} classes; {first.features.kind} features; {seeds}{trained}."


def _accuracy(facts: Facts) -> list[Markup]:
    """The numbers and the sentence that ``nmrgcl evaluate`` prints."""
    found = facts.evaluation
    if found is None:
        return [page.paragraph(f"No accuracy: {facts.unjudged}.", "card")]
    n, by_model = len(found.trained.folds), found.varied == "model"
    both = {facts.models[0].settings.label: found.trained, "untrained": found.untrained}
    rows = {name: scores for name, scores in both.items() if scores is not None}
    spread = f"mean ± sample standard deviation over {n} {found.spread_over}" if n > 1 else ""
    before, after = facts.rank_ends
    cards = [page.number(name, f"{scores} %", spread) for name, scores in rows.items()]
    width = f"of {facts.after.shape[1]} dimensions, before → after training"
    cards.append(page.number(f"effective rank, seed {facts.seeds[0]}", f"{before:.1f} → {after:.1f}", width))
    words = (
        f"{found.sentence}: {_choice(found)}, and no epoch is chosen by any label. Untrained is the encoder as the "
        "same seed initialised it, judged on the same folds."
    )
    numbers = facts.seeds if by_model else list(range(n))
    head = ["accuracy in %", *(f"{'seed' if by_model else 'folds'} {number}" for number in numbers)]
    listed = [[name, *(f"{score:.1f}" for score in one.to_dict()["scores"])] for name, one in rows.items()]
    return [page.side_by_side(cards, "numbers"), page.paragraph(words, "spaced"), page.card(page.table(listed, head))]


def _choice(found: Evaluation) -> str:
    if found.protocol == "linear":
        return "the penalty C is chosen on the validation nodes"
    fixed = found.settings.svm.c == "default"
    return "the penalty C is 1" if fixed else "the penalty C is chosen inside the training folds"


def _neighbours(facts: Facts, compared: list[Picture]) -> Markup:
    coloured = "Nodes are coloured by their label; the six most frequent have a colour each. "
    labels = coloured if facts.dataset.node_labels is not None else ""
    words = f"By seed {facts.seeds[0]}, over all graphs. {labels}Layout follows path lengths."
    drawn = page.side_by_side(page.figure(picture) for picture in compared)
    heading = "Graphs and those embedded nearest to them"
    return page.section("neighbours", heading, page.paragraph(words, "faint"), drawn)


def _again(facts: Facts, out: Path) -> Markup:
    note = (
        "The same numbers need the same versions and kind of device; the settings below, saved as a .json file, do as "
        "--config, too."
    )
    settings = json.dumps(facts.models[0].settings.to_dict(), indent=2, ensure_ascii=False)
    folded = Markup("<details><summary>Settings as JSON</summary>{}</details>").format(page.code([settings]))
    again = page.card(page.code(commands(facts, out)), page.paragraph(note, "faint spaced"), folded)
    return page.section("repeat", "Do it again", again)


def _made(facts: Facts) -> Markup:
    settings = flatten(facts.models[0].settings.to_dict())
    listed = [(key, json.dumps(value, ensure_ascii=False)) for key, value in settings]
    source = {"run": facts.run, "data": facts.dataset.source or facts.dataset.name}
    made = page.facts(versions() | hardware(facts.device) | source, "This page was made with")
    columns = [page.facts(listed, f"Resolved settings of seed {facts.seeds[0]}"), made]
    return page.section("made", "Settings, versions, hardware", page.side_by_side(columns))
