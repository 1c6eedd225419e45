"""Feet that stand on the ground, and phases of a motion that say when."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastaction.errors import ProblemError
from leastaction.mechanism import Mechanism
from leastaction.mechanism.closure import CLOSURE_ROW, DOT, SHIFT
from leastaction.optimize.constraints.reactions import Reaction, patterns
from leastaction.typing import FloatArray

IntArray = NDArray[np.int64]

ForceLimits: TypeAlias = Callable[[FloatArray], tuple[FloatArray, FloatArray]]

AXES = ("x", "y", "z", "pitch", "roll", "yaw")
"""Equations of a foot: three of its place, three of its orientation; forces and torques have the same names."""


@dataclass(frozen=True)
class Foot:
    """A point or a flat sole of a body that stands on the ground; see `foot`."""

    body: str
    point: tuple[float, float, float]
    size: tuple[float, float] | None
    friction: float
    ground: float
    at: tuple[float, float, float] | None
    heading: float

    def rows(self, mechanism: Mechanism) -> tuple[np.recarray, IntArray]:
        """Its equations as `CLOSURE_ROW` records, and which of `AXES` each is; without those that nothing moves."""
        frame = mechanism.tree.bodies[mechanism.body_index(self.body)]
        R = frame.R.reshape(3, 3)
        place = np.zeros(3) if self.at is None else np.array(self.at)
        place[2] = self.ground if self.at is None else place[2]
        c, s = math.cos(self.heading), math.sin(self.heading)
        ahead, left, up = np.array([c, s, 0.0]), np.array([-s, c, 0.0]), np.array([0.0, 0.0, 1.0])
        out: Any = np.zeros(3 if self.size is None else 6, CLOSURE_ROW).view(np.recarray)
        for k, n in enumerate((ahead, left, up)):
            out[k].kind, out[k].n, out[k].value = SHIFT, n, n @ place
        if self.size is not None:
            # The axis w of the sole is perpendicular to n: torques about y, -x and z where the foot is flat.
            for k, (n, w) in enumerate(((ahead, R[:, 2]), (left, R[:, 2]), (left, R[:, 0]))):
                out[3 + k].kind, out[3 + k].n, out[3 + k].w = DOT, n, w
        for row in out:
            row.a, row.b, row.pb = -1, int(frame.node), frame.p + R @ np.array(self.point)
        reads, _ = patterns(mechanism, out, np.zeros(0))
        moved = np.flatnonzero(reads.any(axis=1))
        if 2 not in moved:
            text = f"{self.name}: nothing moves its point {self.point} up or down, so that no force can press it down"
            raise ProblemError(f"{text}; leave this foot out")
        return out[moved], moved

    def reaction(self, mechanism: Mechanism, points: IntArray) -> Reaction:
        """Its forces at control points."""
        rows, axes = self.rows(mechanism)
        lower, upper = np.full(len(axes), -np.inf), np.full(len(axes), np.inf)
        lower[axes == 2] = 0.0
        labels = tuple(AXES[k] for k in axes)
        return Reaction(self.name, rows, points, labels, lower, upper, np.eye(len(axes)))

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"foot {self.body}"

    def limits(self, labels: tuple[str, ...], weight: float) -> tuple[tuple[str, ...], ForceLimits]:
        """Names and function of what must not be negative: friction cone, centre of pressure, torque about the normal.

        The cone is that of squares, over the weight of the robot [N].

        A flat foot of half sizes a, b that presses with fz holds |my| <= a fz, |mx| <= b fz (the centre of pressure is
        under it), and |mz| <= mu (a + b) / 2 fz.
        """
        at = {name: k for k, name in enumerate(labels)}
        normal, sides, mu = at["z"], [at[name] for name in ("x", "y") if name in at], self.friction
        bounds: list[tuple[str, int, float]] = []
        if len(sides) == 1:
            bounds.append(("friction", sides[0], mu))
        if self.size is not None:
            a, b = self.size
            turns = {"pitch": a, "roll": b, "yaw": 0.5 * mu * (a + b)}
            bounds += [(f"{name} torque", at[name], arm) for name, arm in turns.items() if name in at]
        cone = len(sides) == 2
        names = (("friction",) if cone else ()) + tuple(name for name, _, _ in bounds for _ in range(2))

        def function(f: FloatArray) -> tuple[FloatArray, FloatArray]:
            value, J = np.zeros((len(f), len(names))), np.zeros((len(f), len(names), f.shape[1]))
            k = 0
            if cone:
                x, y = f[:, sides[0]], f[:, sides[1]]
                value[:, 0] = ((mu * f[:, normal]) ** 2 - x**2 - y**2) / weight
                for side, slope in ((normal, mu**2 * f[:, normal]), (sides[0], -x), (sides[1], -y)):
                    J[:, 0, side] = 2.0 * slope / weight
                k = 1
            for _, side, arm in bounds:
                for sign in (1.0, -1.0):
                    value[:, k] = arm * f[:, normal] + sign * f[:, side]
                    J[:, k, normal], J[:, k, side] = arm, sign
                    k += 1
            return value, J

        return names, function


@dataclass(frozen=True)
class Phase:
    """A number of steps during which some feet stand; see `phase`."""

    steps: int
    feet: tuple[Foot, ...]


def foot(
    body: str,
    *,
    point: ArrayLike = (0.0, 0.0, 0.0),
    size: ArrayLike | None = None,
    friction: float = 0.8,
    ground: float = 0.0,
    at: ArrayLike | None = None,
    heading: float = 0.0,
) -> Foot:
    """A foot that neither slips nor lifts while it stands, and pulls at nothing: its forces are unknowns with limits.

    Args:
        body: its name.
        point: where it touches, in the body's frame [m]; of a flat foot the middle of its sole.
        size: half length and half width of a flat sole [m], along x and y of the body, whose z points up when it
            stands; without it the foot is a point that may turn.
        friction: Coulomb coefficient.
        ground: height of the ground [m].
        at: where the point must stand in the world [m], 3 numbers; without it the foot stands where it lands.
        heading: of a flat foot: angle of the body's x from the world's about z [rad].
    """
    what = f"foot {body!r}"
    numbers = {"friction": friction, "ground": ground, "heading": heading}
    for name, value in numbers.items():
        if not isinstance(value, int | float | np.number) or not math.isfinite(value):
            raise ProblemError(f"{what}: {name} must be a finite number, got {value!r}")
    if friction < 0.0:
        raise ProblemError(f"{what}: friction must not be negative, got {friction!r}")
    place = None if at is None else _numbers(at, 3, f"{what}: at")
    half = None if size is None else _numbers(size, 2, f"{what}: size")
    if half is not None and min(half) <= 0.0:
        raise ProblemError(f"{what}: size must be positive half lengths [m], got {size!r}")
    return Foot(body, _numbers(point, 3, f"{what}: point"), half, float(friction), float(ground), place, float(heading))


def phase(steps: int, *feet: Foot) -> Phase:
    """`steps` time steps during which these feet stand, and no others."""
    if not isinstance(steps, int | np.integer) or steps < 1:
        raise ProblemError(f"phase: steps must be a whole number of at least 1, got {steps!r}")
    for each in feet:
        if not isinstance(each, Foot):
            raise ProblemError(f"phase: expected feet such as optimize.foot('l_foot'), got {each!r}")
    return Phase(int(steps), feet)


def _numbers(value: Any, count: int, what: str) -> Any:
    try:
        out = np.asarray(value, float)
    except (TypeError, ValueError):
        out = np.zeros(0)
    if out.shape != (count,) or not np.isfinite(out).all():
        raise ProblemError(f"{what} must be {count} finite numbers, got {value!r}")
    return tuple(float(x) for x in out)


def stretches(phases: list[Phase]) -> list[tuple[int, int, tuple[Foot, ...]]]:
    """(first knot, last knot, feet) of stretches of steps during which the same feet stand."""
    out: list[tuple[int, int, tuple[Foot, ...]]] = []
    step = 0
    for each in phases:
        if out and set(out[-1][2]) == set(each.feet):
            out[-1] = (out[-1][0], step + each.steps, out[-1][2])
        else:
            out.append((step, step + each.steps, each.feet))
        step += each.steps
    return out
