"""What a motion must keep to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from leastaction.errors import ProblemError
from leastaction.mechanism import Mechanism
from leastaction.optimize.functions import argument_checks
from leastaction.optimize.functions.costs import At, own, prepare_function
from leastaction.optimize.functions.kinematic_functions import (
    BodyPoint,
    BodyPose,
    CenterOfMass,
    CentroidalMomentum,
    Clearance,
)
from leastaction.optimize.functions.motion_functions import Function
from leastaction.optimize.functions.shape_distance import ShapeDistance


@dataclass
class Constraint:
    """lower <= function of the motion <= upper.

    Attributes:
        function: of the motion.
        lower, upper: one number, or one for each component; infinite ones do not bind.
    """

    function: Function
    lower: ArrayLike = 0.0
    upper: ArrayLike = 0.0

    def prepare(self, mechanism: Mechanism, steps: int) -> None:
        """Check it against a robot; raises `ProblemError`."""
        prepare_function(self.function, mechanism, steps)
        name, size = self.function.name, self.function.size
        self.limits = []
        for what, value in (("lower", self.lower), ("upper", self.upper)):
            limit = argument_checks.numbers(value, [(), (size,)], f"{name}: {what}", infinite=True)
            self.limits.append(np.broadcast_to(limit, (size,)))
        lower, upper = self.limits
        argument_checks.pairs(lower, upper, lambda k: f"{name} ({k})" if size > 1 else name)


def position(
    body: str,
    target: ArrayLike | None = None,
    *,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    point: ArrayLike = (0.0, 0.0, 0.0),
    at: At = None,
) -> Constraint:
    """A point of a body at `target`, or between `lower` and `upper`, in the world [m], 3 numbers each.

    Args:
        body: its name.
        target: where the point must be; NaN where it may be anywhere.
        lower, upper: in place of a target.
        point: in the body's frame [m].
        at: numbers of the knots; default all.
    """
    function = BodyPoint(f"position {body}", at, body=body, point=point)
    if target is not None:
        if lower is not None or upper is not None:
            raise ProblemError(f"position {body}: give a target, or lower and upper")
        goal = argument_checks.numbers(target, [(3,)], f"position {body}: target [m]", free=True)
        return Constraint(function, np.where(np.isnan(goal), -np.inf, goal), np.where(np.isnan(goal), np.inf, goal))
    return Constraint(function, -np.inf if lower is None else lower, np.inf if upper is None else upper)


def pose(body: str, target: ArrayLike, *, at: At = None, tolerance: ArrayLike = 0.0) -> Constraint:
    """A body's frame at `target`, (4, 4) world from body, or turned as it, (3, 3).

    Args:
        body: its name.
        target: the pose.
        at: numbers of the knots; default all.
        tolerance: how far it may be away, (turn [rad], shift [m]), one number or one for each component.
    """
    sizes = [(), (3,), (6,)]
    slack = argument_checks.numbers(tolerance, sizes, f"pose {body}: tolerance [rad, m]", infinite=True)
    return Constraint(BodyPose(f"pose {body}", at, body=body, pose=target), -slack, slack)


def clearance(
    body: str,
    center: ArrayLike,
    radius: float,
    *,
    point: ArrayLike = (0.0, 0.0, 0.0),
    body_radius: float = 0.0,
    margin: float = 0.0,
    at: At = None,
) -> Constraint:
    """Keep a ball on a body away from a ball in the world.

    Args:
        body: its name.
        center, radius: of the obstacle [m].
        point, body_radius: of the ball on the body, in its frame [m].
        margin: distance between the two [m].
        at: numbers of the knots; default all.
    """
    argument_checks.number(margin, f"clearance {body}: margin [m]")
    function = Clearance(
        f"clearance {body}", at, body=body, point=point, radius=body_radius, center=center, obstacle_radius=radius
    )
    return Constraint(function, margin, np.inf)


def separation(first: str, second: str, *, margin: float = 0.0, at: At = None) -> Constraint:
    """Keep two bodies apart at knots, by the signed distance between their shapes, whatever convex ones they are.

    Args:
        first, second: names of bodies, or "world" for the ground; or of one of their shapes, BODY/SHAPE by its name or
            number. Filters of contact do not count.
        margin: least distance between them [m].
        at: numbers of the knots; default all. Between knots nothing is looked at: take a margin, or more steps.
    """
    for name, what in ((first, "first"), (second, "second")):
        if not argument_checks.text(name, f"separation: {what}").strip():
            raise ProblemError(f"separation: {what}: expected the name of a body")
    argument_checks.number(margin, f"separation {first} {second}: margin [m]")
    function = ShapeDistance(f"separation {first} {second}", at, first=first, second=second)
    return Constraint(function, margin, np.inf)


def center_of_mass(lower: ArrayLike, upper: ArrayLike, *, at: At = None) -> Constraint:
    """Centre of mass between `lower` and `upper` in the world [m], 3 numbers each; infinite ones do not bind."""
    return Constraint(CenterOfMass("center of mass", at), lower, upper)


def centroidal_momentum(lower: ArrayLike, upper: ArrayLike, *, at: At = None) -> Constraint:
    """Momentum about the centre of mass, (angular, linear), between bounds in the middles of steps."""
    return Constraint(CentroidalMomentum("centroidal momentum", at), lower, upper)


def constraint(
    f: Callable[..., object],
    lower: ArrayLike = 0.0,
    upper: ArrayLike = 0.0,
    *,
    where: str = "knots",
    kind: str = "numpy",
    at: At = None,
    name: str = "constraint",
) -> Constraint:
    """A constraint of your own: lower <= f <= upper; `f`, `where` and `kind` as in `cost`."""
    return Constraint(own(f, where, kind, at, name), lower, upper)
