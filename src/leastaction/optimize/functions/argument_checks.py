"""Checking arguments of problems at the door: each is of its kind, or a `ProblemError` names it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from leastaction.errors import LeastActionError, ProblemError
from leastaction.integration.settings import is_count, is_number
from leastaction.mechanism._check import real_array, shown, suggestion
from leastaction.typing import FloatArray


def numbers(
    value: Any, shapes: Collection[tuple[int, ...]], what: str, *, free: bool = False, infinite: bool = False
) -> FloatArray:
    """Real numbers of one of these shapes; with `free` NaN is one, with `infinite` infinity."""
    a = None if isinstance(value, bool) else real_array(value)
    given = isinstance(value, np.ndarray) and value.dtype == object and any(x is None for x in value.flat)
    if a is None or given or a.shape not in shapes:
        expected = " or ".join("a number" if shape == () else f"shape {shape}" for shape in shapes)
        got = f"{shown(value)}, which is no number" if a is None or given else str(a.shape)
        raise ProblemError(f"{what}: expected {expected}, got {got}")
    if (np.isnan(a).any() and not free) or (np.isinf(a).any() and not infinite):
        raise ProblemError(f"{what}: expected finite numbers, got {shown(value)}")
    return a


def number(value: Any, what: str, *, least: float = -np.inf, above: float = -np.inf) -> float:
    """A finite number of at least `least`, and larger than `above`."""
    if not is_number(value) or value < least or value <= above:
        bound = "that is positive" if above == 0.0 else "of at least 0" if least == 0.0 else "that is finite"
        raise ProblemError(f"{what}: expected a number {bound}, got {shown(value)}")
    return float(value)


def count(value: Any, what: str) -> int:
    """A whole number of at least 1."""
    if not is_count(value):
        raise ProblemError(f"{what} must be a whole number of at least 1, got {shown(value)}")
    return int(value)


def flag(value: Any, what: str) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise ProblemError(f"{what} must be True or False, got {shown(value)}")
    return bool(value)


def text(value: Any, what: str) -> str:
    """Words."""
    if not isinstance(value, str):
        raise ProblemError(f"{what} must be text, got {shown(value)}")
    return value


def pairs(lower: FloatArray, upper: FloatArray, name_of: Callable[[int], str]) -> None:
    """Refuse bounds that no finite number keeps to; name_of(k) is what the k-th pair is called."""
    wrong = (lower > upper) | (lower == np.inf) | (upper == -np.inf)
    if wrong.any():
        k = int(np.argmax(wrong))
        why = "is above" if lower[k] > upper[k] else "leaves nothing below"
        raise ProblemError(f"{name_of(k)}: lower {lower[k]:g} {why} upper {upper[k]:g}")


def bounds(value: Any, names: list[str], what: str) -> tuple[FloatArray, FloatArray]:
    """(lower, upper), shape (len(names),) each: of two numbers, two arrays, or a mapping from names to such pairs."""
    n = len(names)
    try:
        if isinstance(value, Mapping):
            lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
            for name, pair in value.items():
                if name not in names:
                    raise ProblemError(f"{what}: there is no {name!r}{suggestion(str(name), [x for x in names if x])}")
                lower[names.index(name)], upper[names.index(name)] = pair
        else:
            lower, upper = (np.array(np.broadcast_to(np.asarray(x, float), (n,))) for x in value)
    except LeastActionError:
        raise
    except (TypeError, ValueError, OverflowError):
        raise ProblemError(f"{what}: expected (lower, upper), numbers or {n} each, got {shown(value)}") from None
    if np.isnan(lower).any() or np.isnan(upper).any():
        raise ProblemError(f"{what}: bounds must not be NaN")
    pairs(lower, upper, lambda k: f"{what} of {names[k]!r}")
    return lower, upper
