"""Derivatives that users wrote, against differences: a wrong one ends in a search that leads nowhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction.errors import ProblemError
from leastaction.optimize.functions.motion_functions import FloatArray, Function
from leastaction.optimize.functions.user_functions import UserFunctionAtKnots

if TYPE_CHECKING:
    from leastaction.optimize.transcriptions.transcription import Transcription

STEP = 1e-4
"""Of the differences, beside 1 and the size of a number: long enough for functions that iterate or are rounded."""
LOOSE = 1e-3
"""What a derivative may be off, beside the largest one of the same value."""
NOISE = 1e-7
"""What it may be off beside the value itself: rounding."""
ASIDE = 0.01
"""How far from the guess is looked, beside 1 and the size of a number. A guess is often at rest, where derivatives of
squares are right whatever their factor, or on a kink."""


def check_program(program: Transcription, z: FloatArray) -> None:
    """`check_user_derivatives` for the functions of a nonlinear program, close to its unknowns z of the first guess."""
    motion, problem = program.motion(z), program.problem
    knots = motion.q[:: program.s]
    v = program.mechanism.difference(knots[:-1], knots[1:]) / motion.dt
    check_user_derivatives(
        [each.function for each in (*problem.costs, *problem.constraints)], knots, v, motion.u.mean(axis=1)
    )


def check_user_derivatives(functions: Iterable[Function], q: FloatArray, v: FloatArray, u: FloatArray) -> None:
    """Compare derivatives written by hand with differences, once for each function, close to a first guess.

    At its start, in its middle and at its end; places where the function has no values are omitted.

    Args:
        functions: of a problem; those without derivatives written by hand are left alone.
        q: positions at knots, shape (rows, nq).
        v: velocities, shape (rows - 1, nv).
        u: controls, shape (rows - 1, nu).

    Raises:
        ProblemError: one is wrong.
    """
    for function in functions:
        if not isinstance(function, UserFunctionAtKnots) or function.rows is not None or function.compared:
            continue
        for k in {0, len(v) // 2, len(v) - 1}:
            given = {"q": q[k], "v": v[k], "u": u[k]}
            _check_at(function, [given[name] for name in function.arguments])
        function.compared = True


def _check_at(f: UserFunctionAtKnots, given: list[FloatArray]) -> None:
    """Compare at arguments close to the given ones."""
    place = [_moved(f, i, x, _aside(f, i, x)) for i, x in enumerate(given)]
    found = _values(f, place)
    if found is None:
        return
    value, *slopes = found
    for i, (name, analytic) in enumerate(zip(f.arguments, slopes, strict=True)):
        ahead, behind = np.full(analytic.shape, np.nan), np.full(analytic.shape, np.nan)
        for j in range(analytic.shape[1]):
            x = place[i]
            h = STEP * (1.0 + (abs(x[j]) if len(x) == analytic.shape[1] else 0.0))
            move = h * np.eye(analytic.shape[1])[j]
            for out, sign in ((ahead, 1.0), (behind, -1.0)):
                other = _values(f, [*place[:i], _moved(f, i, x, sign * move), *place[i + 1 :]])
                if other is not None and other[0].shape == value.shape:
                    out[:, j] = sign * (other[0] - value) / h
        mean, bent = 0.5 * (ahead + behind), np.abs(ahead - behind)  # bent: kinks, curvature, and noise
        largest = np.fmax(np.abs(analytic), np.abs(mean)).max(axis=1, initial=0.0, where=np.isfinite(mean))[:, None]
        off = np.abs(mean - analytic) - bent - LOOSE * largest - NOISE * (1.0 + np.abs(value[:, None]))
        if (off > 0.0).any():  # not where differences are not finite
            row, column = np.unravel_index(int(np.nanargmax(off)), off.shape)
            raise ProblemError(
                f"{f.name}: the derivative of value {row} by {name} of {_label(f, name, int(column))!r} is "
                f"{analytic[row, column]:.6g}, but differences give {mean[row, column]:.6g}"
            )


def _aside(f: UserFunctionAtKnots, i: int, x: FloatArray) -> FloatArray:
    """A move by which to look aside, other for each number."""
    n = f.mechanism.nv if f.arguments[i] == "q" else len(x)
    size = 1.0 + np.abs(x) if len(x) == n else np.ones(n)
    return ASIDE * size * (0.5 + np.modf(0.618 * np.arange(1, n + 1))[0])


def _moved(f: UserFunctionAtKnots, i: int, x: FloatArray, move: FloatArray) -> FloatArray:
    """An argument, moved along the tangent."""
    return f.mechanism.integrate(x, move) if f.arguments[i] == "q" else x + move


def _values(f: UserFunctionAtKnots, given: list[FloatArray]) -> list[Any] | None:
    """Values and derivatives; None where there are none, as outside of the domain of a function."""
    try:
        with np.errstate(all="ignore"):
            found = f.checked(given)
    except Exception:  # the search says so where it comes there
        return None
    return found if all(np.isfinite(x).all() for x in found) else None


def _label(f: UserFunctionAtKnots, name: str, column: int) -> str:
    """What an argument's number is called."""
    m = f.mechanism
    return m.velocity_names[column] if name != "u" or not m.actuators else m.actuators[column].name
