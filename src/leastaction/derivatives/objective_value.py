"""What an objective says of a run, whole: values that can be added and scaled without losing a part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.actuation.controls import check_call
from leastaction.errors import IntegratorError
from leastaction.mechanism._check import real_array, shown
from leastaction.mechanism.arguments import FloatArray
from leastaction.trajectory.trajectory import Trajectory

Objective = Callable[[Trajectory], Any]
"""A function of a run: its value with gradients, see `ObjectiveValue`."""

Direct = Callable[[str], Any]
"""From the name of a parameter to the part of the gradient by it that does not come through the states."""

_MADE: ContextVar[list[ObjectiveValue] | None] = ContextVar("objective values made by an objective", default=None)


@dataclass(frozen=True, eq=False)
class ObjectiveValue:
    """Value and gradients of an objective: `2.0 * reach(...)(run) + other(run)` keeps all of them.

    Attributes:
        value: of the objective.
        dq: gradient by all positions along the tangent of `Mechanism.integrate`, shape (states, nv); None is zero.
        dv: gradient by all velocities, shape (states, nv); None is zero.
        direct: where the objective depends on parameters directly, such as the position of a point on the length of
            the links that carry it: a function from a parameter's name to that part of the gradient; None is zero.
    """

    value: float
    dq: ArrayLike | None = None
    dv: ArrayLike | None = None
    direct: Direct | None = None

    def __post_init__(self) -> None:
        value = real_array(self.value)
        if value is None or value.ndim or not np.isfinite(value):
            raise IntegratorError(f"value: an objective's value must be a finite number, got {shown(self.value)}")
        for name in ("dq", "dv"):
            given = getattr(self, name)
            if given is not None and real_array(given) is None:
                raise IntegratorError(f"{name}: expected a gradient, an array of numbers, got {shown(given)}")
        if self.direct is not None and not callable(self.direct):
            raise IntegratorError(f"direct: expected a function of a parameter's name, got {shown(self.direct)}")
        made = _MADE.get()
        if made is not None and self.direct is not None:
            made.append(self)

    def __iter__(self) -> Iterator[Any]:
        """All four parts."""
        return iter((self.value, self.dq, self.dv, self.direct))

    def __getitem__(self, k: int) -> Any:
        """One of the four parts."""
        return (self.value, self.dq, self.dv, self.direct)[k]

    def __add__(self, other: Any) -> ObjectiveValue:
        if isinstance(other, int | float | np.number):
            return ObjectiveValue(self.value + float(other), self.dq, self.dv, self.direct)
        if not isinstance(other, ObjectiveValue):
            return NotImplemented
        direct = [part for part in (self.direct, other.direct) if part is not None]
        both = None if not direct else direct[0] if len(direct) == 1 else _sum_of(direct)
        return ObjectiveValue(self.value + other.value, _added(self.dq, other.dq), _added(self.dv, other.dv), both)

    __radd__ = __add__

    def __mul__(self, factor: Any) -> ObjectiveValue:
        if not isinstance(factor, int | float | np.number):
            return NotImplemented
        c, direct = float(factor), self.direct
        scaled = None if direct is None else lambda name: c * np.asarray(direct(name))
        return ObjectiveValue(c * self.value, _scaled(c, self.dq), _scaled(c, self.dv), scaled)

    __rmul__ = __mul__

    def __neg__(self) -> ObjectiveValue:
        return -1.0 * self

    def __sub__(self, other: Any) -> ObjectiveValue:
        return self + -1.0 * other

    def directly(self, name: str) -> FloatArray:
        """Gradient by a parameter that does not come through the states."""
        return np.asarray(0.0 if self.direct is None else self.direct(name), float)


def evaluated(objective: Callable[..., Any], run: Trajectory, names: Iterable[str], *piece: int) -> ObjectiveValue:
    """What an objective says of a run; refuses to lose the direct part of an objective that it is made of.

    Args:
        objective: as for `leastaction.adjoint`.
        run: of which it is asked.
        names: parameters that the gradient is by.
        *piece: further arguments of `objective`.
    """
    check_call(objective, "objective", ("run", *("first", "steps")[: len(piece)]))
    token = _MADE.set([])
    try:
        out = objective(run, *piece)
        made = _MADE.get() or []
    finally:
        _MADE.reset(token)
    if isinstance(out, ObjectiveValue):
        return out
    if not isinstance(out, tuple) or len(out) not in (3, 4):
        raise IntegratorError(
            "an objective must give (value, gradient by q or None, gradient by v or None), and as a fourth, if it "
            f"depends on parameters directly, a function of their names; got {out!r:.80}"
        )
    if len(out) == 3:
        for name in names:
            if any(np.any(part.directly(name)) for part in made):
                raise IntegratorError(
                    f"the objective is made of one that depends on {name!r} directly, and loses that part of the "
                    "gradient: add and scale such values whole, reach(...)(run) + other(run), or give their `direct` "
                    "on as a fourth"
                )
    return ObjectiveValue(*out)


def _sum_of(parts: list[Direct]) -> Direct:
    return lambda name: sum(np.asarray(part(name)) for part in parts)


def _added(a: Any, b: Any) -> Any:
    return b if a is None else a if b is None else np.asarray(a) + np.asarray(b)


def _scaled(c: float, a: Any) -> Any:
    return None if a is None else c * np.asarray(a)


def state_gradient(run: Trajectory, value: Any, what: str) -> FloatArray:
    """A gradient by all states of a run, shape (states, nv), checked; zero where it is None."""
    shape = (len(run), run.mechanism.nv)
    if value is None:
        return np.zeros(shape)
    a = real_array(value)
    if a is None or a.shape != shape or not np.isfinite(a).all():
        got = shown(value) if a is None else f"shape {a.shape}"
        raise IntegratorError(f"{what}: expected finite numbers of shape {shape}, got {got}")
    return np.ascontiguousarray(a)
