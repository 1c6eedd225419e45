"""Second derivatives of what drives in ball and free joints do over a step of the midpoint rule.

Their torque t and force f are fixed in the child, half way through the step. With the turn xi of the joint over it and
multipliers (turns a_0, a_1 and shifts b_0, b_1 of both ends in their own frames) they do the work

    w = dt (t . delta + f . (exp(-xi/2) b_0 + exp(xi/2) b_1) / 2),   delta = (a_0 + a_1) / 2 + tau/2 xi x (a_1 - a_0),

tau = tan(|xi| / 4) / |xi|: a function of xi alone. Derivatives beyond the first are carried as imaginary parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction.forces.arrays import force_model
from leastaction.optimize.functions.manifold_derivatives import COMPLEX_STEP, even, left_jacobian, transport
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.optimize.transcriptions.variational import Variational


class TurningControls:
    """The drives of the ball and free joints of one transcription.

    Attributes:
        joints: for each joint its degrees of freedom (first, count) and its drives (control, component, gear).
        by_controls: second derivatives by the controls and the tangents of both ends, shape (steps, nu, 2, nv).
    """

    def __init__(self, program: Variational) -> None:
        m = program.mechanism
        self.mechanism = m
        drives = force_model(m.tree).drives
        self.joints: list[tuple[int, int, list[tuple[int, int, float]]]] = []
        for g in m.coordinate_groups:
            if g.nv > 1:
                own = [(k, int(d.dof) - g.iv, float(d.gear)) for k, d in enumerate(drives) if 0 <= d.dof - g.iv < g.nv]
                if own:
                    self.joints.append((g.iv, g.nv, own))
        self.by_controls = np.zeros((program.steps, m.nu, 2, m.nv))

    def add(self, q: FloatArray, u: FloatArray, dt: float, lam: FloatArray, H: FloatArray) -> None:
        """Add to H (steps, 2, nv, 2, nv); fill in `by_controls`.

        q: knots, shape (steps + 1, nq); u: shape (steps, nu); lam: shape (steps, 2, nv).
        """
        x = self.mechanism.difference(q[:-1], q[1:])
        for iv, nv, own in self.joints:
            xi, turns = x[:, iv : iv + 3], slice(iv, iv + 3)
            wrench = np.zeros((len(x), 6))
            for k, c, gear in own:
                wrench[:, c] += gear * u[:, k]
            ends = [lam[:, chi, iv : iv + nv] for chi in (0, 1)]
            moved = xi[:, None] + 1j * COMPLEX_STEP * np.eye(3)  # one direction after the other
            gradient = _gradient(xi, wrench, ends)
            rate = _gradient(moved, wrench[:, None], [e[:, None] for e in ends]).imag / COMPLEX_STEP
            # How xi moves with both ends, and how that changes.
            A = _ends(xi)
            slope = np.einsum("kc,kbca->kab", gradient, _ends(moved).imag / COMPLEX_STEP) @ A
            T = dt * (np.swapaxes(A, 1, 2) @ rate @ A + even(slope))
            for a in (0, 1):
                for b in (0, 1):
                    H[:, a, turns, b, turns] += T[:, 3 * a : 3 * a + 3, 3 * b : 3 * b + 3]
            for k, c, gear in own:
                unit = np.zeros((len(x), 6))
                unit[:, c] = dt * gear
                by = np.einsum("kc,kca->ka", _gradient(xi, unit, ends), A)
                self.by_controls[:, k, 0, turns], self.by_controls[:, k, 1, turns] = by[:, :3], by[:, 3:]


def _ends(xi: Any) -> Any:
    """dxi by the turns of both ends, shape (..., 3, 6)."""
    start, end = np.linalg.inv(left_jacobian(xi)), np.linalg.inv(left_jacobian(-xi))
    return np.concatenate([-start, end], axis=-1)


def _gradient(xi: Any, wrench: FloatArray, ends: list[FloatArray]) -> Any:
    """dw/dxi over dt, shape (..., 3)."""
    t, f = wrench[..., :3], wrench[..., 3:]
    d = ends[1][..., :3] - ends[0][..., :3]
    tau, slope = _half_turn((xi * xi).sum(axis=-1, keepdims=True))
    work = (t * np.cross(xi, d)).sum(axis=-1, keepdims=True)
    out = 0.5 * (slope * work * xi + tau * np.cross(d, t))
    if ends[0].shape[-1] == 6:
        for sign, end in ((-0.5, ends[0]), (0.5, ends[1])):
            y = sign * xi
            back = np.einsum("...ji,...j->...i", transport(y), np.broadcast_to(f, y.shape))
            moment = np.cross(np.broadcast_to(end[..., 3:], y.shape), back)
            out = out + 0.5 * sign * np.einsum("...ij,...j->...i", left_jacobian(y), moment)
    return out


def _half_turn(t: Any) -> tuple[Any, Any]:
    """tau at t = |xi|^2, and its slope: dtau = slope (xi . dxi)."""
    near = t.real < 1e-2
    safe = np.where(near, 1.0, t)
    theta = np.sqrt(safe)
    tau = np.tan(0.25 * theta) / theta
    slope = (0.25 + 0.25 * safe * tau * tau - tau) / safe
    # Taylor terms of tan(theta / 4) / theta in t.
    a = (1 / 4, 1 / 192, 1 / 7680, 17 / 5160960, 31 / 371589120)
    series = a[0] + t * (a[1] + t * (a[2] + t * (a[3] + t * a[4])))
    return np.where(near, series, tau), np.where(
        near, 2.0 * (a[1] + t * (2.0 * a[2] + t * (3.0 * a[3] + t * 4.0 * a[4]))), slope
    )
