"""Constraints that a user adds to a step: prescribed motions, and equations or inequalities of any coordinates.

Sueda 2021, Sections 2.8 and 2.9, at the velocity level with Baumgarte's stabilisation (1.97). Every constraint gives
its value g, its Jacobian G with respect to v and its rate dg/dt at fixed positions; the step then keeps

    G v1 = -dg/dt - gamma g.

with g at the positions of the start and the time of the end of the step. An inequality g >= 0 that holds may close
just so far as it is open, which is gamma = 1/dt, and one that is violated is taken back as an equation is:

    G v1 >= -dg/dt - g0/dt  where g0 > 0,      G v1 >= -dg/dt - gamma g0  where not,

with g0 = g - dt dg/dt, its value at the start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.actuation.controls import check_call
from leastaction.dynamics import api
from leastaction.errors import IntegratorError
from leastaction.mechanism import Joint, Mechanism
from leastaction.mechanism._check import flag, instances, label, number, shown, text, vector
from leastaction.mechanism.arguments import FloatArray
from leastaction.redmax.linear_implicit.maximal_coordinates.joint_coordinates import loop_joint_rate


@dataclass(frozen=True)
class Rows:
    """Some rows of constraints.

    Attributes:
        G: Jacobian, shape (rows, nv).
        g: values, shape (rows,).
        rate: change of the values with time at fixed positions, shape (rows,).
    """

    G: FloatArray
    g: FloatArray
    rate: FloatArray


@dataclass(frozen=True)
class Constraint:
    """Base of the constraints.

    Attributes:
        inequality: False for g = 0, True for g >= 0.
    """

    inequality = False

    def check(self, mechanism: Mechanism) -> None:
        """Refuse what does not fit the mechanism."""

    def rows(self, mechanism: Mechanism, t: float, q: FloatArray) -> Rows:
        """Its rows at the time t [s] of the end of a step, and positions q (nq,) at its start."""
        raise NotImplementedError


@dataclass(frozen=True)
class PrescribedMotion(Constraint):
    """A degree of freedom that follows a given motion (2.114, with the velocity prescribed).

    Both functions are read at the end of a step: `ConstrainedEuler` makes the new velocity what `velocity` says, plus
    its rate of stabilisation times what is missing of `position`; `BDF` makes the new position what `position` says.

    Attributes:
        name: of the degree of freedom, as in `Mechanism.velocity_names`; or of a joint with one axis that closes a
            loop.
        velocity: function of time [s] that gives its velocity [rad/s or m/s].
        position: function of time that gives its position [rad or m], towards which it is pulled; without it the
            velocity alone is followed.
    """

    name: str
    velocity: Callable[[float], float]
    position: Callable[[float], float] | None = None

    def __post_init__(self) -> None:
        label(self.name, "name of a prescribed motion")
        check_call(self.velocity, "velocity", ("t",))
        if self.position is not None:
            check_call(self.position, "position", ("t",))

    def check(self, mechanism: Mechanism) -> None:
        """Refuse unknown names."""
        loop = self._loop(mechanism)
        if loop is not None:
            if loop.nv != 1:
                raise IntegratorError(f"loop joint {self.name!r}: only joints with one axis can be prescribed")
            return
        mechanism.velocity_index(self.name)
        if self.position is not None and self.name not in mechanism.coordinate_names:
            raise IntegratorError(f"{self.name!r} is part of a ball or free joint: prescribe its velocity alone")

    def _loop(self, mechanism: Mechanism) -> Joint | None:
        return next((joint for joint in mechanism.loops if joint.name == self.name), None)

    def rows(self, mechanism: Mechanism, t: float, q: FloatArray) -> Rows:
        """See `Constraint.rows`."""
        loop = self._loop(mechanism)
        goal = 0.0 if self.position is None else number(self.position(t), f"position of {self.name!r} at t = {t:g} s")
        if loop is not None:
            x, G = loop_joint_rate(mechanism, loop, q, np.array([goal]))
            value = x[0] - goal
        else:
            G = np.zeros((1, mechanism.nv))
            G[0, mechanism.velocity_index(self.name)] = 1.0
            value = 0.0 if self.position is None else q[mechanism.coordinate_index(self.name)] - goal
        g = np.array([0.0 if self.position is None else value])
        return Rows(G, g, np.array([-number(self.velocity(t), f"velocity of {self.name!r} at t = {t:g} s")]))


@dataclass(frozen=True)
class PrescribedTwist(Constraint):
    """A body that follows a given twist: a constraint on maximal coordinates (2.106).

    Attributes:
        body: its name.
        twist: function of time [s] that gives (angular, linear) velocity [rad/s, m/s], 6 numbers; read at the end of a
            step.
        components: which of the 6 are prescribed.
        point: point of the body whose velocity is meant, in the body's frame [m].
        frame: "body" or "world": in which directions the twist is given.
    """

    body: str
    twist: Callable[[float], ArrayLike]
    components: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    frame: str = "body"

    def __post_init__(self) -> None:
        what = f"prescribed twist of {label(self.body, 'body of a prescribed twist')!r}"
        check_call(self.twist, "twist", ("t",))
        several = instances(self.components, (int, np.integer), f"{what}: components")
        object.__setattr__(self, "components", several)
        object.__setattr__(self, "point", vector(self.point, 3, f"{what}: point"))
        text(self.frame, f"{what}: frame")

    def check(self, mechanism: Mechanism) -> None:
        """Refuse unknown bodies and components."""
        mechanism.body_index(self.body)
        if not set(self.components) <= set(range(6)):
            raise IntegratorError(f"prescribed twist of {self.body!r}: components are 0 to 5, got {self.components}")
        if self.frame not in ("body", "world"):
            raise IntegratorError(f"prescribed twist of {self.body!r}: frame must be 'body' or 'world'")

    def rows(self, mechanism: Mechanism, t: float, q: FloatArray) -> Rows:
        """See `Constraint.rows`."""
        keep, what = list(self.components), f"twist of {self.body!r} at t = {t:g} s"
        J = api.body_jacobian(mechanism, q, self.body, point=self.point, frame=self.frame)[keep]
        return Rows(J, np.zeros(len(keep)), -np.array(vector(self.twist(t), 6, what))[keep])


@dataclass(frozen=True)
class ReducedConstraint(Constraint):
    """Equations or inequalities of the reduced coordinates (2.108, 2.112).

    Attributes:
        function: of (t, q) that gives (g, G): values, shape (rows,), and their Jacobian with respect to v, shape
            (rows, nv); or (g, G, rate) where they depend on time.
        inequality: False for g = 0, True for g >= 0, which acts where a step would make g negative, and brings g back
            at the rate `baumgarte` of the integrator where it is negative.

    No rows, `([], [])`, are no constraint; only inequalities may have more rows at one time than at another.
    """

    function: Callable[[float, FloatArray], tuple[ArrayLike, ArrayLike]]
    inequality: bool = False

    def __post_init__(self) -> None:
        check_call(self.function, "function", ("t", "q"))
        flag(self.inequality, "inequality")

    def rows(self, mechanism: Mechanism, t: float, q: FloatArray) -> Rows:
        """See `Constraint.rows`."""
        return _rows(self.function(t, q.copy()), mechanism.nv, "a reduced constraint")


@dataclass(frozen=True)
class MaximalConstraint(Constraint):
    """Equations or inequalities of the maximal coordinates (2.106, 2.109, 2.111).

    Attributes:
        bodies: names of the bodies it ties.
        function: of (t, poses), poses of these bodies of shape (bodies, 4, 4), that gives (g, G): values, shape
            (rows,), and their Jacobian with respect to the twists of the bodies, each in its own frame, shape
            (rows, 6 * bodies); or (g, G, rate).
        inequality: False for g = 0, True for g >= 0; see `ReducedConstraint`.
    """

    bodies: Sequence[str]
    function: Callable[[float, FloatArray], tuple[ArrayLike, ArrayLike]]
    inequality: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "bodies", instances(self.bodies, str, "bodies of a maximal constraint"))
        check_call(self.function, "function", ("t", "poses"))
        flag(self.inequality, "inequality")

    def check(self, mechanism: Mechanism) -> None:
        """Refuse unknown bodies."""
        for name in self.bodies:
            mechanism.body_index(name)

    def rows(self, mechanism: Mechanism, t: float, q: FloatArray) -> Rows:
        """See `Constraint.rows`."""
        poses = api.body_poses(mechanism, q)[[mechanism.body_index(name) for name in self.bodies]]
        rows = _rows(self.function(t, poses), 6 * len(self.bodies), "a maximal constraint")
        # The Jacobian J_mr of these bodies takes the constraint to reduced coordinates (2.109).
        J = np.concatenate([api.body_jacobian(mechanism, q, name, frame="body") for name in self.bodies])
        return Rows(rows.G @ J, rows.g, rows.rate)


def _rows(values: Any, columns: int, what: str) -> Rows:
    try:
        g, G, *rest = values
        g = np.atleast_1d(np.asarray(g, float))
        G = np.asarray(G, float).reshape(len(g), -1) if len(g) else np.zeros((0, columns))
        rate = np.broadcast_to(np.asarray(rest[0] if rest else 0.0, float), g.shape)
    except (TypeError, ValueError):
        raise IntegratorError(f"{what}: its function must give (g, G) or (g, G, rate), got {shown(values)}") from None
    if G.shape != (len(g), columns):
        raise IntegratorError(f"{what}: its Jacobian must have shape ({len(g)}, {columns}), got {G.shape}")
    if not (np.isfinite(g).all() and np.isfinite(G).all() and np.isfinite(rate).all()):
        raise IntegratorError(f"{what}: its value, Jacobian or rate is not finite")
    return Rows(G, g, rate)


def stacked(constraints: Sequence[Constraint], mechanism: Mechanism, t: float, q: FloatArray) -> Rows:
    """All rows of some constraints, one below the other."""
    parts = [c.rows(mechanism, t, q) for c in constraints]
    if not parts:
        return Rows(np.zeros((0, mechanism.nv)), np.zeros(0), np.zeros(0))
    return Rows(*(np.concatenate([getattr(p, name) for p in parts]) for name in ("G", "g", "rate")))
