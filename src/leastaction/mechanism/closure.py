"""Loops and couplings as scalar equations between two nodes of the tree.

Every loop joint becomes a list of rows, each with a world wrench W that acts on the child and -W on the parent's:
the row's rate is W . (twist of child - twist of parent). Rows of the constraint are solved for with multipliers; rows
along the joint's free motions appear only where it has springs or dampers, and push back instead.

    SHIFT     n . (x_b - x_a) = value,  n fixed in a     W = (x_b x n, n)       (Bruedigam 2023, B.1)
    DOT       n . w = value,  n in a, w in b             W = (w x n, 0)
    SCREW     n . (x_b - x_a) = pitch * angle            W = (x_b x n - pitch t, n)
    TURN      angle about n from n2 (in a) to w2 (in b)  W = (t, 0)
    COUPLING  follower = polynomial of leader            acts on the two coordinates
    HEIGHT    a disc (axis w) or ball touches z = 0      W = (x x n, n) at the contact point x, n = (0, 0, 1)
    ROLL      its contact point does not slip along n    W = (x x n, n); an equation of velocities: W . twist = 0

t is n while the loop is closed. W is the gradient of a row's value where loops are open, too: plans pass there, and so
do Newton's iterations. An open hinge has w2 leaning by z = n . w2 towards its axis, and t = (n - z w2) / (1 - z^2).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction.errors import MechanismError
from leastaction.mechanism.elements import Rolling
from leastaction.mechanism.joints import SPLINES, Joint, Motion, Primitive, perpendicular
from leastaction.mechanism.pose import Pose

if TYPE_CHECKING:
    from leastaction.mechanism.mechanism import Mechanism

SHIFT, DOT, SCREW, TURN, COUPLING, HEIGHT, ROLL = range(7)

CLOSURE_ROW = np.dtype(
    [
        ("kind", "i8"),
        ("a", "i8"),  # node of the parent, -1 for the world
        ("b", "i8"),  # node of the child
        ("soft", "i8"),  # 1: pushes back by stiffness and damping; 0: an equation
        ("follower", "i8"),  # coordinates of a coupling
        ("leader", "i8"),
        ("first", "i8"),  # its polynomial in Closure.coefficients
        ("count", "i8"),
        ("n", "f8", 3),  # in the frame of node a
        ("n2", "f8", 3),
        ("w", "f8", 3),  # in the frame of node b
        ("w2", "f8", 3),
        ("pa", "f8", 3),  # points on the two nodes [m]
        ("pb", "f8", 3),
        ("value", "f8"),
        ("pitch", "f8"),
        ("radius", "f8"),  # of a rolling disc or ball [m]
        ("stiffness", "f8"),
        ("damping", "f8"),
    ],
    align=True,
)
"""One scalar row of a loop or coupling."""


class Closure:
    """All rows of a mechanism: `rows` are equations first, then soft ones.

    Attributes:
        rows: `CLOSURE_ROW` records.
        coefficients: polynomials of the couplings.
        count: number of equations.
        names: what each equation belongs to.
    """

    def __init__(self, mechanism: Mechanism, frames: dict[str, tuple[int, Pose]]) -> None:
        self.mechanism = mechanism
        self.frames = frames
        hard: list[dict[str, Any]] = []
        soft: list[dict[str, Any]] = []
        self.names: list[str] = []
        for joint in mechanism.loops:
            equations, springs = self._joint(joint)
            hard += equations
            soft += springs
            self.names += [joint.name] * len(equations)
        coefficients: list[float] = []
        for coupling in mechanism.couplings:
            follower, leader = (mechanism.velocity_index(x) for x in (coupling.follower, coupling.leader))
            first, count = len(coefficients), len(coupling.coefficients)
            hard.append({"kind": COUPLING, "follower": follower, "leader": leader, "first": first, "count": count})
            coefficients += coupling.coefficients
            self.names.append(coupling.name)
        for rolling in mechanism.rollings:
            hard += self._rolling(rolling)
            self.names += [rolling.name] * 3
        self.count = len(hard)
        self.coefficients = np.array(coefficients, dtype=float)
        self.rows: Any = np.zeros(len(hard) + len(soft), CLOSURE_ROW).view(np.recarray)
        for record, values in zip(self.rows, [*hard, *soft], strict=True):
            for name, value in values.items():
                record[name] = value

    def _rolling(self, rolling: Rolling) -> list[dict[str, Any]]:
        b, X = self.frames[rolling.body]
        axis = np.zeros(3) if rolling.axis is None else X.rotation @ np.array(rolling.axis)
        base = {"a": -1, "b": b, "pb": X.apply(rolling.center), "w": axis, "radius": rolling.radius}
        x, y, z = np.eye(3)
        return [{**base, "kind": HEIGHT, "n": z}, {**base, "kind": ROLL, "n": x}, {**base, "kind": ROLL, "n": y}]

    def _joint(self, joint: Joint) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        a, Xa = self.frames[joint.parent]
        b, Xb = self.frames[joint.child]
        Xa, Xb = Xa * joint.pose, Xb * joint.child_pose.inverse()
        rows, turns = joint_equations(joint.name, joint.primitives, a, Xa, b, Xb)
        if rows is None:
            return [], []
        Ra, Rb = Xa.rotation, Xb.rotation
        base = {"a": a, "b": b, "pa": Xa.position, "pb": Xb.position}
        soft: list[dict[str, Any]] = []
        k = 0
        for p in joint.primitives:
            for d in range(p.nv):
                spring = {"soft": 1, "stiffness": joint.stiffness[k + d], "damping": joint.damping[k + d]}
                if not (spring["stiffness"] or spring["damping"]):
                    continue
                if p.motion == Motion.PRISMATIC:
                    soft.append({**base, **spring, "kind": SHIFT, "n": Ra @ np.array(p.axis), "value": joint.rest[k]})
                elif p.motion == Motion.REVOLUTE and len(turns) == 1:
                    soft.append({**base, **spring, "kind": TURN, "value": joint.rest[k], **angle_marks(p.axis, Ra, Rb)})
                else:
                    raise MechanismError(
                        f"joint {joint.name!r}: springs and dampers of a loop joint work along sliders and about a "
                        f"single hinge, not in a {joint.kind} joint"
                    )
            k += p.nv
        return rows, soft


def joint_equations(
    name: str, primitives: tuple[Primitive, ...], a: int, Xa: Pose, b: int, Xb: Pose
) -> tuple[list[dict[str, Any]] | None, list[Any]]:
    """(rows of what a joint forbids, its hinge axes); rows None where it leaves everything free.

    Args:
        name: of the joint, for messages.
        primitives: its motions, from parent to child.
        a, b: index of the two parts it ties.
        Xa: the joint's frame in part a.
        Xb: the joint's moved frame in part b.
    """
    Ra, Rb = Xa.rotation, Xb.rotation
    slides, turns, ball = _free_motions(name, primitives)
    if slides is None:
        return None, turns
    base = {"a": a, "b": b, "pa": Xa.position, "pb": Xb.position}
    rows = [{**base, "kind": SHIFT, "n": Ra @ n} for n in _complement(slides)]
    screw = next((p for p in primitives if p.motion == Motion.SCREW), None)
    if not ball:
        rows += [{**base, "kind": DOT, "n": Ra @ n, "w": Rb @ w, "value": c} for n, w, c in _rotation_rows(turns)]
    if screw is not None:
        rows.append({**base, "kind": SCREW, "pitch": screw.pitch, **angle_marks(screw.axis, Ra, Rb)})
    return rows, turns


def _free_motions(name: str, primitives: tuple[Primitive, ...]) -> tuple[list[Any] | None, list[Any], bool]:
    """(slider axes, hinge axes, whether it turns freely); sliders None: the joint leaves everything free."""
    slides, turns, ball = [], [], False
    for p in primitives:
        if p.motion in SPLINES:
            raise MechanismError(
                f"joint {name!r}: a spline cannot close a loop; let it carry its child, and close the loop elsewhere"
            )
        if p.motion == Motion.FREE:
            return None, [], True
        if p.motion == Motion.PRISMATIC:
            if turns or ball:
                raise MechanismError(
                    f"joint {name!r}: a composite joint that slides after it has turned cannot close a loop"
                )
            slides.append(np.array(p.axis))
        elif p.motion == Motion.SPHERICAL:
            ball = True
        elif p.motion == Motion.SCREW:
            # The slider of the screw is tied to its angle by a row of its own.
            slides.append(np.array(p.axis))
            turns.append(np.array(p.axis))
        else:
            turns.append(np.array(p.axis))
    return slides, turns, ball or len(turns) > 2


def _complement(axes: list[Any]) -> list[Any]:
    """Orthonormal directions perpendicular to the axes; exact for coordinate axes."""
    if not axes:
        return list(np.eye(3))
    if len(axes) == 1:
        return [np.array(x) for x in perpendicular(tuple(axes[0].tolist()))]
    if len(axes) == 2:
        n = np.cross(axes[0], axes[1])
        return [n / np.linalg.norm(n)]
    return []


def _rotation_rows(turns: list[Any]) -> list[tuple[Any, Any, float]]:
    """(vector in a, vector in b, value of their product) for each locked direction of turning."""
    x, y, z = np.eye(3)
    if not turns:
        return [(x, y, 0.0), (y, z, 0.0), (z, x, 0.0)]
    if len(turns) == 1:
        first, second = perpendicular(tuple(turns[0].tolist()))
        return [(np.array(first), turns[0], 0.0), (np.array(second), turns[0], 0.0)]
    # Universal: the first axis is fixed in a, the second in b.
    return [(turns[0], turns[1], float(turns[0] @ turns[1]))]


def angle_marks(axis: Any, Ra: Any, Rb: Any) -> dict[str, Any]:
    """Axis and zero marks of an angle about it."""
    mark = np.array(perpendicular(tuple(np.asarray(axis, float).tolist()))[0])
    return {"n": Ra @ np.asarray(axis, float), "n2": Ra @ mark, "w2": Rb @ mark}
