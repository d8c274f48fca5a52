"""Write the reference pages of the site from the code, into ``docs/reference/``: part of ``make docs``.

Facts come from ``nmrgcl COMMAND --json``, from the catalog of datasets, and from docstrings, which Sphinx reads.
"""

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from typer.main import get_command
from typer.testing import CliRunner

import nmrgcl
from nmrgcl.augment import PAPER_NAMES, VIEWS
from nmrgcl.cli import app
from nmrgcl.cli.methods_text import RECORDED, published_figures
from nmrgcl.data.catalog import CATALOG
from nmrgcl.data.tu_names import TU_NAMES
from nmrgcl.encode import ENCODERS

FOLDER = Path(__file__).parent / "reference"
GROUPS = {
    "Estimators": "GraphEmbedder GraphClassifier MoleculeEmbedder tracked",
    "Data": "load as_dataset Graphs from_networkx from_pyg to_networkx to_pyg apply_features choose_features "
    "split_nodes",
    "Views": "View Identity DropNodes ShuffleNodes DropEdges AddEdges MaskFeatures DropFeatures Subgraph "
    "DropCentralEdgesLess MaskCentralFeaturesLess OneOf Compose build_view",
    "Encoders": "GIN MoleculeGIN GCN GAT Head Teacher pool build_encoder",
    "Losses": "infonce non_maximum removal_masks remove cosine graphcl_loss jensen_shannon cca_loss merit_loss",
    "Methods and training": "Method Pretraining Embedder find_method build_method method_names pretrain Epoch Progress "
    "Optimiser",
    "Evaluation": "svm_scores lssvm_scores kernel_nested linear_score",
    "Diagnosis": "measure effective_rank singular_spectrum",
    "Settings and errors": "Settings setting resolve UserError",
}
"""The public names by the page that describes them."""

API = """\
# Python API

Everything here is imported from `nmrgcl`, for example `from nmrgcl import GraphEmbedder`; nothing else is public.
"""
SETTINGS = """\
# Settings

The settings that all methods share; the options of a method are [with the method](methods.md). Change a setting with
`--set KEY=VALUE` or `--config FILE`, or with `settings={KEY: VALUE}` in Python.
"""
VIEWS_INTRO = """\
# Views

A view changes a graph at random. `views.first` and `views.second` list the choices for the two views of a graph, and
each graph draws one of them; `weight` makes a choice more frequent, and `Compose` applies several.

```
nmrgcl pretrain NCI1 --set 'views.first=[{name="DropNodes", p=0.1}, {name="AddEdges", p=0.2}]'
```
"""
ENCODERS_INTRO = """\
# Encoders

An encoder maps graphs to node embeddings; `encoder.name` chooses it, and the other
[settings of encoders](settings.md#encoder) its size. One of your own is `--encoder FILE.py:CLASS`
([how](../python.md#an-encoder-of-your-own)).
"""
DATASETS = """\
# Datasets

These load by name, and what is loaded must show the published statistics given here; nodes and edges are averages per
graph. [Your own graphs](../your-data.md) load from files. `motifs` is synthetic: cycles, cliques and stars planted in
random graphs.
"""


def pages() -> dict[str, str]:
    """The Markdown of each page, by its name."""
    return {
        **api_pages(),
        "settings": settings_page(),
        "presets": presets_page(),
        "methods": methods_page(),
        "views": views_page(),
        "encoders": encoders_page(),
        "datasets": datasets_page(),
        "commands": commands_page(),
    }


def api_pages() -> dict[str, str]:
    """An overview of the public names, and one page per group with their signatures and docstrings."""
    names = {title: group.split() for title, group in GROUPS.items()}
    assert sorted(name for group in names.values() for name in group) == sorted(nmrgcl.__all__), (
        "GROUPS must list every public name once"
    )
    found, overview = {}, [API]
    for title, group in names.items():
        page = f"api-{title.lower().replace(' ', '-')}"
        rows = [(f"{{py:obj}}`~nmrgcl.{name}`", summary(getattr(nmrgcl, name))) for name in group]
        overview += [f"## {title}", "", table(("name", "what it is"), rows), ""]
        found[page] = "\n".join([f"# {title}", "", "```{eval-rst}", *map(_autodoc, group), "```", ""])
    entries = "\n".join(found)
    return {"api": "\n".join([*overview, f"```{{toctree}}\n:hidden:\n\n{entries}\n```", ""])} | found


