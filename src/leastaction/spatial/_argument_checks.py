"""Calls of the functions of this package from Python: arguments are checked at the door.

Compiled code takes whatever it is given: too short an array would be read, or written, beyond its end.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from leastaction.errors import MatrixError

VECTOR, QUATERNION, SYMMETRIC, MATRIX = 3, 4, 6, 9
TWIST, POSE, BLOCK, INERTIA = (3, 3), (9, 3), (9, 9), (0, 3, 6)
NUMBER, INDEX = 0, -1
"""What an argument is: so many numbers, one number (0), a whole number (-1), or a tuple of such."""

WORDS = {
    NUMBER: "a number",
    INDEX: "a whole number",
    VECTOR: "a vector (x, y, z)",
    QUATERNION: "a quaternion (w, x, y, z)",
    SYMMETRIC: "a symmetric matrix (xx, xy, xz, yy, yz, zz)",
    MATRIX: "a matrix of 9 numbers, row-major",
    TWIST: "a twist or wrench, two vectors",
    POSE: "a pose, a matrix of 9 numbers and a vector",
    BLOCK: "a block, two matrices of 9 numbers",
    INERTIA: "a spatial inertia (m, h, I) of 1, 3 and 6 numbers",
}

_KINDS: dict[str, Any] = (
    dict.fromkeys(("k", "m", "sin", "cos"), NUMBER)
    | dict.fromkeys(("a", "b", "v", "w", "wdot", "axis", "com", "p", "point", "g"), VECTOR)
    | dict.fromkeys(("S", "Ic"), SYMMETRIC)
    | dict.fromkeys(("V", "W", "F"), TWIST)
    | dict.fromkeys(("X", "Y"), POSE)
    | {"q": QUATERNION, "R": MATRIX, "M": INERTIA, "o": INDEX}
)
"""By the names of arguments."""

_OWN: dict[str, dict[str, Any]] = {
    "twist": {"A": TWIST, "B": TWIST},
    "so3": {"A": MATRIX, "B": MATRIX, "k": INDEX},
    "se3": {"B": BLOCK},
    "spatial_inertia": {"A": INERTIA, "B": INERTIA},
    "quat_mul": {"a": QUATERNION, "b": QUATERNION},
}
"""By the names of arguments in a module, or of a function."""

SIZES = {"3": 3, "4": 4, "6": 6, "6_at": 6, "9": 9, "_inertia": 10, "_sym": 6}
"""Entries of an array that functions of `arrays` read or write, by the end of their names."""


def kinds_of(function: Any) -> dict[str, Any]:
    """What each argument of a function is, the arrays of `arrays` apart."""
    name, module = function.__name__, function.__module__.rpartition(".")[2]
    kinds = _KINDS | _OWN.get(module, {}) | _OWN.get(name, {})
    return {x: kinds[x] for x in inspect.signature(function).parameters}


def entries_of(function: Any) -> int:
    """How many entries of the array `a` a function of `arrays` takes; 0 for others."""
    if not function.__module__.endswith(".arrays"):
        return 0
    name = function.__name__
    return next(SIZES[name.removeprefix(verb)] for verb in ("load", "store", "add") if name.startswith(verb))


def _is_number(x: Any) -> bool:
    if isinstance(x, int | np.integer):
        return not isinstance(x, bool) and abs(int(x)) < 1 << 62
    return isinstance(x, float | np.floating)


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a kind; arrays serve as tuples of numbers."""
    if isinstance(kind, tuple):
        both = zip(value, kind, strict=True) if isinstance(value, tuple) and len(value) == len(kind) else None
        return both is not None and all(fits(part, of) for part, of in both)
    if kind == NUMBER:
        return _is_number(value)
    if kind == INDEX:
        return _is_number(value) and not isinstance(value, float | np.floating)
    if isinstance(value, np.ndarray):
        return value.shape == (kind,) and value.dtype.kind in "fi"
    return isinstance(value, tuple) and len(value) == kind and all(map(_is_number, value))


def _check_array(name: str, a: Any, first: int, entries: int) -> None:
    if not (isinstance(a, np.ndarray) and a.ndim == 1 and a.dtype in (np.float64, np.float32)):
        raise MatrixError(f"spatial.{name}: a must be an array of floats with one dimension, got {_shown(a)}")
    if first < 0 or len(a) < first + entries:
        raise MatrixError(f"spatial.{name}: takes {entries} entries from {first} on; the array has {len(a)}")
    if not name.startswith("load") and not a.flags.writeable:
        raise MatrixError(f"spatial.{name}: the array is read only")


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} of {value.dtype}"
    try:
        return f"{value!r:.80}"
    except ValueError:  # a whole number with more digits than Python prints
        return "a huge number"


def guard(compiled: Any) -> None:
    """Let calls of a function from Python check their arguments; calls from compiled code do not come by here."""
    function = getattr(compiled, "py_func", None)
    if function is None:  # NUMBA_DISABLE_JIT is set, and Python's own errors are at hand
        return
    name, entries, kinds = function.__name__, entries_of(function), kinds_of(function)
    if entries:
        del kinds["a"]
    signature, inner = inspect.signature(function), compiled._compile_for_args

    def call(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        for x, kind in kinds.items():
            if not fits(given[x], kind):
                raise MatrixError(f"spatial.{name}: {x} must be {WORDS[kind]}, got {_shown(given[x])}")
        if name == "column" and not 0 <= given["k"] < 3:
            raise MatrixError(f"spatial.column: k must be 0, 1 or 2, got {given['k']}")
        if entries:
            _check_array(name, given["a"], given.get("o", 0), entries)
        return inner(*args, **kwargs)

    compiled._compile_for_args = call
