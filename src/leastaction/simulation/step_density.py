"""How densely a motion needs steps, and the reversible control of their length by it.

Hairer and Soederlind, Explicit, time reversible, adaptive step size control, SIAM J. Sci. Comput. 26 (2005): steps of
length eps / rho, where the density rho follows the motion by its rate G at the states between the steps. G changes its
sign when the motion is reversed, so the steps back are those that led there, and a symmetric method keeps what makes it
good for long times. Here the logarithm of the density takes the step, so that it stays positive:

    log rho+ = log rho- + (h- + h+) / 2 G(q, v),    h+ = eps / rho+
"""

from __future__ import annotations

import math

import numpy as np

from leastaction.dynamics.api import forward_dynamics, mass_matrix, passive_forces
from leastaction.dynamics.loops import loop_jacobian
from leastaction.errors import MechanismError
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.joints import Motion

PROBE = 0.02
"""Time between the accelerations that are compared, in units of the time in which velocities change."""

STEEPEST = 1.0
"""Largest change of log rho over half a step that is looked for: beyond it the steps resolve nothing."""

MEANT = 1e-9
"""Difference of loop equations' rates, relative to the largest, below which they say the same."""


def turning(mechanism: Mechanism) -> FloatArray:
    """1 for degrees of freedom that turn, 0 for those that slide, shape (nv,): motion at constant speed costs the
    latter no steps."""
    out = np.ones(mechanism.nv)
    for group in mechanism.coordinate_groups:
        if group.kind == Motion.PRISMATIC:
            out[group.iv] = 0.0
        elif group.kind == Motion.FREE:
            out[group.iv + 3 : group.iv + 6] = 0.0
    return out


class StepDensity:
    """How fast a motion changes, from its velocities v, accelerations a and jerks j:

        omega^12 = |v|^12 + |a|^6 + |j|^4 + slowest^12,    density Q = omega^((r + 1) / r)

    of order r: errors per second of steps h are of the size h^r omega^(r + 1). It is as smooth as the forces.

    Args:
        mechanism: the robot.
        order: r.
        slowest: rate [1/s] below which nothing is looked at.
    """

    def __init__(self, mechanism: Mechanism, order: int, slowest: float) -> None:
        self.mechanism, self.power, self.floor = mechanism, (order + 1.0) / order, slowest**12
        self.turning, self.plain = turning(mechanism), mechanism.nq == mechanism.nv

    def acceleration(self, q: FloatArray, v: FloatArray, u: FloatArray) -> FloatArray:
        """Under all forces of the mechanism and the generalised forces u, with loops closed, shape (nv,)."""
        m = self.mechanism
        a = forward_dynamics(m, q, v, u + passive_forces(m, q, v))
        if m.is_tree:
            return a
        (_, A), step = loop_jacobian(m, q), 1e-6
        ahead, back = (loop_jacobian(m, m.integrate(q, s * step * v))[1] for s in (1.0, -1.0))
        soft = np.linalg.solve(mass_matrix(m, q), A.T)
        left = A @ a + (ahead - back) @ v / (2.0 * step)
        return np.asarray(a - soft @ (np.linalg.pinv(A @ soft, rcond=MEANT, hermitian=True) @ left), float)

    def of(self, q: FloatArray, v: FloatArray, u: FloatArray) -> tuple[float, float]:
        """(log Q, its rate G along the motion [1/s]) at a state under generalised forces u (nv,); NaN: none."""
        m = self.mechanism
        with np.errstate(all="ignore"):
            try:
                a = self.acceleration(q, v, u)
                w = self.turning * v
                v2, a2 = float(w @ w), float(a @ a)
                d = PROBE / max((v2 * v2 + a2) ** 0.25, self.floor ** (1.0 / 12.0))
                ends = []
                for s in (d, -d):
                    x = s * v + 0.5 * s * s * a
                    ends.append(self.acceleration(q + x if self.plain else m.integrate(q, x), v + s * a, u))
            except MechanismError:
                return math.nan, math.nan
            j, k = (ends[0] - ends[1]) / (2.0 * d), (ends[0] - 2.0 * a + ends[1]) / (d * d)
            j2 = float(j @ j)
            size = v2**6 + a2**3 + j2 * j2 + self.floor
            rate = 12.0 * v2**5 * float(w @ a) + 6.0 * a2 * a2 * float(a @ j) + 4.0 * j2 * float(j @ k)
        return self.power * math.log(size) / 12.0, self.power * rate / (12.0 * size)


def next_density(density: float, rate: float, eps: float, before: float) -> float:
    """log rho of the next step.

    Args:
        density: log rho of the step before.
        rate: G at the state in between [1/s].
        eps: length of steps where rho is 1 [s].
        before: length of the step before [s]; 0 at the start, where `density` is that of the state.
    """
    rate = max(-STEEPEST / max(before, 1e-300), min(STEEPEST / max(before, 1e-300), rate)) if before > 0.0 else rate
    fixed = density + 0.5 * before * rate
    x = density
    for _ in range(50):
        h = eps * math.exp(-x)
        change = max(-STEEPEST, min(STEEPEST, 0.5 * h * rate))
        slope = 1.0 + change if abs(change) < STEEPEST else 1.0
        new = x - (x - fixed - change) / max(slope, 0.2)
        if abs(new - x) < 1e-15 * max(1.0, abs(x)):
            break
        x = new
    return x
