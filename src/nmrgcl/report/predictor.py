"""The page about a fine-tuned model: scores next to fingerprint baselines, curves, and example molecules."""

import json
from pathlib import Path

import numpy as np
from markupsafe import Markup, escape
from sklearn.metrics import roc_curve

from nmrgcl import atomic
from nmrgcl.data.molecules import Molecules
from nmrgcl.data.molecules.chemistry import rdkit
from nmrgcl.errors import DataError
from nmrgcl.predict.finetune import Outcome, ScoreRow
from nmrgcl.predict.predictor import METRICS
from nmrgcl.predict.similarity import nearest_known
from nmrgcl.report import page
from nmrgcl.report.judged import (
    by_similarity,
    calibration_error,
    plot_calibration,
    plot_numbers,
    plot_roc,
    plot_similarity,
    reliability,
)
from nmrgcl.report.svg import PALETTE, Picture
from nmrgcl.run.machine import hardware, versions
from nmrgcl.settings.check import flatten

SHOWN = 4
"""How many molecules are shown per group."""
SIZE = 230, 180
"""Width and height of the picture of a molecule in pixels."""


def write_predictor_page(out: Path, found: Outcome, molecules: Molecules) -> None:
    """Write the page about ``found``, which was fitted to ``molecules``."""
    labels = molecules.labels[found.split.test]
    number, similarity = nearest_known(found.bits[found.split.test], found.predictor.known)
    origin = found.origin
    parts = " / ".join(str(len(origin.split[part])) for part in ("train", "valid", "test"))
    start = f"pre-trained on {origin.start}" if origin.start else "not pre-trained"
    summary = (
        f"{len(molecules)} molecules, {len(molecules.invalid)} invalid rows skipped; split {origin.split['name']}, "
        f"{parts} for training, validation and test; seeds {', '.join(map(str, origin.seeds))}; the encoder is {start}"
        f"{' and frozen' if origin.probe else ''}."
    )
    errors = _errors(found, labels)
    judged = not np.isnan(errors).all()
    drawn = [*_curves(found, labels), *([_distance(found, errors, similarity)] if judged else [])]
    groups = _examples(found, molecules, labels, errors, number, similarity)
    sections = [
        page.section("scores", "Scores on the test data", *_scores(found)),
        page.section("figures", "Predictions on the test data", page.side_by_side(map(page.figure, drawn))),
        *(page.section(f"examples-{n}", heading, page.side_by_side(some)) for n, (heading, some) in enumerate(groups)),
        *(
            [page.paragraph("No pictures of molecules: RDKit is not installed.", "card")]
            if judged and not groups
            else []
        ),
        page.section("made", "Settings, versions, hardware", _made(found, molecules)),
    ]
    title = f"{origin.dataset}: {_tasks(found)}"
    atomic.write_text(out, page.build_page(title, [page.paragraph(summary, "faint")], sections))


def _scores(found: Outcome) -> list[Markup]:
    several = len(found.origin.seeds) > 1
    means = "Scores are means over tasks" if found.task_rows else "Scores are those of the test part"
    spread = ", ± the sample standard deviation over seeds" if several else ""
    chosen = "with the C" if found.origin.probe else "at the epoch"
    how = (
        f"{means}{spread}, {chosen} that was best on the validation data. Models on fingerprints (ECFP4, 2,048 bits) "
        "are fitted to the same molecules; the number of trees or C is chosen on the same validation data."
    )
    each = [page.card(_table(found.task_rows, found, f"Each task, {_whose(found)}"))] if found.task_rows else []
    return [
        page.card(_table(found.rows, found)),
        *map(page.paragraph, found.notes),
        *each,
        page.paragraph(how, "faint"),
    ]


def _table(rows: list[ScoreRow], found: Outcome, caption: str = "") -> Markup:
    percent = " in %" if found.predictor.goal == "binary" else ""
    head = ["", *(METRICS[name] + percent for name in found.rows[0].scores)]
    cells = [[row.name, *(_score(*score) for score in row.scores.values())] for row in rows]
    return page.table(cells, head, caption=caption)


def _whose(found: Outcome) -> str:
    return "the ensemble" if len(found.origin.seeds) > 1 else "the model"


def _made(found: Outcome, molecules: Molecules) -> Markup:
    settings = [(key, json.dumps(value)) for key, value in flatten(found.predictor.settings.to_dict())]
    device = found.predictor.members[0].head.weight.device
    made = versions() | hardware(device) | {"data": molecules.source}
    return page.side_by_side([page.facts(settings, "Resolved settings"), page.facts(made, "Made with")])


def _tasks(found: Outcome) -> str:
    tasks = found.predictor.tasks
    return tasks[0] if len(tasks) == 1 else f"{len(tasks)} tasks"


def _score(mean: float, std: float | None) -> str:
    return "–" if np.isnan(mean) else f"{mean:.3g}" + ("" if std is None else f" ± {std:.2g}")


