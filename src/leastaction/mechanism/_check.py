"""Turning user input into finite, immutable numbers, with errors that name the culprit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from leastaction.errors import MechanismError

UNIT_TOLERANCE = 1e-6
"""How far the norm of an axis or a quaternion may be from one before it is refused."""

AXES = {
    "x": (1.0, 0.0, 0.0),
    "y": (0.0, 1.0, 0.0),
    "z": (0.0, 0.0, 1.0),
    "-x": (-1.0, 0.0, 0.0),
    "-y": (0.0, -1.0, 0.0),
    "-z": (0.0, 0.0, -1.0),
}


def number(value: Any, what: str, *, infinite: bool = False) -> float:
    """`value` as a float; refuses NaN, and infinity unless `infinite`."""
    try:
        x = float(value)
    except (TypeError, ValueError):
        raise MechanismError(f"{what}: expected a number, got {value!r}") from None
    if math.isnan(x) or (math.isinf(x) and not infinite):
        raise MechanismError(f"{what}: expected a finite number, got {x}")
    return x


def nonnegative(value: Any, what: str) -> float:
    """`value` as a finite float that is not negative."""
    x = number(value, what)
    if x < 0.0:
        raise MechanismError(f"{what}: must not be negative, got {x}")
    return x


def positive(value: Any, what: str) -> float:
    """`value` as a finite float above zero."""
    x = number(value, what)
    if x <= 0.0:
        raise MechanismError(f"{what}: must be positive, got {x}")
    return x


def vector(value: Any, size: int, what: str, *, infinite: bool = False) -> tuple[float, ...]:
    """`value` as a tuple of `size` finite floats."""
    try:
        items = tuple(np.asarray(value, dtype=float).ravel().tolist())
    except (TypeError, ValueError):
        raise MechanismError(f"{what}: expected {size} numbers, got {value!r}") from None
    if len(items) != size:
        raise MechanismError(f"{what}: expected {size} numbers, got {len(items)}")
    return tuple(number(x, what, infinite=infinite) for x in items)


def unit(value: Any, size: int, what: str) -> tuple[float, ...]:
    """`value` as a unit vector (axis, quaternion); refused when its norm is off by more than 1e-6."""
    v = vector(value, size, what)
    norm = math.sqrt(sum(x * x for x in v))
    if abs(norm - 1.0) > UNIT_TOLERANCE:
        raise MechanismError(f"{what}: must have unit norm, got norm {norm:.9g}")
    # Norms within rounding are kept as given, so that reading a file twice changes nothing.
    return v if abs(norm - 1.0) < 1e-15 else tuple(x / norm for x in v)


def axis(value: Any, what: str) -> tuple[float, ...]:
    """A unit axis, given as a 3-vector or as one of "x", "y", "z", "-x", "-y", "-z"."""
    if isinstance(value, str):
        if value not in AXES:
            raise MechanismError(f"{what}: expected one of {', '.join(AXES)} or a unit vector, got {value!r}")
        return AXES[value]
    return unit(value, 3, what)


def per_dof(value: Any, size: int, what: str, *, infinite: bool = False) -> tuple[float, ...]:
    """`value` for each of `size` degrees of freedom; one number serves them all."""
    if isinstance(value, int | float | np.number):
        return (number(value, what, infinite=infinite),) * size
    return vector(value, size, what, infinite=infinite)


def pair(value: Any, what: str) -> tuple[Any, Any]:
    """`value` as a pair of anything."""
    try:
        first, second = value
    except (TypeError, ValueError):
        raise MechanismError(f"{what}: expected a pair, got {value!r}") from None
    return first, second


def label(value: Any, what: str) -> str:
    """`value` as a non-empty name."""
    if not isinstance(value, str) or not value.strip():
        raise MechanismError(f"{what}: expected a non-empty name, got {value!r}")
    return value


def flag(value: Any, what: str) -> bool:
    """`value` as True or False; nothing else is taken for one of them."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise MechanismError(f"{what}: expected True or False, got {value!r}")


def instance(value: Any, kind: type | tuple[type, ...], what: str) -> Any:
    """`value`, which must be one of a kind."""
    if not isinstance(value, kind):
        names = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
        raise MechanismError(f"{what}: expected {names}, got {value!r}")
    return value


def instances(values: Any, kind: type | tuple[type, ...], what: str) -> tuple[Any, ...]:
    """`values` as a tuple of one kind."""
    if isinstance(values, str | dict) or not isinstance(values, Iterable):
        raise MechanismError(f"{what}: expected several in a tuple, got {values!r}")
    return tuple(instance(value, kind, what) for value in values)


def unique(names: Sequence[str], what: str) -> None:
    """Refuses a name that is used twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise MechanismError(f"{what} {name!r}: this name is used twice")
        seen.add(name)


def suggestion(name: Any, known: Any) -> str:
    """`; did you mean ...?` when a known name is close, else what is known if that is short; may be empty."""
    import difflib

    names = list(known)
    if not isinstance(name, str):
        return f"; expected a name such as {names[0]!r}" if names else ""
    folded = {other.casefold(): other for other in reversed(names)}
    close = difflib.get_close_matches(name.casefold(), folded, n=1)
    close = close or [other for other in folded if len(name) > 1 and name.casefold() in other]
    if close:
        return f"; did you mean {folded[close[0]]!r}?"
    return f"; there are {', '.join(map(repr, names))}" if 0 < len(names) <= 8 else ""
