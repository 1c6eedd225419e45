"""Turning user input into finite, immutable numbers, with errors that name the culprit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import LeastActionError, MechanismError

Made = TypeVar("Made")

UNIT_TOLERANCE = 1e-6
"""How far the norm of an axis or a quaternion may be from one before it is refused."""

LARGEST = 1e60
"""Largest size of a number that describes a mechanism: products of several must not overflow."""

_NO_REALS = (str, bytes, bool, complex, np.bool_, np.complexfloating)

AXES = {
    "x": (1.0, 0.0, 0.0),
    "y": (0.0, 1.0, 0.0),
    "z": (0.0, 0.0, 1.0),
    "-x": (-1.0, 0.0, 0.0),
    "-y": (0.0, -1.0, 0.0),
    "-z": (0.0, 0.0, -1.0),
}


def number(value: Any, what: str, *, infinite: bool = False) -> float:
    """`value` as a float; refuses NaN, numbers beyond `LARGEST`, and infinity unless `infinite`."""
    if type(value) is not float:
        value = _real(value, what)
    if math.isnan(value) or (math.isinf(value) and not infinite):
        raise MechanismError(f"{what}: expected a finite number, got {value}")
    if abs(value) > LARGEST and not infinite:
        raise MechanismError(f"{what}: must not be larger than {LARGEST:g}, got {value}")
    return value


def _real(value: Any, what: str) -> float:
    """`value` as a float; text, True and False, complex numbers and arrays are none."""
    array = isinstance(value, np.ndarray) and (value.ndim > 0 or value.dtype.kind in "bc")
    if not array and not isinstance(value, _NO_REALS):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    raise MechanismError(f"{what}: expected a number, got {shown(value)}")


def shown(value: Any) -> str:
    """`value` as messages show it: never longer than a line."""
    try:
        text = repr(value)
    except Exception:  # of a class of the user's
        text = f"a {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:77]}..."


def real_array(value: Any) -> NDArray[np.float64] | None:
    """`value` as a new array of floats; None where it is anything but real numbers, or some of it is masked."""
    if np.ma.is_masked(value):
        return None
    try:
        a = np.asarray(value)
        if a.dtype.kind not in "fiuO" or (a.dtype.kind == "O" and any(isinstance(x, _NO_REALS) for x in a.flat)):
            return None
        return np.array(a, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # the last: of PyTorch, whose tensor has a gradient
        return None


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
    if not (type(value) is tuple and all(type(x) is float for x in value)):
        numbers = real_array(value)
        if numbers is None or isinstance(value, dict):
            raise MechanismError(f"{what}: expected {size} numbers, got {shown(value)}")
        value = tuple(numbers.ravel().tolist())
    if len(value) != size:
        raise MechanismError(f"{what}: expected {size} numbers, got {len(value)}")
    return tuple(number(x, what, infinite=infinite) for x in value)


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
    if isinstance(value, int | float | np.number) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return (number(value, what, infinite=infinite),) * size
    return vector(value, size, what, infinite=infinite)


def pair(value: Any, what: str) -> tuple[Any, Any]:
    """`value` as a pair of anything."""
    try:
        first, second = value
    except (TypeError, ValueError):
        raise MechanismError(f"{what}: expected a pair, got {shown(value)}") from None
    return first, second


def label(value: Any, what: str) -> str:
    """`value` as a non-empty name."""
    if not isinstance(value, str) or not value.strip():
        raise MechanismError(f"{what}: expected a non-empty name, got {shown(value)}")
    return value


def text(value: Any, what: str) -> str:
    """`value` as text, which may be empty."""
    if not isinstance(value, str):
        raise MechanismError(f"{what}: expected text, got {shown(value)}")
    return value


def flag(value: Any, what: str) -> bool:
    """`value` as True or False; nothing else is taken for one of them."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise MechanismError(f"{what}: expected True or False, got {shown(value)}")


def choice(value: Any, known: Iterable[str], what: str, error: type[LeastActionError] = MechanismError) -> str:
    """`value` as one of the known names."""
    if isinstance(value, str) and value in known:
        return value
    raise error(f"{what} must be one of {', '.join(map(repr, known))}, got {shown(value)}")


def count(value: Any, what: str) -> int:
    """`value` as a whole number of at least 1."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not 1 <= value < 2**31:
        raise MechanismError(f"{what}: expected a whole number of at least 1, got {shown(value)}")
    return int(value)


def made(kind: Callable[..., Made], *values: Any, **options: Any) -> Made:
    """An instance of a class that checks and converts what it is given, such as sequences to tuples."""
    return kind(*values, **options)


def instance(value: Any, kind: type | tuple[type, ...], what: str) -> Any:
    """`value`, which must be one of a kind."""
    if not isinstance(value, kind):
        names = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
        raise MechanismError(f"{what}: expected {names}, got {shown(value)}")
    return value


def instances(values: Any, kind: type | tuple[type, ...], what: str) -> tuple[Any, ...]:
    """`values` as a tuple of one kind."""
    if isinstance(values, str | dict) or not isinstance(values, Iterable):
        raise MechanismError(f"{what}: expected several in a tuple, got {shown(values)}")
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