def _curves(found: Outcome, labels: np.ndarray) -> list[Picture]:
    names, made = found.predictor.tasks, found.tested
    if made.probability is None:
        picture = Picture(
            key="numbers",
            title="Predictions and labels",
            description=f"Scatter plot of predictions over labels of {_tasks(found)}.",
            caption="On the dashed line, predictions equal labels.",
            figure=plot_numbers(labels, made.mean, names),
        )
        return [picture]
    # A ROC curve needs both classes.
    both = np.flatnonzero((labels == 1).any(0) & (labels == 0).any(0))
    drawn = both[np.argsort(-(~np.isnan(labels[:, both])).sum(0), kind="stable")][: len(PALETTE)].tolist()
    curves = {}
    for task in drawn:
        known = ~np.isnan(labels[:, task])
        curves[names[task]] = roc_curve(labels[known, task], made.mean[known, task])[:2]
    before, after = (reliability(p, labels)[:2] for p in (made.mean, made.probability))
    mean = "mean probability" if len(found.origin.seeds) > 1 else "probability"
    errors = [calibration_error(p, labels) for p in (made.mean, made.probability)]
    more = f" Shown are the {len(drawn)} of {len(names)} tasks with most labels." if len(names) > len(drawn) else ""
    return [
        Picture(
            key="roc",
            title="ROC curves",
            description=f"ROC curves of {_whose(found)} for {', '.join(curves)}.",
            caption=f"Curves of the {mean} of {_whose(found)}; the dashed line is chance.{more}",
            figure=plot_roc(curves),
        ),
        Picture(
            key="calibration",
            title="Calibration",
            description=f"Expected calibration error {errors[0]:.3f} before and {errors[1]:.3f} after calibration.",
            caption=(
                "Fitted on the validation data, shown on the test data of all tasks. Expected calibration error "
                f"{errors[0]:.3f} before and {errors[1]:.3f} after."
            ),
            figure=plot_calibration({"before": before, "after": after}),
        ),
    ]


def _errors(found: Outcome, labels: np.ndarray) -> np.ndarray:
    """``[M, T]`` absolute errors; NaN for missing labels, and for probabilities that are neither right nor wrong."""
    probability, calibration = found.tested.probability, found.predictor.calibration
    if probability is None or calibration is None:
        return np.abs(found.tested.mean - labels)
    return np.where((probability == 0.5) | calibration.constant, np.nan, np.abs(probability - labels))


def _distance(found: Outcome, errors: np.ndarray, similarity: np.ndarray) -> Picture:
    binary = found.tested.probability is not None
    values = np.where(np.isnan(errors), np.nan, 100.0 * (errors < 0.5)) if binary else errors
    label = "correct predictions in %" if binary else "mean absolute error"
    counts, scores = by_similarity(values, similarity)
    return Picture(
        key="similarity",
        title="Distance to the training set",
        description=f"Median similarity {np.median(similarity):.2f}; the line is the {label}.",
        caption=(
            f"Tanimoto similarity of ECFP4 fingerprints to the nearest training molecule (median "
            f"{np.median(similarity):.2f}), and the {label} as a function of it."
        ),
        figure=plot_similarity(counts, scores, label),
    )


def _examples(
    found: Outcome,
    molecules: Molecules,
    labels: np.ndarray,
    errors: np.ndarray,
    number: np.ndarray,
    similarity: np.ndarray,
) -> list[tuple[str, list[Markup]]]:
    """The most confident right and wrong predictions, or the most and the least accurate; none without RDKit."""
    order = np.argsort(errors, axis=None, kind="stable")
    # NaN sorts last and would be the least accurate.
    order = order[~np.isnan(errors.ravel()[order])]
    right, wrong = order, order[::-1]
    titles = ["Most accurate predictions", "Least accurate predictions"]
    if found.tested.probability is not None:
        is_right = errors.ravel()[order] < 0.5
        right, wrong = order[is_right], order[~is_right][::-1]
        titles = ["Most confident right predictions", "Most confident wrong predictions"]
    groups = []
    try:
        for title, chosen in zip(titles, (right, wrong), strict=True):
            places = [divmod(int(each), labels.shape[1]) for each in chosen[:SHOWN]]
            shown = [_example(found, molecules, labels, row, task, number, similarity) for row, task in places]
            if shown:
                groups.append((f"{title}, each next to its nearest training molecule", shown))
    except DataError:
        return []
    return groups


def _example(
    found: Outcome,
    molecules: Molecules,
    labels: np.ndarray,
    row: int,
    task: int,
    number: np.ndarray,
    similarity: np.ndarray,
) -> Markup:
    place, made = int(found.split.test[row]), found.tested
    said = f"{made.mean[row, task]:.3g}" if made.probability is None else f"{made.probability[row, task]:.0%}"
    caption = (
        f"{molecules.ids[place]}: {found.predictor.tasks[task]} is {labels[row, task]:g}, predicted {said}; "
        f"nearest training molecule on the right, similarity {similarity[row]:.2f}"
    )
    known = found.predictor.known.smiles[int(number[row])]
    both = draw_molecule(molecules.smiles[place]) + draw_molecule(known)
    words = Markup('<figure class="card"><div class="pair">{}</div><figcaption>{}</figcaption></figure>')
    return words.format(both, caption)


def draw_molecule(smiles: str) -> Markup:
    """An ``<svg>`` element labelled with the SMILES; raises DataError if RDKit is not installed."""
    with rdkit() as chem:
        from rdkit.Chem.Draw.rdMolDraw2D import MolDraw2DSVG, PrepareAndDrawMolecule

        drawing = MolDraw2DSVG(*SIZE)
        PrepareAndDrawMolecule(drawing, chem.MolFromSmiles(smiles))
        drawing.FinishDrawing()
        text = drawing.GetDrawingText()
    start = text.index("<svg") + len("<svg")
    return Markup(f'<svg role="img" aria-label="{escape(smiles)}"{text[start:]}')
