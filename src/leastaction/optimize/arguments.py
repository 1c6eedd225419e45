"""Checking arguments of problems at the door: each is of its kind, or a `ProblemError` names it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import ProblemError
from leastaction.integrators import is_count, is_number
from leastaction.mechanism._check import real_array, shown

FloatArray = NDArray[np.float64]


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


def choice(value: Any, known: Collection[str], what: str) -> str:
    """One of the words that are known."""
    if not isinstance(value, str) or value not in known:
        raise ProblemError(f"{what} must be one of {', '.join(known)}, got {shown(value)}")
    return value
