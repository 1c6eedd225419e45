"""Reading XML within bounds: no entities; limited size, depth and number of elements; a line for each."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from leastaction.errors import FormatError

MAX_BYTES = 64 * 2**20
"""Default limit of the size of a file [bytes]."""
MAX_DEPTH = 1000
MAX_ELEMENTS = 2_000_000

_TEXTS: ContextVar[Mapping[Path, bytes]] = ContextVar("texts", default=MappingProxyType({}))
"""Documents that stand in for files, by the resolved paths that these would have."""

_DECLARATION = re.compile(rb"((?:\s|<!--(?:[^-]|-(?!->))*-->)+)(<\?xml\s[^>]*\?>)")

_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(slots=True, eq=False)
class Element:
    """An XML element that knows where it was written, with the text between its tags, which SDF needs."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    line: int | None = None
    file: str | None = None
    children: list[Element] = field(default_factory=list)
    owner: str = ""
    text: str = ""

    @property
    def named(self) -> str:
        """The element, or the nearest one around it that has a name, as `joint "knee"`; or nothing."""
        name = self.attributes.get("name")
        return self.owner if name is None else f'{self.tag} "{name}"'

    @property
    def label(self) -> str:
        """How its author would recognise it: `joint "knee"`, or `<limit> of joint "knee"`."""
        if "name" in self.attributes:
            return self.named
        return f"<{self.tag}> of {self.owner}" if self.owner else f"<{self.tag}>"

    def error(self, message: str) -> FormatError:
        """A `FormatError` at this element."""
        return FormatError(message, file=self.file, line=self.line, element=self.label)

    def add(self, tag: str, **attributes: str) -> Element:
        """Append a child and give it back."""
        child = Element(tag, attributes)
        self.children.append(child)
        return child

    def all(self, tag: str) -> list[Element]:
        """Children with that tag."""
        return [child for child in self.children if child.tag == tag]

    def find(self, *tags: str) -> Element | None:
        """The first child with one of the tags."""
        return next((child for child in self.children if child.tag in tags), None)

    def get(self, name: str) -> str | None:
        """An attribute, or None."""
        return self.attributes.get(name)

    def required(self, name: str) -> str:
        """An attribute that must be there and not be blank."""
        value = self.attributes.get(name, "")
        if not value.strip():
            raise self.error(f"attribute {name!r} is missing or empty")
        return value

    def numbers(self, name: str, *, infinite: bool = False) -> tuple[float, ...] | None:
        """An attribute as numbers separated by blanks, or None where it is not there."""
        text = self.attributes.get(name)
        if text is None:
            return None
        try:
            values = tuple(float(word) for word in text.split())
        except ValueError:
            raise self.error(f"attribute {name}={text!r}: expected numbers") from None
        if any(math.isnan(x) or (math.isinf(x) and not infinite) for x in values):
            raise self.error(f"attribute {name}={text!r}: expected finite numbers")
        return values

    def vector(self, name: str, default: Sequence[float]) -> tuple[float, ...]:
        """An attribute as many numbers as `default` has, which stands in for it."""
        values = self.numbers(name)
        if values is None:
            return tuple(default)
        if len(values) != len(default):
            text = self.attributes[name]
            raise self.error(f"attribute {name}={text!r}: expected {len(default)} numbers, got {len(values)}")
        return values

    def number(self, name: str, default: float | None = None) -> float:
        """An attribute as one number; without a default it must be there."""
        if default is None:
            self.required(name)
        return self.vector(name, (default or 0.0,))[0]

    def walk(self) -> Iterator[Element]:
        """This element and all below it, parents first."""
        stack: list[Element] = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))


@contextmanager
def in_place_of(path: Path, data: bytes) -> Iterator[None]:
    """While it lasts, this thread reads `data` for the file at `path`, which need not exist."""
    token = _TEXTS.set({**_TEXTS.get(), path.resolve(): data})
    try:
        yield
    finally:
        _TEXTS.reset(token)


def given(path: Path) -> bytes | None:
    """The document that stands in for the file at `path`, or None."""
    texts = _TEXTS.get()
    return texts.get(path.resolve()) if texts else None


def read_bytes(path: Path, max_bytes: int) -> bytes:
    """The contents of a regular file, or of the text in its place, that is not larger than `max_bytes`."""
    data = given(path)
    return _limited(_contents(path, max_bytes) if data is None else data, path, max_bytes)


