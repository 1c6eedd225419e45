"""Settings of integrators: of which kind they are, and what is refused by name."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np

from leastaction.errors import IntegratorError
from leastaction.mechanism._check import shown

MOST = 2**31 - 1
"""Largest whole number of a setting."""


def is_number(value: Any) -> bool:
    """Whether `value` is a finite real number; True and False are none."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and abs(int(value)) <= MOST


def is_count(value: Any) -> bool:
    """Whether `value` is a whole number of at least 1."""
    return _is_whole(value) and value >= 1


_SETTINGS: dict[Any, tuple[str, Any, Any]] = {
    "int": (f"a whole number of at most {MOST}", _is_whole, int),
    "float": ("a finite number", is_number, float),
    "bool": ("True or False", lambda value: isinstance(value, bool | np.bool_), bool),
    "str": ("text", lambda value: isinstance(value, str), str),
}
"""Kinds of settings by their annotation: what they are, how they are recognised, and what they become."""
_SETTINGS |= {kind: _SETTINGS[kind.__name__] for kind in (int, float, bool, str)}

_BOUNDS = {
    "tolerance": ("between 0 and 1", lambda value: 0.0 < value < 1.0),
    "max_iterations": ("at least 1", lambda value: value >= 1),
}
"""Bounds of settings that several integrators have."""


def make_plain(integrator: Any) -> None:
    """Turn settings that are NumPy's numbers into Python's."""
    for field in fields(integrator):
        value = getattr(integrator, field.name)
        if isinstance(value, np.integer | np.floating | np.bool_) and field.init:
            object.__setattr__(integrator, field.name, value.item())


def check_settings(integrator: Any) -> None:
    """Refuse settings that are not of the kind that their annotations say, and make the others exactly that."""
    own = type(integrator).__name__
    for field in fields(integrator):
        value = getattr(integrator, field.name)
        annotation = field.type.removesuffix(" | None") if isinstance(field.type, str) else field.type
        if annotation not in _SETTINGS or not field.init or (value is None and annotation != field.type):
            continue
        words, fits, kind = _SETTINGS[annotation]
        if not fits(value):
            raise IntegratorError(f"{own}: {field.name} must be {words}, got {shown(value)}")
        object.__setattr__(integrator, field.name, kind(value))
        words, holds = _BOUNDS.get(field.name, ("", None))
        if holds is not None and not holds(value):
            raise IntegratorError(f"{own}: {field.name} must be {words}, got {value!r}")
