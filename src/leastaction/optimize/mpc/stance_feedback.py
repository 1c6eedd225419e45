"""Feedback of a legged robot's body through the feet that stand, and of the feet that do not.

What the body lacks, a wrench by its deviation from the plan, is shared out among the feet that stand by the plan, by
least squares; the joints of their legs push with the transpose of the feet's Jacobians. Forces stay within what a foot
can give: it presses, and its friction is bounded. Feet in the air go where the plan has them in the world, not on the
body: else a body that is off by a centimetre puts them down as far from where they are to stand. Where they need not
stand at their planned places, they go where a body that is faster than planned is about to be (the capture point of
Pratt et al. 2006).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from leastaction.errors import ProblemError
from leastaction.kinematics.frame_jacobians import Placement
from leastaction.mechanism import Mechanism
from leastaction.mechanism.motions import Motion
from leastaction.optimize.functions import argument_checks
from leastaction.optimize.solution.solution import Solution
from leastaction.typing import FloatArray

MAX_UNLOADING = 0.8
"""Share of its planned force that a foot may be relieved of."""
ARM = 0.1
"""Length [m] by which torques count beside forces where feet cannot give a whole wrench."""
SOFT = 1e-3
"""Damping of the least squares, beside squares of shares of forces."""
STIFF, REACH = 1e-2, 0.3
"""Damping of the moves that take a foot to its place, beside the square of the longest lever of its leg, and how far a
joint is moved at most [rad or m]."""
FADE = 0.05
"""Time within which these moves come and go [s]."""


@dataclass(frozen=True)
class StanceFeedback:
    """What the body of a robot is pulled back with, through the feet that stand.

    Attributes:
        position: [N/m].
        velocity: [N s/m].
        turn: [N m/rad].
        spin: [N m s/rad].
        least: force [N] in the plan from which a foot counts as standing.
        most: force [N] that a foot is given at most, beside the planned one.
        placing: share of what a foot in the air lacks of its planned place in the world that its joints make up for,
            one number or those along x, y and z. Where only x matters, as at gaps across the way, y and z are better
            left to the body: feet beneath a body that is off keep it upright.
        capture: how far ahead feet in the air go of a body that is faster than planned, beside its surplus of velocity
            [s], one number or those along x, y and z. A body on legs of height h stops above a foot that is ahead by
            sqrt(h / g).
    """

    position: float
    velocity: float
    turn: float
    spin: float
    least: float = 1.0
    most: float = np.inf
    placing: float | tuple[float, float, float] = 0.0
    capture: float | tuple[float, float, float] = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ("placing", "capture"):
                argument_checks.numbers(value, [(), (3,)], f"StanceFeedback: {field.name}")
            elif field.name != "most" or value != np.inf:
                argument_checks.number(value, f"StanceFeedback: {field.name}", least=0.0)


class Stance:
    """`StanceFeedback` along a solution.

    Args:
        solution: with contacts that were found with the motion, of a robot with a free base.
        feedback: the gains.
        driven: numbers of the degrees of freedom that the motors drive.
    """

    def __init__(self, solution: Solution, feedback: StanceFeedback, driven: list[int]) -> None:
        if not isinstance(feedback, StanceFeedback):
            raise ProblemError(f"stance must be a StanceFeedback, got {feedback!r}")
        m = solution.mechanism
        self.mechanism, self.feedback, self.driven = m, feedback, driven
        first = m.joints[0]
        if [p.motion for p in first.primitives] != [Motion.FREE]:
            raise ProblemError(f"stance: {m.name!r} has no free base, but {first.name!r}")
        self.base, found = first.child, solution.forces
        self.feet, forces = [], []
        for c in m.contacts:
            for name in (f"contact {c.name}", f"contact {c.body}"):
                if name in found:
                    self.feet.append(c)
                    forces.append(found[name][:, 0])
                    break
        if not self.feet:
            raise ProblemError("stance: the solution has no forces of the robot's contacts")
        self.forces, self.dt = np.array(forces).T, solution.trajectory.dt
        self.last, self.moved = 0.0, np.zeros(len(driven))

    def normal_forces(self, k: int, part: float) -> FloatArray:
        """Planned forces on the feet [N], in step k of the solution of which the share `part` is over."""
        return (1.0 - part) * self.forces[k] + part * self.forces[k + 1]

    def moves(self, k: int, part: float, q: FloatArray, planned: FloatArray, slow: FloatArray) -> FloatArray:
        """What is added to the targets of the motors so that feet in the air come to their places, shape (driven,).

        It comes and goes within `FADE`: a target that jumps when a foot lifts off or lands would kick the body.

        Args:
            k: step of the solution; part: share of it that is over.
            q: joint positions.
            planned: those of the plan.
            slow: what velocities of the body lack of the plan's, see `torques`.
        """
        now = (k + part) * self.dt
        share = 1.0 - math.exp(-max(now - self.last, 0.0) / FADE)
        self.last, self.moved = now, self.moved + share * (self._wanted(k, part, q, planned, slow) - self.moved)
        return self.moved

    def _wanted(self, k: int, part: float, q: FloatArray, planned: FloatArray, slow: FloatArray) -> FloatArray:
        """`moves` at once."""
        out, f = np.zeros(len(self.driven)), self.feedback
        swings = np.flatnonzero(self.normal_forces(k, part) <= f.least)
        if not (np.any(f.placing) or np.any(f.capture)) or not len(swings):
            return out
        mixed = planned.copy()
        mixed[:7] = q[:7]  # the body where it is, the joints where they are to be
        here, wanted = Placement(self.mechanism, mixed), Placement(self.mechanism, planned)
        ahead = np.multiply(f.capture, -here.pose(self.base)[:3, :3] @ slow[3:])
        for i in swings:
            place, J = foot_motion(self.mechanism, here, self.feet[i])
            J = J[:, self.driven]
            lacks = foot_motion(self.mechanism, wanted, self.feet[i])[0] - place
            damping = STIFF * float((J * J).sum(axis=0).max(initial=0.0)) * np.eye(3)
            out += J.T @ np.linalg.solve(J @ J.T + damping, np.multiply(f.placing, lacks) + ahead)
        return np.clip(out, -REACH, REACH)

    def torques(self, k: int, part: float, q: FloatArray, lacks: FloatArray, slow: FloatArray) -> FloatArray:
        """Of the motors, shape (driven,).

        Args:
            k: step of the solution; part: share of it that is over.
            q: joint positions.
            lacks, slow: of the body along its own axes, angular first: what it lacks of positions and velocities (6,).
        """
        f, at = self.feedback, Placement(self.mechanism, q)
        X = at.pose(self.base)
        R, x = X[:3, :3], X[:3, 3]
        wrench = np.concatenate(
            [R @ (f.position * lacks[3:] + f.velocity * slow[3:]), R @ (f.turn * lacks[:3] + f.spin * slow[:3]) / ARM]
        )
        normal_forces = self.normal_forces(k, part)
        stands = np.flatnonzero(normal_forces > f.least)
        out = np.zeros(len(self.driven))
        if not len(stands):
            return out
        points, jacobians = zip(*(foot_motion(self.mechanism, at, self.feet[i]) for i in stands), strict=True)
        A = np.concatenate([np.concatenate([np.eye(3), skew(p - x) / ARM]) for p in points], axis=1)
        shares = (A.T @ np.linalg.solve(A @ A.T + SOFT * np.eye(6), wrench)).reshape(-1, 3)
        for i, J, share in zip(stands, jacobians, shares, strict=True):
            share[2] = np.clip(share[2], -MAX_UNLOADING * normal_forces[i], f.most)
            edge = 0.6 * self.feet[i].friction * (normal_forces[i] + share[2])
            share[:2] = np.clip(share[:2], -edge, edge)
            out -= J[:, self.driven].T @ share
        return out


def foot_motion(mechanism: Mechanism, at: Placement, foot: Any) -> tuple[FloatArray, FloatArray]:
    """Place of a contact point in the world [m], shape (3,), and its Jacobian, shape (3, nv)."""
    X, J = at.pose(foot.body), at.jacobian(foot.body)
    arm = X[:3, :3] @ np.array(foot.point)
    return X[:3, 3] + arm, J[3:] - skew(arm) @ J[:3]


def skew(r: FloatArray) -> FloatArray:
    """Matrix of the cross product with r (3,)."""
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])
