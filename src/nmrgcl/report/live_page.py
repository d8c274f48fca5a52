"""Links from a report to the page that ``nmrgcl view`` serves; a report works without it."""

import shlex
from collections.abc import Sequence

from markupsafe import Markup

from nmrgcl.report.collect import Facts

PORT = 8686
"""Where the page is unless --port says otherwise."""
ADDRESS = f"http://127.0.0.1:{PORT}/"


def link_to_page(facts: Facts, rows: Sequence[int]) -> Markup:
    """A paragraph with the command, and a link for the map and each of these graphs or nodes."""
    level, first = facts.models[0].settings.level, facts.seeds[0]
    of = "" if first == 0 else f"&seed={first}"
    named = [(f"{level} {facts.id_of(row)}", f"{ADDRESS}#row={row}{of}") for row in rows]
    links = Markup(", ").join(
        Markup('<a href="{}" rel="noreferrer">{}</a>').format(address, words)
        for words, address in [("the whole map", ADDRESS), *named]
    )
    command = f"nmrgcl view {shlex.quote(str(facts.run))}"
    words = Markup('<p class="faint">To colour, select and search, run <code>{}</code> and open {}.</p>')
    return words.format(command, links)
