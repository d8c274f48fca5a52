"""Read XML element by element, with line numbers; unexpected elements are errors.

A DOCTYPE is refused, because entities, which may expand exponentially or read other files, are declared there.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import ClassVar
from xml.parsers import expat

from nmrgcl.data.formats.attribute_values import refusal
from nmrgcl.data.formats.classes import shown
from nmrgcl.errors import DataError

# In 8-bit or 16-bit characters. A handler would come too late: expat goes on expanding entities after it raises.
_DOCTYPE = re.compile(b"\x00?".join(re.escape(bytes([byte])) for byte in b"<!DOCTYPE"))
_SPACE = " \t\r\n"


class XmlReader(ABC):
    """Reads one file; a subclass handles its elements in ``begin`` and ``end``.

    Elements outside the namespace of the root are ignored with all they contain.

    Attributes:
        inside: the elements allowed in each element; "" lists those allowed as root.
        with_text: elements that contain text; elements inside them are ignored.
        passed_over: further elements to ignore, as pairs of parent and element.
        remedies: the advice for an element that is not allowed.
    """

    inside: ClassVar[Mapping[str, Collection[str]]]
    with_text: ClassVar[Collection[str]]
    passed_over: ClassVar[Collection[tuple[str, str]]]
    remedies: ClassVar[Mapping[str, str]]

    def __init__(self, file: str) -> None:
        self.file, self.namespace = file, ""
        self.open = [""]
        self._depth = 0  # nesting depth inside an element that is ignored
        self._text: list[str] | None = None
        self._parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters

    @abstractmethod
    def begin(self, kind: str, around: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element inside ``around``."""

    @abstractmethod
    def end(self, kind: str, around: str, text: str | None) -> None:
        """Handle its end; ``text`` is None unless it is one of ``with_text`` and contains no elements."""

    @property
    def line(self) -> int:
        """The current line."""
        return self._parser.CurrentLineNumber

    def refusal(self, why: str) -> DataError:
        """Return the error about the current line."""
        return refusal(self.file, self.line, why)

    def read(self, content: bytes) -> None:
        """Call ``begin`` and ``end`` for every element."""
        if found := _DOCTYPE.search(content):
            line = content.count(b"\n", 0, found.start()) + 1
            raise refusal(self.file, line, "a DOCTYPE is not accepted, because it may declare entities; remove it")
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            why = f"is not well-formed XML ({expat.ErrorString(error.code)}); correct the file or download it again"
            raise refusal(self.file, error.lineno, why) from None
        except (LookupError, ValueError):
            raise refusal(self.file, 1, "declares an unknown encoding; save the file as UTF-8") from None

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._depth:
            self._depth += 1
            return
        namespace, _, kind = tag.rpartition(" ")
        around = self.open[-1]
        if not around:
            self.namespace = namespace
        if around in self.with_text:
            self._depth, self._text = 1, None
        elif namespace != self.namespace or (around, kind) in self.passed_over:
            self._depth = 1
        elif kind not in self.inside[around]:
            place = f"is not allowed inside {around!r}" if around else "is not a known root element"
            raise self.refusal(f"{shown(kind)} {place}; {self.remedies.get(kind, 'correct or remove it')}")
        else:
            self.open.append(kind)
            self._text = [] if kind in self.with_text else None
            self.begin(kind, around, attributes)

    def _end(self, tag: str) -> None:
        if self._depth:
            self._depth -= 1
            return
        kind = self.open.pop()
        text, self._text = self._text, None
        self.end(kind, self.open[-1], None if text is None else "".join(text))

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)
        elif not self._depth and self.open[-1] not in self.with_text and (stray := text.strip(_SPACE)):
            # The parser collects text and has already reached its end.
            line = self.line - text.lstrip(_SPACE).count("\n")
            raise refusal(self.file, line, f"text {shown(stray)} between elements; correct or remove it")
