"""XML element by element, with the line of each; what does not belong is refused, what editors add is passed over.

A DOCTYPE is refused: it is the only place for entities, which may expand without end or name other files.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import ClassVar
from xml.parsers import expat

from nmrgcl.data.formats.attribute_values import refusal, shown
from nmrgcl.errors import DataError

# In characters of one byte or two. A handler would come too late: when it raises, expat still reads on, and expands.
_DOCTYPE = re.compile(b"\x00?".join(re.escape(bytes([byte])) for byte in b"<!DOCTYPE"))
_SPACE = " \t\r\n"


class XmlReader(ABC):
    """Reads one file; a subclass says in ``begin`` and ``end`` what elements mean.

    Attributes:
        inside: the elements that may stand in each element; those in "" may be the root. Only elements of the root's
            namespace are read, and those of others passed over with all they contain.
        with_text: elements that contain text; elements in them are passed over.
        passed_over: elements of the root's namespace to pass over, as pairs of the element around them and themselves.
        remedies: what to do about an element that stands where it may not.
    """

    inside: ClassVar[Mapping[str, Collection[str]]]
    with_text: ClassVar[Collection[str]]
    passed_over: ClassVar[Collection[tuple[str, str]]]
    remedies: ClassVar[Mapping[str, str]]

    def __init__(self, file: str) -> None:
        self.file, self.namespace = file, ""
        self.open = [""]
        self._depth = 0  # inside an element that is passed over
        self._text: list[str] | None = None
        self._parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters

    @abstractmethod
    def begin(self, kind: str, around: str, attributes: dict[str, str]) -> None:
        """An element begins inside another."""

    @abstractmethod
    def end(self, kind: str, around: str, text: str | None) -> None:
        """It ends; ``text`` is None if it is not of those that contain text, or contains elements too."""

    @property
    def line(self) -> int:
        """Where the reader is."""
        return self._parser.CurrentLineNumber

    def refusal(self, why: str) -> DataError:
        """The error to raise about this line."""
        return refusal(self.file, self.line, why)

    def read(self, content: bytes) -> None:
        """Call ``begin`` and ``end`` for all elements."""
        if found := _DOCTYPE.search(content):
            line = content.count(b"\n", 0, found.start()) + 1
            raise refusal(self.file, line, "a DOCTYPE may hold entities that expand without end; remove it")
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            why = f"is not well-formed XML ({expat.ErrorString(error.code)}); correct the file or fetch it again"
            raise refusal(self.file, error.lineno, why) from None
        except (LookupError, ValueError):
            raise refusal(self.file, 1, "names an encoding that is not known; save the file as UTF-8") from None

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
            place = f"stands inside {around!r}" if around else "is the first element"
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
            # The parser collects text and is at its end by now.
            line = self.line - text.lstrip(_SPACE).count("\n")
            raise refusal(self.file, line, f"text {shown(stray)} stands between elements; correct or remove it")
