"""Facts and figures as one file of HTML."""

import json
from pathlib import Path
from typing import Any

import torch

from nmrgcl import atomic
from nmrgcl.data.dataset import Dataset
from nmrgcl.errors import SettingError
from nmrgcl.model_folder import MODEL
from nmrgcl.owned import require_named
from nmrgcl.report.collect import Facts, collect
from nmrgcl.report.pictures import examples, plots
from nmrgcl.report.render import prepare, render
from nmrgcl.report.repeat import commands
from nmrgcl.run import Evaluation, SeedScores, find_models, hardware, versions
from nmrgcl.run.folder import RUN
from nmrgcl.settings.check import flatten


def write_report(
    run: Path, dataset: Dataset, out: Path, *, device: torch.device, figures: Path | None = None, jobs: int = 0
) -> Path:
    """Write the page about ``run`` to ``out``; with ``figures`` also each figure as SVG and PDF into that folder."""
    find_models(run)
    prepare(out, figures)
    facts = collect(run, dataset, device=device, jobs=jobs)
    shown = {"plots": plots(facts), "examples": examples(facts)}
    # Before figures are saved: each drawing lays a figure out anew, by a last digit elsewhere.
    page = _render(facts, out, **shown)
    try:
        if figures is not None:
            drawn = (*shown["plots"], *shown["examples"])
            for picture in drawn:
                picture.require_place(figures)
            for picture in drawn:
                picture.save(figures)
        atomic.write_text(out, page)
    except OSError as error:
        raise SettingError(f"{error.filename or out}: cannot be written ({error.strerror})") from None
    return out


def own_page(run: Path) -> Path:
    """``RUN/report.html``, if it is ours to write."""
    page = run / "report.html"
    require_named(page, RUN, MODEL)
    return page


def _render(facts: Facts, out: Path, **pictures: Any) -> str:
    settings = facts.models[0].settings.to_dict()
    return render(
        "page.html.j2",
        facts=facts,
        method=facts.models[0].settings.label,
        features=facts.models[0].features.kind,
        trained_on=facts.models[0].dataset,
        statistics=facts.dataset.statistics,
        headline=_headline(facts),
        settings=[(key, json.dumps(value, ensure_ascii=False)) for key, value in flatten(settings)],
        settings_json=json.dumps(settings, indent=2, ensure_ascii=False),
        versions=versions(),
        hardware=hardware(facts.device),
        commands=commands(facts, out),
        **pictures,
    )


def _headline(facts: Facts) -> dict[str, Any] | None:
    """The numbers and the sentence that ``nmrgcl evaluate`` prints."""
    found = facts.evaluation
    if found is None:
        return None
    n = len(found.trained.folds)
    rows = ((facts.models[0].settings.label, found.trained), ("untrained", found.untrained))
    return {
        "rows": [_row(name, scores) for name, scores in rows if scores is not None],
        "seeds": facts.seeds if found.varied == "model" else list(range(n)),
        "n": n,
        "protocol": found.sentence,
        "choice": _choice(found),
        "spread_over": found.spread_over,
        "column": "seed" if found.varied == "model" else "folds",
    }


def _choice(found: Evaluation) -> str:
    if found.protocol == "linear":
        return "the penalty C is chosen on the validation nodes"
    return (
        "the penalty C is 1"
        if found.settings.svm.c == "default"
        else "the penalty C is chosen inside the training folds"
    )


def _row(name: str, scores: SeedScores) -> dict[str, Any]:
    return {
        "name": name,
        "text": str(scores),
        "scores": [f"{score:.1f}" for score in scores.to_dict()["scores"]],
    }