def settings_page() -> str:
    """The settings that all methods share, by group."""
    parts = [SETTINGS]
    groups: dict[str, list[dict[str, Any]]] = {}
    for one in printed("settings")["settings"]:
        groups.setdefault(one["key"].rpartition(".")[0] or "general", []).append(one)
    for group, members in groups.items():
        rows = [(f"`{m['key']}`", text(m["meaning"]), text(m["values"]), value(m["default"])) for m in members]
        parts += [f"## {group}", "", table(("key", "meaning", "values", "default"), rows), ""]
    return "\n".join(parts)


def presets_page() -> str:
    """Every preset with what it sets, and what it sets for particular datasets."""
    parts = ["# Presets", "", "Use one with `--preset NAME`; [settings](settings.md) says what the keys mean.", ""]
    for one in printed("presets")["presets"]:
        parts += [f"## {one['name']}", "", text(one["about"]), ""]
        rows = [(f"`{key}`", value(what)) for key, what in one["values"].items()]
        parts += [table(("key", "value"), rows), ""]
        for dataset, own in one["datasets"].items():
            said = ", ".join(f"`{key}` = {value(what)}" for key, what in own.items())
            parts += [f"- for {text(dataset)}: {said or 'nothing else'}"]
        parts += [""]
    return "\n".join(parts)


def methods_page() -> str:
    """Every method with its paper, published figures, checks and options, by family."""
    rows = printed("methods")["methods"]
    parts = ["# Methods", "", "Choose one with `--method NAME`; [how to add one](../methods.md#add-a-method).", ""]
    for family in sorted({row["family"] for row in rows}):
        parts += [f"## {family.capitalize()}", ""]
        for row in (row for row in rows if row["family"] == family):
            parts += [f"### {row['name']}", "", text(row["summary"]), "", *_facts_of_method(row), ""]
            options = [
                (f"`{o['name']}`", text(o["about"]), ", ".join(map(str, o["choices"])), value(o["default"]))
                for o in row["options"]
            ]
            if options:
                parts += [table(("option", "meaning", "choices", "default"), options), ""]
    return "\n".join(parts)


def _facts_of_method(row: dict[str, Any]) -> Iterator[str]:
    embeds = (f"{level}s ([preset {preset}](presets.md#{preset}))" for level, preset in row["presets"].items())
    others = sorted({*row["presets_for_it"]} - {*row["presets"].values()})
    yield f"- **Paper:** {text(row['paper'])}"
    yield f"- **Embeds:** {', '.join(embeds)}"
    if others:
        yield f"- **Other presets:** {', '.join(f'[{one}](presets.md#{one})' for one in others)}"
    if row["fixed"]:
        yield f"- **Always:** {', '.join(f'`{key} = {what}`' for key, what in row['fixed'].items())}"
    yield f"- **Trains:** {text(row['trains'])}"
    yield f"- **Recorded:** {text(RECORDED[row['recorded']])}"
    said = [row["published"], *published_figures(row["figures"])]
    yield from (f"- **Published:** {text(one)}" for one in said if one)
    if row["checked"]:
        yield f"- **Checked:** {text(row['checked'])}"


def views_page() -> str:
    """Every view with its options."""
    paper = {ours: theirs for theirs, ours in PAPER_NAMES.items()}
    rows = []
    for name, kind in VIEWS.items():
        options = ", ".join(f"`{field.name} = {field.default}`" for field in fields(kind))
        rows.append((f"{{py:obj}}`~nmrgcl.{name}`", text(paper.get(name, "")), summary(kind), options))
    return f"{VIEWS_INTRO}\n{table(('view', 'in the paper', 'what it does', 'options'), rows)}\n"


