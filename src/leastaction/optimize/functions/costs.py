"""What a motion is to be good at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.errors import ProblemError
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import choice, shown
from leastaction.optimize.functions import argument_checks
from leastaction.optimize.functions.kinematic_functions import BodyPoint, CentroidalMomentum
from leastaction.optimize.functions.motion_functions import (
    Control,
    Deviation,
    Displacement,
    Function,
    StepTime,
    Velocity,
)
from leastaction.optimize.functions.user_functions import UserFunctionAtKnots, UserFunctionOverSteps
from leastaction.typing import FloatArray

At = Sequence[int] | int | None


def prepare_function(function: Any, mechanism: Mechanism, steps: int) -> None:
    """Check a function of a cost or constraint against a robot; raises `ProblemError`."""
    if not isinstance(function, Function):
        raise ProblemError(f"function must be a Function of the motion, got {shown(function)}")
    function.prepare(mechanism, steps)


@dataclass
class Cost:
    """A sum over knots or steps of weighted squares of a function, or of the function itself.

    Attributes:
        function: of the motion.
        weight: one number, or one for each component; not negative for squares.
        squares: whether its components are squared.
        integral: whether the sum stands for an integral over time [s]: each knot or step then counts with its share.
    """

    function: Function
    weight: ArrayLike = 1.0
    squares: bool = True
    integral: bool = False

    def prepare(self, mechanism: Mechanism, steps: int) -> None:
        """Check it against a robot; raises `ProblemError`."""
        prepare_function(self.function, mechanism, steps)
        name, size = self.function.name, self.function.size
        weights = argument_checks.numbers(self.weight, [(), (size,)], f"{name}: weight")
        argument_checks.flag(self.squares, f"{name}: squares")
        argument_checks.flag(self.integral, f"{name}: integral")
        if self.squares and (weights < 0.0).any():
            raise ProblemError(f"{name}: the weight of squares must not be negative, got {self.weight!r}")
        self.weights = np.broadcast_to(weights, (size,))


def effort(weight: ArrayLike = 1.0) -> Cost:
    """Integral of the squared controls, sum of weight |u|^2 dt."""
    return Cost(Control("effort"), weight, integral=True)


def velocity(weight: ArrayLike = 1.0) -> Cost:
    """Integral of the squared joint velocities."""
    return Cost(Velocity("velocity"), weight, integral=True)


def differences(weight: ArrayLike = 1.0) -> Cost:
    """Sum of |q_k+1 - q_k|^2 (Villanueva 2025, Eq. 80)."""
    return Cost(Displacement("differences"), weight)


def momentum(weight: ArrayLike = 1.0) -> Cost:
    """Integral of the squared momentum about the centre of mass, (angular, linear) (Villanueva 2025, Eq. 79)."""
    return Cost(CentroidalMomentum("momentum"), weight, integral=True)


def tracking(reference: ArrayLike, weight: ArrayLike = 1.0) -> Cost:
    """Integral of the squared distance from a configuration (nq,), or from one for each knot (steps + 1, nq)."""
    return Cost(Deviation("tracking", reference=reference), weight, integral=True)


def terminal(reference: ArrayLike, weight: ArrayLike = 1.0) -> Cost:
    """Squared distance of the last configuration from `reference` (nq,)."""
    return Cost(Deviation("terminal", at=-1, reference=reference), weight)


def reach(
    body: str, target: ArrayLike, weight: ArrayLike = 1.0, *, point: ArrayLike = (0.0, 0.0, 0.0), at: At = -1
) -> Cost:
    """Squared distance [m^2] of a point of a body from a target in the world, at some knots, default the last."""
    function = _Reach(f"reach {body}", at, body=body, point=point)
    function.target = argument_checks.numbers(target, [(3,)], f"reach {body}: target [m]")
    return Cost(function, weight)


class _Reach(BodyPoint):
    """A point of a body less its target [m]."""

    target: FloatArray

    def evaluate(self, place, slopes):
        """See `Function.evaluate`."""
        out = super().evaluate(place, slopes)
        out.value = out.value - self.target
        return out


def time(weight: float = 1.0) -> Cost:
    """The final time [s]."""
    return Cost(StepTime("time"), weight, squares=False)


def cost(
    f: Callable[..., object],
    *,
    where: str = "steps",
    kind: str = "numpy",
    weight: ArrayLike = 1.0,
    squares: bool = False,
    integral: bool = True,
    at: At = None,
    name: str = "cost",
) -> Cost:
    """A cost of your own.

    Args:
        f: f(q, v, u) in the middles of steps or f(q) at knots. With kind "numpy" it gives its values (size,) and their
            derivatives by q along the tangent (size, nv), v and u, or values alone, of which differences are
            taken (slow, with a warning); with "casadi" and "jax" values alone.
        where: "steps" or "knots".
        kind: "numpy", "casadi" or "jax".
        weight: of its components.
        squares: whether components are squared, which gives Gauss-Newton something to build on.
        integral: whether each knot or step counts with its share of time.
        at: numbers of knots or steps; default all.
        name: what messages call it.
    """
    return Cost(own(f, where, kind, at, name), weight, squares=squares, integral=integral)


def own(f: Callable[..., Any], where: str, kind: str, at: At, name: str) -> Function:
    """A user's function."""
    classes = {"steps": UserFunctionOverSteps, "knots": UserFunctionAtKnots}
    argument_checks.text(name, "name")
    return classes[choice(where, classes, f"{name}: where", ProblemError)](name, at, f=f, kind=kind)
