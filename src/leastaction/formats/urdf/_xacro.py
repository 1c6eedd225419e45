"""Xacro files: URDF with macros, which the package `xacro` (the extra of that name) expands."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from leastaction._extras import require
from leastaction.errors import FormatError, MissingExtraError
from leastaction.formats._files import MODEL_FILES, Folder
from leastaction.formats._xml import Element, given, parse_xml
from leastaction.formats.urdf._xacro_expressions import Bounds
from leastaction.mechanism._check import suggestion

_REFUSALS = (ExpatError, AttributeError, LookupError, NameError, OSError, SyntaxError, TypeError, ValueError)
"""What xacro raises of files that are not as it expects, beside errors of its own."""

_ONE = threading.Lock()
"""The package keeps its files and packages in variables of its modules."""

DATA = {".yaml", ".yml"}
"""Endings of other files that macros may read, beside those of models."""


def macro(root: Element) -> Element | None:
    """The first element of a document that is a macro's, or has an attribute for xacro to evaluate, or None."""
    return next((e for e in root.walk() if e.tag.startswith("xacro:") or _evaluated(e)), None)


def _evaluated(element: Element) -> bool:
    return any(mark in text for text in element.attributes.values() for mark in ("${", "$(arg", "$(eval"))


def expanded(path: Path, root: Element, folder: Folder, arguments: Any) -> Element:
    """The document with its macros expanded.

    Args:
        path: of the file.
        root: its document.
        folder: files that it may name.
        arguments: values of its `<xacro:arg>` by name.
    """
    where = macro(root) or root
    if not isinstance(arguments, Mapping) or not all(isinstance(name, str) for name in arguments):
        raise FormatError(f"xacro_args: expected values by names, got {arguments!r}", file=path)
    try:
        xacro = require("xacro", "xacro")
    except MissingExtraError as error:
        raise where.error(
            f"this is for xacro to expand: {error}; or run `xacro` on the file and load its output"
        ) from None
    said, known = StringIO(), _Asked({name: str(x) for name, x in arguments.items()})
    refused: list[FormatError] = []
    with _ONE, _bounded(xacro, folder, where, refused), redirect_stderr(said):
        try:
            document = xacro.process_file(str(path), mappings=known)
        except FormatError:
            raise
        except _REFUSALS as error:
            raise where.error(f"xacro refuses the file: {_first_line(error)}") from None
        except Exception as error:
            if refused:  # which it has wrapped
                raise refused[0] from None
            # Its own errors derive from nothing else; attributes that are missing are a RuntimeError.
            if type(error).__module__.split(".")[0] != "xacro" and not isinstance(error, RuntimeError):
                raise
            raise where.error(f"xacro refuses the file: {_first_line(error)}") from None
    for name in arguments:
        if name not in known.asked:
            hint = suggestion(name, sorted(known.asked)) or ("" if known.asked else ": it has none at all")
            raise FormatError(f"xacro_args: the file has no argument {name!r}{hint}", file=path)
    return parse_xml(document.toxml(encoding="utf-8"), str(path))


class _Asked(dict[str, str]):
    """Arguments that note which of them xacro looks for: `<xacro:arg>` by `in`, `$(arg ...)` by index."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self.asked: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.asked.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.asked.add(name)
        return super().__getitem__(name)


def _first_line(error: Exception) -> str:
    words = [line.strip() for line in str(error).splitlines() if line.strip()]
    return words[0] if words else type(error).__name__


@contextmanager
def _bounded(xacro: Any, folder: Folder, where: Element, refused: list[FormatError]) -> Iterator[None]:
    """While it lasts, xacro opens only what a model may name, and finds packages where meshes are looked for.

    Files that it may not open are added to `refused`. Expressions and macros have bounds (`Bounds`).
    """
    words: Any = import_module("xacro.substitution_args")
    parse, load_yaml, find = xacro.parse, xacro.load_yaml, words._eval_find
    evaluate, call, bounds = xacro.safe_eval, xacro.handle_macro_call, Bounds()

    def bounded_call(node: Any, macros: Any, symbols: Any) -> Any:
        bounds.turn()
        return call(node, macros, symbols)

    def checked(name: Any) -> None:
        path = (folder.path / Path(name)).resolve()
        near = any(path.is_relative_to(place) for place in _roots(folder))
        if not folder.allow_outside and not (near and path.suffix.lower() in MODEL_FILES | DATA):
            refused.append(
                where.error(
                    f"a macro reads {str(name)!r}, which is no file of a model, or lies in no folder that packages are "
                    "looked for in; pass allow_outside=True if you trust the model"
                )
            )
            raise refused[0]

    def bounded_parse(inp: Any, filename: Any = None) -> Any:
        if inp is None:
            inp = given(folder.path / Path(filename))
        if inp is None:
            checked(filename)
        elif isinstance(inp, bytes):
            inp = inp.decode()
        return parse(inp, filename)

    def bounded_yaml(filename: Any) -> Any:
        checked(xacro.abs_filename_spec(filename))
        return load_yaml(filename)

    def package(name: str) -> str:
        for place in _roots(folder):
            if place.name == name:
                return str(place)
            if (place / name).is_dir():
                return str(place / name)
        raise where.error(f"the package {name!r} is not found; pass package_dirs=[folder], or set ROS_PACKAGE_PATH")

    xacro.parse, xacro.load_yaml, words._eval_find = bounded_parse, bounded_yaml, package
    known, symbols = words._eval_dict["find"], xacro._global_symbols
    words._eval_dict["find"] = package
    xacro.safe_eval, xacro.handle_macro_call = lambda text, names, _=None: bounds.evaluate(text, names), bounded_call
    # It would take Python's own, which runs anything.
    words.eval = lambda text, _, names: bounds.evaluate(text, names, (list, dict, map, str, float, int))
    xacro._global_symbols = xacro.create_global_symbols()  # expressions take `load_yaml` from there
    try:
        yield
    finally:
        xacro.parse, xacro.load_yaml, words._eval_find = parse, load_yaml, find
        xacro.safe_eval, xacro.handle_macro_call = evaluate, call
        del words.eval
        xacro._global_symbols = symbols
        words._eval_dict["find"] = known


def _roots(folder: Folder) -> list[Path]:
    """Where packages are looked for: the folder and those above it, and those that were named."""
    return [p.resolve() for p in (folder.path, *list(folder.path.parents)[:-1], *folder.listed)]
