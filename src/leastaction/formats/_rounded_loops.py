"""Loops of files whose digits do not let them close: redundant equations that contradict each other by rounding.

A planar linkage of hinges is closed in the plane; across it the digits of its axes and points decide, and say something
else in each of its poses. Linkages that are closed more often than they need to be, as parallel ones, contradict
themselves in the plane as well. MuJoCo's soft equations average over that; those of a multibody system with rigid loops
have no solution.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from leastaction.dynamics.api import body_poses
from leastaction.dynamics.loops import loop_jacobian, open_loops
from leastaction.errors import MechanismError
from leastaction.mechanism import Mechanism, Pose
from leastaction.mechanism.joints import Joint, Motion, primitives_of
from leastaction.typing import FloatArray
from leastaction.warn import warn

DIGITS = 1e-5
"""Most that rounding of a file may leave open [m or rad]: six digits."""

EXACT = 1e-12
"""What closes to this closes [m or rad]."""

DEPENDENT = 1e-6
"""Relative size of a singular value below which loop equations count as dependent: that of axes with seven digits."""

ROUNDS = 50
"""Most Gauss-Newton steps to the least-squares solution."""


def closed_to_digits(robot: Mechanism, file: Path) -> Mechanism:
    """The robot with loops that can close, where they cannot by no more than the digits of the file leave open.

    Two points held on the same two bodies are a hinge. Where a linkage is planar up to digits a loop joint holds it in
    the plane alone. What is left open in the sense of least squares is an offset of the loop joint; one warning names
    the joints and what they leave out.
    """
    if not any(joint.kind in ("spherical", "fixed") for joint in robot.loops):
        return robot
    robot = with_loops(robot, [*hinges(robot.loops)])
    try:
        q = nearly_closed(robot)
    except MechanismError:  # a spring or damper in a loop joint that `Closure` does not support: integrators name it
        return robot
    if max(open_loops(robot, q, 0.0).values(), default=0.0) > DIGITS:
        return robot  # the start refuses it, or closes it from elsewhere
    X = dict(zip(robot.body_names, body_poses(robot, q), strict=True), world=np.eye(4))
    left: dict[str, float] = {}
    loops = []
    for joint in robot.loops:
        joint, gap = in_plane(robot, joint, X)
        if gap > 0.0:
            left[joint.name] = gap
        loops.append(joint)
    robot = with_loops(robot, loops)
    q = nearly_closed(robot)
    X = dict(zip(robot.body_names, body_poses(robot, q), strict=True), world=np.eye(4))
    gaps, loops = open_loops(robot, q, EXACT), []
    for joint in robot.loops:
        if joint.name in gaps and joint.kind in ("spherical", "fixed", "revolute", "cylindrical_free_orientation"):
            left[joint.name] = max(left.get(joint.name, 0.0), gaps[joint.name])
            joint = replace(joint, pose=joint.pose * Pose.from_matrix(misfit(joint, X)))
        loops.append(joint)
    if left:
        words = ", ".join(f"{name!r} (by {gap:.2g})" for name, gap in left.items())
        warn(f"{file}: loops contradict each other by the digits of the file; their joints get offsets [m]: {words}")
    return with_loops(robot, loops)


def with_loops(robot: Mechanism, loops: list[Joint]) -> Mechanism:
    """The robot with other loop joints, itself where they are the same."""
    return robot if list(robot.loops) == loops else robot.replace(loops=tuple(loops))


def hinges(loops: tuple[Joint, ...]) -> Iterator[Joint]:
    """Loop joints, with one hinge in place of each two points that hold the same two bodies together."""
    points: dict[tuple[str, str], list[Joint]] = {}
    for joint in loops:
        if joint.kind == "spherical":
            points.setdefault((joint.parent, joint.child), []).append(joint)
    pairs = {own[0].name: own for own in points.values() if len(own) == 2 and _hinge(*own) is not None}
    second = {own[1].name for own in pairs.values()}
    for joint in loops:
        if joint.name in pairs:
            hinge = _hinge(*pairs[joint.name])
            assert hinge is not None
            yield hinge
        elif joint.name not in second:
            yield joint


def _hinge(one: Joint, two: Joint) -> Joint | None:
    """The hinge that two points make; None where they are one point, or are not as far from each other on both bodies.

    Its frames have z along the line through the points, and their origin halfway between them.
    """
    ends = [np.array([j.pose.position for j in (one, two)]), np.array([_on_child(j) for j in (one, two)])]
    apart = [np.linalg.norm(x[1] - x[0]) for x in ends]
    if min(apart) < 100.0 * DIGITS or abs(apart[0] - apart[1]) > DIGITS:
        return None
    frames = []
    for x in ends:
        z = (x[1] - x[0]) / np.linalg.norm(x[1] - x[0])
        X = np.eye(4)
        X[:3, :3] = np.column_stack([*_across(z), z])
        X[:3, 3] = x.mean(axis=0)
        frames.append(Pose.from_matrix(X))
    line = primitives_of("revolute")
    return Joint(one.name, "revolute", one.parent, one.child, line, frames[0], frames[1].inverse(), loop=True)


def _across(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two unit vectors that complete z to a right-handed frame."""
    x = np.cross(np.eye(3)[int(np.argmin(np.abs(z)))], z)
    x /= np.linalg.norm(x)
    return x, np.cross(z, x)


