"""Functions of a motion with their derivatives: what costs and constraints are made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import ProblemError
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown
from leastaction.optimize.functions import argument_checks
from leastaction.optimize.functions.manifold_derivatives import Tangents
from leastaction.typing import FloatArray

BoolArray = NDArray[np.bool_]


@dataclass(frozen=True)
class Place:
    """The motion at some knots, in the middles of some steps or at some control nodes, one row each.

    Attributes:
        index: numbers of the knots or steps, shape (rows,).
        t: times [s], shape (rows,).
        q: joint positions [rad or m], shape (rows, nq).
        v: mean velocities of the steps [rad/s or m/s], shape (rows, nv); empty at knots.
        u: controls, shape (rows, nu); empty at knots.
        dt: time step [s].
    """

    index: NDArray[np.int64]
    t: FloatArray
    q: FloatArray
    v: FloatArray
    u: FloatArray
    dt: float


@dataclass
class Values:
    """What a function gives at a `Place`.

    Attributes:
        value: shape (rows, size).
        q, v: derivatives along the tangent at q, and by v, shape (rows, size, nv); None: zero.
        x: by the displacement dt v over the step, shape (rows, size, nv); None: zero.
        u: by the controls, shape (rows, size, nu); None: zero.
        dt: by the time step, shape (rows, size); None: zero.
    """

    value: FloatArray
    q: FloatArray | None = None
    v: FloatArray | None = None
    x: FloatArray | None = None
    u: FloatArray | None = None
    dt: FloatArray | None = None


@dataclass
class Curvature:
    """Second derivatives of bar . function.

    Attributes:
        second: by q at knots (rows, nv, nv); by q, v and u in the middles of steps (rows, 2 nv + nu, 2 nv + nu), where
            u may be omitted. Along the tangent at q, made symmetric. None: zero.
        by_v: first derivatives of bar . function by v, shape (rows, nv); None: zero.
    """

    second: FloatArray | None
    by_v: FloatArray | None = None


@dataclass
class Function(ABC):
    """A vector function of the motion, evaluated at knots, in the middles of steps or at control nodes.

    In the middle of a step q is half way between its ends, v is their difference over dt (Villanueva 2025, Eq. 7), and
    u the mean of the controls.

    Attributes:
        name: what messages call it.
        where: "knots", "steps" or "controls".
        at: numbers of the knots or steps at which it is evaluated, negative ones counted from the end; None: all.
    """

    name: str = ""
    at: Sequence[int] | int | None = None
    where: ClassVar[str] = "knots"
    mechanism: Mechanism = field(init=False, repr=False)
    size: int = field(init=False, default=0, repr=False)
    _room: FloatArray | None = field(init=False, default=None, repr=False, compare=False)

    def prepare(self, mechanism: Mechanism, steps: int) -> None:
        """Check the function against a robot and find its `size`; raises `ProblemError`."""
        self.mechanism = mechanism

    @abstractmethod
    def evaluate(self, place: Place, slopes: bool) -> Values:
        """Values, with derivatives if `slopes`."""

    has_curvatures: ClassVar[bool] = False
    """Whether `curvatures` is there."""
    reads_motion: ClassVar[bool] = True
    """Whether q or v count, of functions in the middles of steps."""

    def curvatures(self, place: Place, bar: FloatArray) -> Curvature | None:
        """Second derivatives of bar . function, bar of shape (rows, size); None where all of them are zero."""
        raise NotImplementedError

    def room(self, *shape: int) -> FloatArray:
        """Zeros for `curvatures`, until it is called again: large arrays cost more to allocate than to fill."""
        if self._room is None or self._room.shape != shape:
            self._room = np.zeros(shape)
        else:
            self._room[:] = 0.0
        return self._room

    def pattern(self) -> dict[str, BoolArray]:
        """Which derivatives can be other than zero: "q", "v", "x" (size, nv), "u" (size, nu), "dt" (size,)."""
        raise NotImplementedError

    def indices(self, count: int) -> NDArray[np.int64]:
        """Numbers of the knots or steps of `count`."""
        if self.at is None:
            return np.arange(count)
        try:
            at = np.atleast_1d(np.asarray(self.at))
        except ValueError:
            at = np.array("")
        if at.ndim != 1 or at.dtype.kind != "i" or ((at < -count) | (at >= count)).any():
            raise ProblemError(
                f"{self.name}: at must be whole numbers from {-count} to {count - 1}, got {shown(self.at)}"
            )
        return np.where(at < 0, at + count, at).astype(np.int64)


@lru_cache(64)
def eye(mechanism_size: int, rows: int) -> FloatArray:
    """Identities, shape (rows, n, n), not to be written to."""
    return np.broadcast_to(np.eye(mechanism_size), (rows, mechanism_size, mechanism_size))


@dataclass
class Control(Function):
    """The controls, at their nodes."""

    where: ClassVar[str] = "controls"
    has_curvatures: ClassVar[bool] = True

    def prepare(self, mechanism: Mechanism, steps: int) -> None:
        """See `Function.prepare`."""
        super().prepare(mechanism, steps)
        self.size = mechanism.nu

    def evaluate(self, place: Place, slopes: bool) -> Values:
        """See `Function.evaluate`."""
        return Values(place.u, u=eye(self.size, len(place.u)) if slopes else None)

    def pattern(self) -> dict[str, BoolArray]:
        """See `Function.pattern`."""
        return {"u": np.eye(self.size, dtype=bool)}

    def curvatures(self, place: Place, bar: FloatArray) -> Curvature | None:
        """See `Function.curvatures`."""
        return None


@dataclass
class Velocity(Function):
    """Mean velocities of the steps [rad/s or m/s]."""

    where: ClassVar[str] = "steps"
    has_curvatures: ClassVar[bool] = True

    def prepare(self, mechanism: Mechanism, steps: int) -> None:
        """See `Function.prepare`."""
        super().prepare(mechanism, steps)
        self.size = mechanism.nv

    def evaluate(self, place: Place, slopes: bool) -> Values:
        """See `Function.evaluate`."""
        return Values(place.v, v=eye(self.size, len(place.v)) if slopes else None)

    def pattern(self) -> dict[str, BoolArray]:
        """See `Function.pattern`."""
        return {"v": np.eye(self.size, dtype=bool)}

    def curvatures(self, place: Place, bar: FloatArray) -> Curvature | None:
        """See `Function.curvatures`."""
        return Curvature(None, bar)


@dataclass
class Displacement(Velocity):
    """Differences of q over the steps [rad or m]."""

    def evaluate(self, place: Place, slopes: bool) -> Values:
        """See `Function.evaluate`."""
        return Values(place.dt * place.v, x=eye(self.size, len(place.v)) if slopes else None)

    def pattern(self) -> dict[str, BoolArray]:
        """See `Function.pattern`."""
        return {"x": np.eye(self.size, dtype=bool)}

    def curvatures(self, place: Place, bar: FloatArray) -> Curvature | None:
        """See `Function.curvatures`."""
        return None


@dataclass
class StepTime(Function):
    """The time step [s]; summed over all steps the final time."""

    where: ClassVar[str] = "steps"
    has_curvatures: ClassVar[bool] = True
    reads_motion: ClassVar[bool] = False

    def prepare(self, mechanism: Mechanism, steps: int) -> None:
        """See `Function.prepare`."""
        super().prepare(mechanism, steps)
        self.size = 1

    def evaluate(self, place: Place, slopes: bool) -> Values:
        """See `Function.evaluate`."""
        ones = np.ones((len(place.q), 1))
        return Values(place.dt * ones, dt=ones if slopes else None)

    def pattern(self) -> dict[str, BoolArray]:
        """See `Function.pattern`."""
        return {"dt": np.ones(1, bool)}

    def curvatures(self, place: Place, bar: FloatArray) -> Curvature | None:
        """See `Function.curvatures`."""
        return None


@dataclass
class Deviation(Function):
    """How far q is from a reference along the tangent [rad or m].

    Attributes:
        reference: configuration (nq,), or one for each knot (steps + 1, nq).
    """

    reference: Any = None
    has_curvatures: ClassVar[bool] = True

    def prepare(self, mechanism: Mechanism, steps: int) -> None:
        """See `Function.prepare`."""
        super().prepare(mechanism, steps)
        shapes = [(mechanism.nq,), (steps + 1, mechanism.nq)]
        reference = argument_checks.numbers(self.reference, shapes, f"{self.name}: reference")
        self.rows = np.broadcast_to(reference, (steps + 1, mechanism.nq))
        self.size, self.tangents = mechanism.nv, Tangents(mechanism)

    def _away(self, place: Place) -> FloatArray:
        reference = self.rows[place.index]
        return self.mechanism.difference(reference, place.q) if self.tangents.curved else place.q - reference

    def evaluate(self, place: Place, slopes: bool) -> Values:
        """See `Function.evaluate`."""
        x = self._away(place)
        if not slopes:
            return Values(x)
        by_end, _ = self.tangents.differences(x)
        return Values(x, q=eye(self.size, len(x)) if by_end is None else by_end)

    def pattern(self) -> dict[str, BoolArray]:
        """See `Function.pattern`."""
        return {"q": self.tangents.spread(np.eye(self.size, dtype=bool))}

    def curvatures(self, place: Place, bar: FloatArray) -> Curvature | None:
        """See `Function.curvatures`."""
        second = self.tangents.difference_hessian(self._away(place), bar)
        return None if second is None else Curvature(second)
