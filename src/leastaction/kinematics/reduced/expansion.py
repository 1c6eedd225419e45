"""Every joint as a chain of one-axis motions with massless links in between.

A ball becomes three hinges (Euler angles of one of twelve charts), a free motion three sliders and three hinges, a
spline of frames a product of exponentials: three screws for a curve, three sliders and three hinges for a surface. So
each Jacobian of Sueda 2021, Section 2.4, is a column of screws of plain nodes, and no tensor dJ/dq has to be built.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.kinematics.reduced.arrays import SPLINE_SEGMENT, records
from leastaction.mechanism.joints import Motion, Primitive, perpendicular, prismatic, revolute
from leastaction.mechanism.pose import Pose, quaternion_of_matrix

WELD = Primitive(Motion.WELD)
SHIFTS = tuple(prismatic(x) for x in "xyz")
TURNS = tuple(revolute(x) for x in "xyz")
SPINS = (revolute("z"),) * 3


def expand(p: Primitive, exponential: bool = False) -> tuple[Primitive, ...]:
    """The one-axis motions of a primitive; with `exponential` balls stay what they are."""
    ball = (Primitive(Motion.SPHERICAL),) if exponential else (*TURNS, WELD)
    return {
        Motion.SPHERICAL: ball,
        Motion.FREE: (*SHIFTS, *ball),
        Motion.SPLINE_CURVE: (*SPINS, WELD),
        Motion.SPLINE_SURFACE: (*SHIFTS, *TURNS),
    }.get(p.motion, (p,))


def segments(frames: tuple[Pose, ...], base: Pose) -> Any:
    """`SPLINE_SEGMENT` records of a closed curve through control frames; base: the joint's frame in its parent node."""
    count = len(frames)
    steps = [_logarithm(frames[i - 1].inverse() * frames[i]) for i in range(count)]  # dC_i = log(C_{i-1}^-1 C_i)
    out = records(count, SPLINE_SEGMENT)
    for k, record in enumerate(out):
        before = base * frames[k]
        for j in range(3):
            Y, record.kind[j], record.pitch[j], record.scale[j] = _screw(steps[(k + 1 + j) % count])
            X = before * Y
            record.Rt[j], record.pt[j] = X.rotation.ravel(), X.position
            before = Y.inverse()
        record.Rt[3], record.pt[3] = before.rotation.ravel(), before.position
    return out


def _logarithm(X: Pose) -> np.ndarray:
    """Twist (angular, linear) whose exponential is X."""
    w, *xyz = X.quaternion
    axis = np.array(xyz) * (1.0 if w >= 0.0 else -1.0)
    sine = np.linalg.norm(axis)
    angle = 2.0 * np.arctan2(sine, abs(w))
    turn = 2.0 * axis if sine < 1e-12 else axis * (angle / sine)
    p = np.array(X.position)
    if angle < 1e-6:
        return np.concatenate([turn, p - 0.5 * np.cross(turn, p)])
    half = 0.5 * angle
    c = (1.0 - half / np.tan(half)) / angle**2
    wp = np.cross(turn, p)
    return np.concatenate([turn, p - 0.5 * wp + c * np.cross(turn, wp)])


def _screw(twist: np.ndarray) -> tuple[Pose, int, float, float]:
    """(frame whose z axis is the screw's axis, kind of node, pitch, speed along it) of a constant twist."""
    w, v = twist[:3], twist[3:]
    speed = float(np.linalg.norm(w))
    if speed < 1e-12:
        reach = float(np.linalg.norm(v))
        axis = v / reach if reach > 0.0 else np.array([0.0, 0.0, 1.0])
        return Pose((0, 0, 0), _frame(axis)), int(Motion.PRISMATIC), 0.0, reach
    center = np.cross(w, v) / speed**2
    return Pose(tuple(center), _frame(w / speed)), int(Motion.REVOLUTE), float(w @ v) / speed**2, speed


def _frame(axis: np.ndarray) -> Any:
    first, second = perpendicular(tuple(axis.tolist()))
    return quaternion_of_matrix(np.column_stack([first, second, axis]))


BASIS = np.array([[1, -3, 3, -1], [4, 0, -6, 3], [1, 3, 3, -3], [0, 0, 0, 1]]) / 6.0
"""Uniform cubic B-spline basis (Sueda 2021, Eq. 2.68)."""


def surface_polynomials(controls: tuple[float, ...]) -> np.ndarray:
    """Coefficients G, shape (6, 4, 4), of f_i = sum G[i, a, b] q1^a q2^b (Eq. 2.75)."""
    C = np.array(controls).reshape(6, 4, 4)
    return np.einsum("ka,ikl,lb->iab", BASIS, C, BASIS)
