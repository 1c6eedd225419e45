"""Velocities of runs whose states are momenta, also where the mass matrix is close to singular."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.api import body_twists, mass_matrix
from leastaction.dynamics.legendre import Velocities, momentum_of_velocity, velocity_of_momentum
from leastaction.dynamics.loops import RANK_TOLERANCE, loop_jacobian, prescribed_freedoms
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.joints import Motion

FAR = 0.5
"""Motion between two rows, by their velocities [rad or m], from which on these are looked at again."""

WEAK = 0.01
"""Share of their inertia that joints have left in a direction in which links without mass move, or hardly any others,
beside what each has alone."""

OTHER = 0.5
"""Share of the velocity in such a direction by which the rates of q differ from it where it is none. A light body that
spins fast turns by up to a radian and more in a step, and there the two differ, too: like x and sin x."""

ALONE = 0.5
"""How fast bodies with mass may move in such a direction, beside links without: light bodies that spin have little
inertia in it as well, but all of their momentum is their own."""


class RunVelocities:
    """Velocities at one row of a growing record after another; not for two threads at once.

    Args:
        stepper: whose record it is.
        record: of which rows are filled one by one.
        mechanism: the robot, where the stepper's has more actuators; default that of the stepper.
    """

    def __init__(self, stepper: Any, record: Any, mechanism: Mechanism | None = None) -> None:
        self._record = record
        self._of_momenta = Velocities(mechanism or stepper.mechanism) if stepper.momentum else None

    def at(self, row: int) -> FloatArray:
        """v of a row (nv,), in an array that may be the record's."""
        q, second = self._record.q[row], self._record.second[row]
        return second if self._of_momenta is None else self._of_momenta.at(q, second)


def velocities_of_run(mechanism: Mechanism, t: FloatArray, Q: FloatArray, P: FloatArray) -> FloatArray:
    """v = M(q)^-1 p at the rows of a run, shape (rows, nv).

    Where the axes of joints with massless links between come close to one line, hardly anything resists motions of
    these links alone, and M^-1 makes large velocities of what little of the forces' impulses p has in such directions:
    half of the forces of that time are in p, but what holds against them at an impact is not. There the rates of q
    are better: both are the velocity to second order in the time step. Energies are those of p wherever it has one.

    Args:
        t: times [s], shape (rows,).
        Q, P: positions and momenta, shapes (rows, nq) and (rows, nv).
    """
    V = velocity_of_momentum(mechanism, Q, P)
    massless = _without_mass(mechanism)
    if len(t) < 2 or not massless.any():
        return V
    step = float(np.diff(t).min())
    for k in np.flatnonzero(~(np.abs(V).max(axis=1, initial=0.0) * step < FAR)):
        before, after = max(k - 1, 0), min(k + 1, len(t) - 1)
        rate = _turned(mechanism, Q[before], Q[after], V[k], float(t[after] - t[before]))
        n = mechanism.nv
        M = momentum_of_velocity(mechanism, np.tile(Q[k], (n, 1)), np.eye(n))
        size = np.sqrt(np.maximum(np.diag(M), 1e-300))
        shares, directions = np.linalg.eigh(0.5 * (M + M.T) / np.outer(size, size))
        weak = directions[:, shares < WEAK]
        weak = weak[:, [_moves_alone(mechanism, massless, Q[k], d / size) for d in weak.T]]
        own, off = weak.T @ (size * V[k]), weak.T @ (size * (V[k] - rate))
        V[k] -= (weak @ np.where(np.abs(off) > OTHER * np.abs(own), off, 0.0)) / size
    return V


def _without_mass(mechanism: Mechanism) -> NDArray[np.bool_]:
    """Which bodies, with all that fixed joints make one with them, have no mass."""
    root = np.arange(len(mechanism.bodies))
    for i, (joint, parent) in enumerate(zip(mechanism.joints, mechanism.parents, strict=True)):
        if joint.nv == 0 and parent >= 0:
            root[i] = root[parent]
    mass = np.bincount(root, [body.inertia.mass for body in mechanism.bodies], len(root))
    return mass[root] == 0.0


def _moves_alone(mechanism: Mechanism, massless: NDArray[np.bool_], q: FloatArray, v: FloatArray) -> bool:
    """Whether velocities v (nv,) move links without mass, and no others by much."""
    speeds = np.linalg.norm(body_twists(mechanism, q, v), axis=1)
    return bool(speeds[~massless].max(initial=0.0) < ALONE * speeds[massless].max())


def _turned(mechanism: Mechanism, q0: FloatArray, q1: FloatArray, v: FloatArray, time: float) -> FloatArray:
    """Rates (nv,) from q0 to q1 in a time [s]; of the turns that lead there, up to a full one more, those next to v."""
    rate = mechanism.difference(q0, q1) / time
    for group in mechanism.coordinate_groups if mechanism.nq != mechanism.nv else ():
        if group.kind in (Motion.SPHERICAL, Motion.FREE):
            turn = slice(int(group.iv), int(group.iv) + 3)
            size = float(np.linalg.norm(rate[turn]))
            full = rate[turn] * (2.0 * np.pi / (size * time)) if size > 0.0 else np.zeros(3)
            turns = rate[turn] + np.outer((-1.0, 0.0, 1.0), full)
            rate[turn] = turns[np.linalg.norm(turns - v[turn], axis=1).argmin()]
    return rate


def closing_velocity(mechanism: Mechanism, q: FloatArray, v: FloatArray) -> FloatArray:
    """The velocity next to v, by its kinetic energy, that opens no loop and keeps what is prescribed, shape (nv,)."""
    _, A = loop_jacobian(mechanism, q)
    free = np.setdiff1d(np.arange(mechanism.nv), prescribed_freedoms(mechanism))
    M, out = mass_matrix(mechanism, q), v.copy()
    ease = np.linalg.solve(M[np.ix_(free, free)], A[:, free].T)
    out[free] -= ease @ (np.linalg.pinv(A[:, free] @ ease, rcond=RANK_TOLERANCE) @ (A @ v))
    return out
