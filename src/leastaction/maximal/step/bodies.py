"""One rigid body over one step: the discrete action of Bruedigam 2020, 2023 and its momenta.

Within a step the COM moves with the velocity v and the body rotates by the unit quaternion (c, u), u = dt w / 2,
c = sqrt(1 - |u|^2) (2023, Eq. 13 and 17). The discrete Lagrangian dt (m v.v + w.J w) / 2 is symmetric in time, so the
integrator is of second order in the poses; the papers call it first order because they evaluate velocities and forces
at one end of the step.
"""

import math

import numpy as np

from leastaction._jit import inline
from leastaction.spatial import (
    EYE,
    ZERO3,
    add3,
    axpy3,
    cross,
    dot3,
    load3,
    load4,
    load9,
    matmul,
    matvec,
    quat_mul,
    quat_normalize,
    quat_to_rotation,
    scale3,
    store3,
    store4,
    store9,
    sub3,
)

START, END = np.int64(0), np.int64(1)
"""The two ends of a step, as NumPy integers: Numba compiles a specialisation for each Python literal."""

FURTHEST = 0.999
"""Largest |dt w / 2| of a Newton iterate; at 1, half a turn per step, the chart of w ends."""


@inline
def start_pose(states, i):
    """(R, p) at the start of the step; the world for i = -1."""
    if i < 0:
        return EYE, ZERO3
    return load9(states[i].R), load3(states[i].p)


@inline
def end_pose(states, i):
    """(R, p) at the end of the step; the world for i = -1."""
    if i < 0:
        return EYE, ZERO3
    return load9(states[i].R1), load3(states[i].p1)


@inline
def exchange_ends(s):
    """Swap the poses of a body at the start and the end of the step."""
    for c in range(3):
        s.p[c], s.p1[c] = s.p1[c], s.p[c]
    for c in range(9):
        s.R[c], s.R1[c] = s.R1[c], s.R[c]


@inline
def momenta(J, w, dt):
    """Angular momenta at start and end in the body frame of that time: D1 and D2 of the action (Eq. 16)."""
    h = 0.5 * dt
    s = math.sqrt(max(1.0 - h * h * dot3(w, w), 0.0))
    Jw = matvec(J, w)
    turn = scale3(h, cross(w, Jw))
    straight = scale3(s, Jw)
    return add3(straight, turn), sub3(straight, turn)


@inline
def spin_of(J, P):
    """(J^-1 P, det J) of a body; the angular velocity J^-1 P is valid where det J > 0."""
    c0 = cross((J[3], J[4], J[5]), (J[6], J[7], J[8]))
    c1 = cross((J[6], J[7], J[8]), (J[0], J[1], J[2]))
    c2 = cross((J[0], J[1], J[2]), (J[3], J[4], J[5]))
    det = dot3((J[0], J[1], J[2]), c0)
    if det <= 0.0:
        return ZERO3, det
    return scale3(1.0 / det, (dot3(c0, P), dot3(c1, P), dot3(c2, P))), det


@inline
def momentum_slope(J, w, dt):
    """Derivative of the angular momentum at the start by w, row-major (9-tuple)."""
    h = 0.5 * dt
    s = math.sqrt(max(1.0 - h * h * dot3(w, w), 1e-12))
    Jw = matvec(J, w)
    k = -h * h / s
    # d/dw of s J w + h w x J w: s J + k (J w) w' + h (w x J - (J w) x).
    c0 = cross(w, (J[0], J[3], J[6]))
    c1 = cross(w, (J[1], J[4], J[7]))
    c2 = cross(w, (J[2], J[5], J[8]))
    return (
        s * J[0] + k * Jw[0] * w[0] + h * c0[0],
        s * J[1] + k * Jw[0] * w[1] + h * (c1[0] + Jw[2]),
        s * J[2] + k * Jw[0] * w[2] + h * (c2[0] - Jw[1]),
        s * J[3] + k * Jw[1] * w[0] + h * (c0[1] - Jw[2]),
        s * J[4] + k * Jw[1] * w[1] + h * c1[1],
        s * J[5] + k * Jw[1] * w[2] + h * (c2[1] + Jw[0]),
        s * J[6] + k * Jw[2] * w[0] + h * (c0[2] + Jw[1]),
        s * J[7] + k * Jw[2] * w[1] + h * (c1[2] - Jw[0]),
        s * J[8] + k * Jw[2] * w[2] + h * c2[2],
    )


@inline
def turn_slope(w, dt):
    """Derivative by w of the orientation at the end, as a rotation in the end frame, over dt: c + u u' / c - u x."""
    u = scale3(0.5 * dt, w)
    c = math.sqrt(max(1.0 - dot3(u, u), 1e-12))
    k = 1.0 / c
    return (
        c + k * u[0] * u[0],
        k * u[0] * u[1] + u[2],
        k * u[0] * u[2] - u[1],
        k * u[1] * u[0] - u[2],
        c + k * u[1] * u[1],
        k * u[1] * u[2] + u[0],
        k * u[2] * u[0] + u[1],
        k * u[2] * u[1] - u[0],
        c + k * u[2] * u[2],
    )


@inline
def move(state, dt):
    """Pose at the end of the step and its derivative by w (Eq. 11 and 17)."""
    w = load3(state.w)
    u = scale3(0.5 * dt, w)
    c = math.sqrt(max(1.0 - dot3(u, u), 0.0))
    quat = quat_normalize(quat_mul(load4(state.quat), (c, u[0], u[1], u[2])))
    store4(state.quat1, quat)
    R1 = quat_to_rotation(quat)
    store9(state.R1, R1)
    store3(state.p1, axpy3(dt, load3(state.vc), load3(state.p)))
    store9(state.E, matmul(R1, turn_slope(w, dt)))
