"""The documentation site (``make docs``): Sphinx, MyST's Markdown and the theme furo."""

import re
from pathlib import Path
from typing import Any

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml

from nmrgcl import __version__

project = "nmrgcl"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]
highlight_language = "text"
# scikit-learn makes these methods, whose docstrings refer to its own documentation.
autodoc_default_options = {
    "exclude-members": ", ".join(
        f"set_{one}_request" for one in ("fit", "predict", "predict_proba", "score", "transform")
    )
}
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
add_module_names = False
python_maximum_signature_line_length = 80

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"nmrgcl {__version__}"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_use_index = False
html_search_scorer = str(Path(__file__).with_name("search_order.js"))


def setup(app: Any) -> None:
    """Write equations as MathML, which needs no script, and keep the docstrings of attributes."""
    app.add_html_math_renderer("mathml", (_inline_math, None), (_block_math, None))
    _keep_attributes(app)
    app.connect("autodoc-process-docstring", _link_pages)


def _link_pages(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Make a link of a page that a docstring names, such as ``docs/your-data.md``."""
    lines[:] = [re.sub(r"(?:``)?docs/([\w-]+)\.md(?:``)?", r":doc:`/\1`", line) for line in lines]


def _inline_math(translator: Any, node: Any) -> None:
    translator.body.append(str(tex2mathml(node.astext())))
    raise SkipNode


def _block_math(translator: Any, node: Any) -> None:
    translator.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
    raise SkipNode


def _keep_attributes(app: Any) -> None:
    """Keep the docstrings of attributes as they are: napoleon takes the words before a colon for a type."""
    kept: dict[str, list[str]] = {}

    def keep(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
        kept[name] = [*lines]

    def restore(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
        if what in ("attribute", "property"):
            lines[:] = kept[name]

    app.connect("autodoc-process-docstring", keep, priority=400)
    app.connect("autodoc-process-docstring", restore, priority=600)
