"""The integrators by name: what the command line offers and what the files of runs remember.

Nothing is listed here: every public `Integrator` of the package is found under its class name in lower case,
`HermiteSimpson` as `hermite-simpson`, with the fields of its dataclass as options.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from leastaction.errors import IntegratorError
from leastaction.integration.integrators import Integrator
from leastaction.mechanism._check import shown, suggestion

__all__ = ["find", "label", "make", "names", "options", "parse", "title"]


def _dashed(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def _public() -> dict[str, str]:
    """Public classes of the package: lower-case name with dashes -> class name. Imports none of them."""
    import leastaction

    return {_dashed(name): name for name in leastaction.__all__ if name[0].isupper()}


def _is_integrator(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Integrator)


def names() -> list[str]:
    """Names of all integrators, such as `"galerkin"`; earlier names of theirs are omitted, but `find` knows them."""
    import leastaction

    found = {name: (attribute, getattr(leastaction, attribute)) for name, attribute in _public().items()}
    return [name for name, (own, value) in found.items() if _is_integrator(value) and value.__name__ == own]


def find(name: str) -> type[Integrator]:
    """The class of an integrator, by its name (`"hermite-simpson"`) or that of its class (`"HermiteSimpson"`)."""
    import leastaction

    known = _public()
    key = name.strip().replace("_", "-") if isinstance(name, str) else ""
    attribute = known.get(key.lower()) or known.get(_dashed(key))
    found = getattr(leastaction, attribute) if attribute else None
    if found is None or not _is_integrator(found):
        hint = suggestion(name, names()) or f"; there are {', '.join(names())}"
        raise IntegratorError(f"unknown integrator {name!r}{hint}")
    return found


def options(integrator: type[Integrator]) -> dict[str, Any]:
    """Options of an integrator with their defaults."""
    if not _is_integrator(integrator):
        raise IntegratorError(f"integrator: expected a class such as leastaction.Galerkin, got {shown(integrator)}")
    return {field.name: field.default for field in fields(integrator) if field.init}


def make(name: str, settings: Mapping[str, Any] | None = None) -> Integrator:
    """An integrator by name; values that are text are read as the option's kind of value.

    Args:
        name: such as `"galerkin"`.
        settings: options, such as `{"order": "4"}`.
    """
    cls = find(name)
    known = options(cls)
    values = {}
    settings = {} if settings is None else settings
    if not isinstance(settings, Mapping) or not all(isinstance(option, str) for option in settings):
        raise IntegratorError(f"settings: expected options by name, got {shown(settings)}")
    for option, value in settings.items():
        key = option.strip().replace("-", "_")
        if key not in known:
            hint = suggestion(key, known) or ("" if known else "; it has none")
            raise IntegratorError(f"{_dashed(cls.__name__)} has no option {key!r}{hint}")
        values[key] = _value(cls, key, value, known[key]) if isinstance(value, str) else value
    try:
        return cls(**values)
    except TypeError as error:
        raise IntegratorError(f"{_dashed(cls.__name__)}: {error}") from None


def _value(cls: type, option: str, text: str, default: Any) -> Any:
    """Text as a value of the same kind as the default."""
    kinds = {bool: "true or false", int: "a whole number", float: "a number"}
    try:
        if isinstance(default, bool):
            return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}[text.lower()]
        if isinstance(default, int | float):
            return type(default)(text)
    except (KeyError, ValueError):
        expected = kinds[type(default)]
        raise IntegratorError(f"{_dashed(cls.__name__)}: {option} must be {expected}, got {text!r}") from None
    if isinstance(default, str):
        return text
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def parse(text: str) -> Integrator:
    """An integrator from text such as `"galerkin"`, `"galerkin:4"` or `"galerkin:order=4:solver=dense"`.

    Parts after the name are options; one without a name is the order.
    """
    if not isinstance(text, str):
        raise IntegratorError(f"text: expected the name of an integrator, got {shown(text)}")
    name, *parts = text.split(":")
    pairs = [part.split("=", 1) if "=" in part else ["order", part] for part in parts]
    return make(name, {key: value for key, value in pairs})


def label(integrator: Integrator) -> str:
    """Text that `parse` reads back: the name, and the options that differ from the defaults."""
    if not isinstance(integrator, Integrator):
        raise IntegratorError(f"integrator: expected one such as leastaction.Galerkin(), got {shown(integrator)}")
    defaults = options(type(integrator))
    parts = [_dashed(type(integrator).__name__)]
    for name, default in defaults.items():
        value = getattr(integrator, name)
        if name == "order":
            parts.insert(1, str(value))
        elif value != default:
            parts.append(f"{name}={value}")
    return ":".join(parts)


def title(integrator: Any) -> str:
    """Such as `"Galerkin(order=4)"`: the order, and the options that differ from the defaults; empty for None."""
    if not isinstance(integrator, Integrator):
        return ""
    defaults = options(type(integrator))
    values = {name: getattr(integrator, name) for name in defaults}
    parts = [f"{name}={value!r}" for name, value in values.items() if name == "order" or value != defaults[name]]
    return f"{type(integrator).__name__}({', '.join(parts)})"


def to_json(integrator: Any) -> Any:
    """Name and options as a JSON value; None where an option has no such form."""
    if not isinstance(integrator, Integrator):
        return None
    values = {name: getattr(integrator, name) for name in options(type(integrator))}
    try:
        json.dumps(values)
    except (TypeError, ValueError):
        return None
    return {"name": type(integrator).__name__, "options": values}


def from_json(value: Any) -> Integrator | None:
    """What `to_json` wrote; None for an integrator that this version does not know."""
    try:
        settings = {k: tuple(v) if isinstance(v, list) else v for k, v in value["options"].items()}
        return make(value["name"], {**find(value["name"]).older, **settings})
    except (IntegratorError, TypeError, ValueError, KeyError, AttributeError, OverflowError):
        return None
