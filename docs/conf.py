"""The documentation site (``make docs``): Sphinx, MyST's Markdown and the theme furo."""

from nmrgcl import __version__

project = "nmrgcl"
version = release = __version__

extensions = ["myst_parser"]
root_doc = "index"
source_suffix = {".md": "markdown"}
myst_heading_anchors = 4
highlight_language = "text"

html_theme = "furo"
html_title = f"nmrgcl {__version__}"
html_show_sphinx = False
html_copy_source = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]
html_use_index = False