def encoders_page() -> str:
    """The encoders by name."""
    rows = [(f"`{name}`", f"{{py:obj}}`~nmrgcl.{kind.__name__}`", summary(kind)) for name, kind in ENCODERS.items()]
    return f"{ENCODERS_INTRO}\n{table(('name', 'class', 'what it is'), rows)}\n"


def datasets_page() -> str:
    """The catalog, and the names of the other datasets that load by name."""
    sizes = [
        (f"`{one.name}`", text(", ".join(one.aliases)), one.level, f"{one.graphs:,}", f"{one.nodes:,.2f}",
         f"{one.edges:,.2f}", str(one.classes))
        for one in CATALOG
    ]  # fmt: skip
    sources = [(f"`{one.name}`", text(one.citation), text(one.licence)) for one in CATALOG]
    others = ", ".join(f"`{name}`" for name in TU_NAMES)
    parts = [
        f"{DATASETS}\n{table(('name', 'also', 'task', 'graphs', 'nodes', 'edges', 'classes'), sizes)}",
        f"## Sources and licences\n\n{table(('name', 'source', 'licence'), sources)}",
        f"## The rest of the TU collection\n\n{others}\n",
    ]
    return "\n\n".join(parts)


def commands_page() -> str:
    """Every command with its arguments, options and examples."""
    intro = "The same as `nmrgcl COMMAND --help`; [commands in short](../cli.md) says which one to use for what."
    return "\n".join(["# Commands and options", "", intro, "", *_commands(get_command(app), "nmrgcl")])


def _commands(command: Any, name: str) -> Iterator[str]:
    inner = getattr(command, "commands", None)
    about, _, examples = inspect.cleandoc(command.help or "").partition("Examples:")
    if name != "nmrgcl":
        yield f"{'###' if name.count(' ') > 1 else '##'} {name}\n\n{text(about.strip())}\n"
    if inner is None:
        context = command.make_context(name, [], resilient_parsing=True)
        records = [param.get_help_record(context) for param in command.get_params(context) if param.name != "help"]
        if rows := [(f"`{record[0]}`", text(record[1])) for record in records if record]:
            yield table(("argument or option", "meaning"), rows) + "\n"
    if lines := [line.strip() for line in examples.splitlines() if line.strip()]:
        yield "\n".join(["```", *lines, "```", ""])
    for child, member in (inner or {}).items():
        yield from _commands(member, f"{name} {child}")


def printed(command: str) -> dict[str, Any]:
    """What ``nmrgcl COMMAND --json`` prints."""
    result = CliRunner().invoke(app, [command, "--json"], catch_exceptions=False)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def summary(thing: Any) -> str:
    """The first sentence or line of a docstring."""
    return re.sub(r"``", "`", (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " "))


def text(plain: str) -> str:
    """Plain text as Markdown, options such as ``--set`` as code."""
    escaped = re.sub(r"([\\`*_<\[\]])", r"\\\1", plain)
    return re.sub(r"(?<![\w`-])--[a-z][a-z-]*", r"`\g<0>`", escaped)


def value(found: Any) -> str:
    """A setting's value as it is written on the command line."""
    if isinstance(found, list | tuple) and found and isinstance(found[0], dict):
        return "<br>".join(value(one) for one in found)
    if isinstance(found, dict):
        return f"`{{{', '.join(f'{key} = {json.dumps(one, ensure_ascii=False)}' for key, one in found.items())}}}`"
    return f"`{json.dumps(found, ensure_ascii=False)}`" if not isinstance(found, str) else f"`{found or '(empty)'}`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *([cell.replace("|", r"\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _autodoc(name: str) -> str:
    thing = getattr(nmrgcl, name)
    if not inspect.isclass(thing):
        return f".. autofunction:: nmrgcl.{name}\n"
    bare = is_dataclass(thing) and issubclass(thing, nmrgcl.View)
    return f".. autoclass:: nmrgcl.{name}\n" + ("" if bare else "   :members:\n")


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.md"):
        old.unlink()
    for name, page in pages().items():
        (FOLDER / f"{name}.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
