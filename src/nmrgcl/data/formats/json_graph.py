"""The schema of a graph in a JSON Lines file, checked by msgspec; imported only to read such files."""

from typing import Annotated

import msgspec

from nmrgcl.data.assemble import MAX_NODES
from nmrgcl.data.formats.classes import shown
from nmrgcl.errors import nearest, printable

Node = Annotated[int, msgspec.Meta(ge=0, lt=MAX_NODES)]
Integer = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Weight = Annotated[float, msgspec.Meta(gt=0)]
Class = bool | int | float | str | None
Name = Annotated[str, msgspec.Meta(min_length=1)] | Integer
_EXAMPLE = '{"edges": [[0, 1]]}'
_CLASS_KEYS, _USE_Y = ("label", "labels", "class", "target"), "use y for the class of a graph"


class JsonGraph(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One graph; the entry for a node or edge is a number or a list of numbers, and None is missing.

    Text in ``node_labels``, and every attribute in ``node_categories``, is a category.
    """

    edges: list[tuple[Node, Node]]
    id: Name | None = None
    node_ids: list[Name] | None = None
    num_nodes: Node | None = None
    x: list[float | list[float]] | None = None
    node_labels: list[Integer | str | list[Integer]] | None = None
    node_categories: dict[str, list[Integer | str | None]] | None = None
    edge_attr: list[float | list[float]] | None = None
    edge_labels: list[Integer | list[Integer]] | None = None
    edge_weight: list[Weight] | None = None
    y: Class | list[Class] | msgspec.UnsetType = msgspec.UNSET

    @property
    def has_y(self) -> bool:
        """True if the key is present, even if it is null."""
        return self.y is not msgspec.UNSET


_decode = msgspec.json.Decoder(JsonGraph).decode


def parse_line(line: bytes) -> JsonGraph:
    """Parse a line; raise ValueError with the reason and the key if it is not a graph."""
    try:
        return _decode(line)
    except msgspec.ValidationError as error:
        told = printable(str(error))
        if told.startswith("Object contains unknown field"):
            key = told.split("`")[1][:32]
            remedy = _USE_Y if key in _CLASS_KEYS else nearest(key, JsonGraph.__struct_fields__)
            told = f"unknown key {key!r}; {remedy}"
        elif "missing required field" in told:
            told = 'has no key edges; write "edges": [] for a graph without edges'
        elif " - at `$." in told:
            reason, _, place = told.rpartition(" - at `$.")
            told = f"{place.rstrip('`')}: {reason[0].lower()}{reason[1:]}; correct that line"
        else:
            told = f"is not a graph ({told}); write one graph per line, such as {_EXAMPLE}"
    except UnicodeDecodeError as error:
        told = f"contains the byte {shown(error.object[error.start])}, which is not UTF-8; save the file as UTF-8"
    except msgspec.DecodeError as error:
        told = f"is not JSON ({error}); write one graph per line, such as {_EXAMPLE}"
        if not line.strip():
            told = "is blank; remove that line"
    raise ValueError(told)
