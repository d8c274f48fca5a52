"""Templates to pages, and places to put them."""

import os
from importlib import resources
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from nmrgcl.errors import SettingError


def prepare(out: Path, figures: Path | None) -> None:
    """Say what cannot be written before minutes are spent on it."""
    if out.is_dir():
        raise SettingError(f"{out}: is a folder; choose another --out")
    for folder in filter(None, (out.parent, figures)):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SettingError(f"{folder}: cannot be made ({error.strerror})") from None
        if not os.access(folder, os.W_OK):
            raise SettingError(f"{folder}: cannot be written to; choose another place")


def render(template: str, **values: Any) -> str:
    """The page that ``template`` makes of ``values``, with the style that all pages share."""
    folder = resources.files("nmrgcl.report")
    text = folder.joinpath(template).read_text(encoding="utf-8")
    style = Markup(folder.joinpath("style.css").read_text(encoding="utf-8"))
    page = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made = page.from_string(text).render(style=style, **values)
    return made.encode(errors="backslashreplace").decode()  # names of files need not be UTF-8