def _on_child(joint: Joint) -> Any:
    """Origin of a joint's moved frame on the child body (3) [m]."""
    return joint.child_pose.inverse().position


def nearly_closed(robot: Mechanism) -> FloatArray:
    """The configuration near home that closes the loops in the sense of least squares, by Gauss-Newton, shape (nq,)."""
    q = robot.home()
    h, A = loop_jacobian(robot, q)
    for _ in range(ROUNDS):
        trial = robot.integrate(q, -np.linalg.lstsq(A, h, rcond=DEPENDENT)[0])
        after, B = loop_jacobian(robot, trial)
        if not np.linalg.norm(after) < np.linalg.norm(h):
            break
        q, h, A = trial, after, B
    return q


def in_plane(robot: Mechanism, joint: Joint, X: dict[str, FloatArray]) -> tuple[Joint, float]:
    """(Loop joint that holds a planar linkage in its plane alone, how far this is from a plane as it moves [m]).

    The joint itself, and zero, where the linkage is not planar up to digits, or is so exactly.
    """
    around = hinges_around(robot, joint) if joint.kind in ("spherical", "revolute") else []
    if not around:
        return joint, 0.0
    axes = [X[x.parent][:3, :3] @ x.pose.rotation @ x.primitives[0].axis for x in around]
    if joint.kind == "revolute":
        axes.append(X[joint.parent][:3, :3] @ joint.pose.rotation[:, 2])
    places = [(X[x.parent] @ x.pose.matrix)[:3, 3] for x in (*around, joint)]
    span = float(np.linalg.norm(np.ptp(places, axis=0)))
    gap = span * max(float(np.linalg.norm(np.cross(a, b))) for a in axes for b in axes)
    if not EXACT < gap < DIGITS:
        return joint, 0.0
    n = (X[joint.parent][:3, :3] @ joint.pose.rotation).T @ axes[0]
    kind = "cylindrical_free_orientation"
    ends = joint.pose, joint.child_pose
    return Joint(joint.name, kind, joint.parent, joint.child, primitives_of(kind, n), *ends, loop=True), gap


def hinges_around(robot: Mechanism, joint: Joint) -> list[Joint]:
    """The joints of the tree that a loop joint closes a loop with, but fixed ones; none where some are no hinges."""
    carriers = {x.child: x for x in robot.joints}
    paths = []
    for body in (joint.parent, joint.child):
        path = []
        while body != "world":
            path.append(carriers[body])
            body = carriers[body].parent
        paths.append(path)
    shared = {x.name for x in paths[0]} & {x.name for x in paths[1]}
    around = [x for path in paths for x in path if x.name not in shared and x.primitives]
    plain = all(len(x.primitives) == 1 and x.primitives[0].motion == Motion.REVOLUTE for x in around)
    return around if plain else []


def misfit(joint: Joint, X: dict[str, FloatArray]) -> FloatArray:
    """What a loop joint leaves open at poses X of the bodies: from its frame to where it closes, shape (4, 4)."""
    T = np.linalg.inv(X[joint.parent] @ joint.pose.matrix) @ X[joint.child] @ joint.child_pose.inverse().matrix
    E = np.eye(4)
    E[:3, 3] = T[:3, 3]
    if joint.kind == "fixed":
        return T
    if joint.kind == "cylindrical_free_orientation":
        n = np.array(joint.primitives[0].axis)
        E[:3, 3] -= n * (n @ T[:3, 3])
    elif joint.kind == "revolute":
        q = Pose.from_matrix(T).quaternion
        turn = Pose.from_axis_angle("z", 2.0 * np.arctan2(q[3], q[0]))
        E[:3, :3] = T[:3, :3] @ turn.rotation.T
    return E