def _contents(path: Path, max_bytes: int) -> bytes:
    try:
        if not path.is_file():
            raise FormatError("this is not a file" if path.exists() else "no such file", file=path)
        # One byte more than allowed, rather than asking for the size: the file may grow in between.
        with path.open("rb") as stream:
            return stream.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        raise FormatError(f"cannot be read: {error}", file=path) from None


def _limited(data: bytes, path: Path, max_bytes: int) -> bytes:
    if len(data) > max_bytes:
        raise FormatError(f"larger than {max_bytes} bytes; raise the limit with max_bytes=...", file=path)
    return data


def read_xml(path: Path, max_bytes: int) -> Element:
    """The root element of a file."""
    return parse_xml(read_bytes(path, max_bytes), str(path))


class _TreeBuilder:
    """Collects the elements that expat reports, and refuses what could grow without bound."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0
        self.parser = parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self._doctype
        parser.CharacterDataHandler = self._characters
        parser.buffer_text = True

    def error(self, message: str) -> FormatError:
        element = self.open[-1].label if self.open else None
        return FormatError(message, file=self.file, line=self.parser.CurrentLineNumber, element=element)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if self.count > MAX_ELEMENTS:
            raise self.error(f"more than {MAX_ELEMENTS} elements")
        if len(self.open) >= MAX_DEPTH:
            raise self.error(f"elements are nested more than {MAX_DEPTH} deep")
        element = Element(tag, attributes, self.parser.CurrentLineNumber, self.file)
        if self.open:
            # The root's name says nothing about the place.
            element.owner = self.open[-1].named if len(self.open) > 1 else ""
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def _end(self, tag: str) -> None:
        self.open.pop()

    def _characters(self, text: str) -> None:
        if self.open and not text.isspace():
            self.open[-1].text += text

    def _doctype(self, name: str, *_: object) -> None:
        # Entities are declared only there; a robot needs none, and nested ones can fill any memory.
        raise self.error(f"a document type declaration (<!DOCTYPE {name} ...>) is not allowed")


def _tidied(data: bytes) -> bytes:
    """A document without what other readers overlook: blank lines and comments before its declaration, as licences are
    often put there, and zeros at its end.

    The blank lines and comments come behind the declaration, so that the numbers of lines stay.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):  # 16 bits a character: zeros belong to these
        return data
    data = data.rstrip(b"\0")
    found = _DECLARATION.match(data)
    return data if found is None else found[2] + found[1] + data[found.end() :]


def parse_xml(data: bytes, file: str) -> Element:
    """The root element of a document; `file` is for messages."""
    builder = _TreeBuilder(file)
    try:
        builder.parser.Parse(_tidied(data), True)
    except expat.ExpatError as error:
        message = f"not well-formed XML: {expat.ErrorString(error.code)}"
        if builder.open and error.code == expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS]:
            opened = builder.open[-1]
            message = f"the file ends inside {opened.label}, which line {opened.line} opens: is it truncated?"
        element = builder.open[-1].label if builder.open else None
        raise FormatError(message, file=file, line=error.lineno, element=element) from None
    except (LookupError, ValueError) as error:
        raise FormatError(f"not readable XML: {error}", file=file, line=1) from None
    assert builder.root is not None  # expat refuses documents without a root
    return builder.root


def write_xml(root: Element) -> tuple[str, list[Element]]:
    """A document with one tag on each line, and for each of its lines the element that wrote it."""
    lines = ['<?xml version="1.0"?>']
    owners = [root]
    stack: list[tuple[Element, int, bool]] = [(root, 0, False)]
    while stack:
        element, depth, closing = stack.pop()
        indent = "  " * depth
        owners.append(element)
        if closing:
            lines.append(f"{indent}</{element.tag}>")
            continue
        for value in element.attributes.values():
            if _ILLEGAL.search(value):
                raise element.error(f"{value!r} holds a character that XML cannot write")
        attributes = "".join(f" {name}={quoteattr(value)}" for name, value in element.attributes.items())
        lines.append(f"{indent}<{element.tag}{attributes}{'' if element.children else '/'}>")
        if element.children:
            stack.append((element, depth, True))
            stack.extend((child, depth + 1, False) for child in reversed(element.children))
    return "\n".join(lines) + "\n", owners
