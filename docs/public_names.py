"""Hook of MkDocs: the page of all public names, made from the code when the documentation is built."""

import dataclasses
import inspect
import re
from importlib import import_module
from types import ModuleType
from typing import Any

import leastaction

MARK = "<!-- all public names -->"
"""What the page has in the place of the tables."""

PAGES = {
    "leastaction": "simulate",
    "derivatives": "derivatives",
    "forces": "forces",
    "mechanism": "mechanism",
    "maximal": "simulate",
    "redmax": "redmax",
}
"""The page of the reference that describes the names of a module, where it has another name than the module."""


def modules() -> list[tuple[str, ModuleType]]:
    """The package and its public modules, by the names that users write."""
    inner = [name for name in leastaction.__all__ if inspect.ismodule(getattr(leastaction, name))]
    return [("la", leastaction), *((f"la.{name}", import_module(f"leastaction.{name}")) for name in sorted(inner))]


def _first_sentence(value: object) -> str:
    text = inspect.getdoc(value) or ""
    if text.startswith(f"{getattr(value, '__name__', '')}("):  # a dataclass without a docstring
        return ""
    sentence = re.split(r"(?<!Eq\.)(?<!e\.g\.)(?<=\.)\s", " ".join(text.split("\n\n")[0].split()), maxsplit=1)[0]
    return sentence.replace("|", "\\|")


def _arguments(value: object) -> str:
    """Names of arguments, those with defaults with `=`; nothing where there are none to tell."""
    if isinstance(value, ModuleType):
        return ""
    if inspect.isclass(value) and issubclass(value, BaseException | int | str):
        return ""
    try:
        parameters = [p for p in inspect.signature(value).parameters.values() if p.name != "self"]  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    words, starred = [], False
    for p in parameters:
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            starred = starred or p.kind == p.VAR_POSITIONAL
            words.append(("*" if p.kind == p.VAR_POSITIONAL else "**") + p.name)
            continue
        if p.kind == p.KEYWORD_ONLY and not starred:
            words.append("*")
            starred = True
        words.append(p.name + ("" if p.default is p.empty else f"={_default(p.default)}"))
    return f"({', '.join(words)})"


def _default(value: object) -> str:
    simple = isinstance(value, int | float | str | bool | type(None)) or value == ()
    if dataclasses.is_dataclass(value) or not simple:
        return "…"
    return repr(value)


def tables() -> str:
    """For each public module a table of its names."""
    parts = []
    for name, module in modules():
        own = name.rpartition(".")[2]
        page = PAGES.get(own if own != "la" else "leastaction", own)
        parts.append(f"\n## {name}\n\n{_first_sentence(module)} [Reference]({page}.md).\n\n| name | |\n| --- | --- |")
        parts += [f"| `{call}` | {about} |" for call, about in names(module)]
    return "\n".join(parts) + "\n"


def names(module: ModuleType) -> list[tuple[str, str]]:
    """(Name with arguments, first sentence) of all public names of a module but modules."""
    found = [(name, getattr(module, name)) for name in sorted(module.__all__, key=str.casefold)]
    return [(name + _arguments(x), _first_sentence(x)) for name, x in found if not inspect.ismodule(x)]


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called with every page."""
    return markdown.replace(MARK, tables()) if MARK in markdown else markdown
