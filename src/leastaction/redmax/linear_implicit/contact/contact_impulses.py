"""Impulses of contacts without friction, or with friction in a single quadratic program.

Sueda 2021, Sections 1.11 (contact), 1.13 (friction in a single quadratic program, after Anitescu and Hart) and 2.8
(joint limits). Impulses are positive where they push apart: v = A^-1 (b + N'alpha + T'beta). The paper's Eq. 1.99 has
the opposite sign of alpha, which does not fit its own Eqs. 1.94 and 1.98.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.contact.qp import QuadraticProgram
from leastaction.mechanism.arguments import FloatArray
from leastaction.redmax.linear_implicit.projection import Projection


def closing_bounds(g: FloatArray, dt: float, gamma: float) -> FloatArray:
    """Least rates of inequalities g >= 0: they close no further than they are open; see `velocity_constraints`.

    Args:
        g: values at the start of a step, shape (count,).
        dt: time step [s].
        gamma: rate at which violations are taken back [1/s] (1.97).
    """
    return np.where(g > 0.0, -g / dt, -gamma * g)


def approach_bounds(gap: FloatArray, speed: FloatArray, restitution: FloatArray, dt: float, gamma: float) -> FloatArray:
    """Least normal velocities [m/s] of a step: contacts close no further than the gap, and bounce where they hit.

    Args:
        gap: distances [m], shape (count,).
        speed: normal velocities before the step [m/s], shape (count,).
        restitution: Newton's coefficients, shape (count,).
        dt: time step [s].
        gamma: rate at which penetration is taken back [1/s] (1.97).
    """
    floor = closing_bounds(gap, dt, gamma)
    return np.maximum(floor, np.where((gap <= -dt * speed) & (speed < 0.0), -restitution * speed, -np.inf))


def contact_impulses(projection: Projection, N: FloatArray, least: FloatArray, qp: QuadraticProgram) -> Any:
    """(impulses (count,), velocities (nv,)) of N v >= least without friction (1.94, 1.98, 2.112)."""
    if len(N) == 0:
        return np.zeros(0), projection.v
    Y = projection.response(N)
    alpha = qp.solve(N @ Y, N @ projection.v - least)
    return alpha, projection.v + Y @ alpha


def single_qp(
    projection: Projection,
    N: FloatArray,
    least: FloatArray,
    T: FloatArray,
    friction: FloatArray,
    qp: QuadraticProgram,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(alpha (count,), beta (2 friction contacts,), v (nv,)) of contact and friction in one problem (1.103).

    The four-sided cone of 1.100. The first len(friction) rows of N have friction. Sliding contacts rise a little,
    which is the price of the convex problem.
    """
    count, rough = len(N), len(friction)
    if count == 0:
        return np.zeros(0), np.zeros(0), projection.v
    C = np.concatenate([N, T, -T])
    Y = projection.response(C)
    goal = np.concatenate([least, np.zeros(2 * len(T))])
    E = np.zeros((rough, len(C)))  # 1.101: mu alpha - sum of the four beta
    for k in range(rough):
        E[k, k] = friction[k]
        E[k, [count + 2 * k, count + 2 * k + 1, count + len(T) + 2 * k, count + len(T) + 2 * k + 1]] = -1.0
    x = qp.solve(C @ Y, C @ projection.v - goal, C=E if rough else None)
    beta = x[count : count + len(T)] - x[count + len(T) :]
    return x[:count], beta, projection.v + Y @ x
