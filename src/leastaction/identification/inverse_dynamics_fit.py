"""A first fit without a simulation: forces of inverse dynamics are linear in most parameters.

Samples of (q, v, a, u) give M a + bias - passive forces - forces of controls = 0, in which masses, first moments and
inertias are linear by the regressor, and dampers, springs, armatures, dry friction and gears are, too. All samples are
brought down to one small triangle by QR, and the charts are fitted to that, so that what comes out is physical.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr
from scipy.optimize import least_squares

from leastaction import dynamics
from leastaction.dynamics.regressor import inertial_parameters, inverse_dynamics_regressor
from leastaction.identification.identification_logs import Log, delayed, noise_of, smoothed, smoothed_controls
from leastaction.identification.parameter_charts import BODY, Chart, Piece
from leastaction.integration.default import can_touch
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.drives.muscles import Muscle
from leastaction.parameters.parameters import parameter

LINEAR = ("damping", "stiffness", "armature", "kp", "kv", "linear", "quadratic")
"""Kinds of which inverse dynamics or passive forces are a linear function, beside those of bodies."""

SLOW = 5.0
"""Below so many times the noise of a velocity, the sign of dry friction is not known."""

WEAK = 3.0
"""How far a coordinate of a chart may go, in units of `Chart.scale`, for a penalty of one: what the samples do not say
stays near its first value."""


@dataclass
class Samples:
    """States of all logs with the accelerations between them.

    Attributes:
        q, v, a: shape (samples, nq or nv).
        pieces: for each log its number of samples.
    """

    q: FloatArray
    v: FloatArray
    a: FloatArray
    pieces: list[int]


def serves(robot: Mechanism) -> bool:
    """Whether inverse dynamics of logs is that of a tree with forces that follow from its state and controls."""
    plain = not any(isinstance(a, Muscle) or a.activation is not None for a in robot.actuators)
    return plain and robot.is_tree and not can_touch(robot) and "spline joint" not in robot.special_parts


def samples_of(robot: Mechanism, logs: list[Log]) -> Samples:
    """Smoothed states of all logs."""
    parts = [smoothed(robot, log) for log in logs]
    q, v, a = (np.concatenate([part[k] for part in parts]) for k in range(3))
    return Samples(q, v, a, [len(part[0]) for part in parts])


class InverseDynamicsFit:
    """Forces that inverse dynamics and what drives the robot disagree in, as a linear function of natural parameters.

    Args:
        chart: of the parameters.
        logs: of the robot.
        samples: the states to look at; default those of the logs, smoothed.

    Attributes:
        columns: derivative of the disagreement by the natural parameters, shape (samples, nv, columns).
    """

    def __init__(self, chart: Chart, logs: list[Log], samples: Samples | None = None) -> None:
        self.chart, self.logs = chart, logs
        robot = chart.robot_at(chart.start)
        self.robot, self.samples = robot, samples or samples_of(robot, logs)
        kinds = {piece.part for piece in chart.pieces if piece.kind in BODY}
        self.bodies = [k for k, body in enumerate(robot.bodies) if body.name in kinds]
        self.others = [piece for piece in chart.pieces if piece.kind in (*LINEAR, "friction") and self._of_joint(piece)]
        self.gears = [piece for piece in chart.pieces if piece.kind == "gear"]
        s = self.samples
        slow = self.slowest()
        self.signs = np.tanh(2.0 * s.v / slow)
        self.dry = np.concatenate([np.zeros(0), *(np.array(joint.friction) for joint in robot.joints)])
        named = {piece.part for piece in self.others if piece.kind == "friction"}
        rubs = np.concatenate(
            [np.zeros(0, bool), *(np.full(j.nv, any(j.friction) or j.name in named) for j in robot.joints)]
        )
        self.known = np.where(rubs & (np.abs(s.v) < slow), 0.0, 1.0)
        """1 where the force of dry friction is known, shape (samples, nv)."""
        self.own = required_forces(robot, s)
        self.columns = self._columns()

    def slowest(self) -> FloatArray:
        """Velocities below which the sign of dry friction is not known [rad/s or m/s], shape (nv,)."""
        return SLOW * noise_of(self.robot, self.logs)[1]

    def _of_joint(self, piece: Piece) -> bool:
        """Dry friction of joints is linear; that of surfaces is another thing."""
        return piece.kind != "friction" or piece.part in self.robot.joint_names

    def natural(self, x: FloatArray) -> FloatArray:
        """Natural parameters of a vector of the chart, in the order of `columns`."""
        robot = self.chart.robot_at(x, strict=False)
        parts = [inertial_parameters(robot)[self.bodies].ravel()]
        parts += [np.atleast_1d(parameter(robot, piece.name)).ravel() for piece in self.others]
        parts += [x[piece.rows] for piece in self.gears]
        return np.concatenate(parts)

    def _columns(self) -> FloatArray:
        s, n = self.samples, self.robot.nv
        at = np.concatenate([10 * b + np.arange(10) for b in self.bodies] or [np.zeros(0, int)]).astype(int)
        rows = [inverse_dynamics_regressor(self.robot, *x)[:, at] for x in zip(s.q, s.v, s.a, strict=True)]
        parts = [np.array(rows).reshape(len(s.q), n, len(at))]
        loose, own = self.robot.replace(strict=False), self._forces(self.robot)
        for piece in self.others:
            value = np.atleast_1d(parameter(self.robot, piece.name))
            for k in range(value.size):
                if piece.kind == "friction":
                    j = self.robot.velocity_index(self.robot.joint(piece.part).velocity_names()[k])
                    column = np.zeros((len(s.q), n))
                    column[:, j] = self.signs[:, j]
                else:
                    other, step = value.copy(), max(1.0, float(np.abs(value).max()))
                    other.flat[k] += step
                    changed = self.chart.with_values(loose, {piece.name: other})
                    column = (self._forces(changed) - own) / step
                parts.append(column[:, :, None])
        for piece in self.gears:
            parts.append(self.driven_forces(self.robot, name=piece.part)[:, :, None] / -self.chart.start[piece.rows])
        return np.concatenate(parts, axis=2)

    def _forces(self, robot: Mechanism) -> FloatArray:
        """What the drives of a robot must exert and do not, but for dry friction, shape (samples, nv)."""
        return required_forces(robot, self.samples) - self.driven_forces(robot)

    def driven_forces(self, m: Mechanism, delays: FloatArray | None = None, name: str | None = None) -> FloatArray:
        """Generalised forces of all controls, or of one actuator, shape (samples, nv)."""
        out, first = [], 0
        delays = np.zeros(m.nu) if delays is None else delays
        for log, count in zip(self.logs, self.samples.pieces, strict=True):
            u = smoothed_controls(log, delayed(log.u, log.dt, delays)[0])
            if name is not None:
                u = u * np.array([a.name == name for a in m.actuators])
            Q = self.samples.q[first : first + count]
            out += [m.generalized_forces(row, q) for row, q in zip(u, Q, strict=True)]
            first += count
        return np.array(out).reshape(-1, m.nv)

    def disagreement(self, delays: FloatArray) -> FloatArray:
        """Of inverse dynamics and drives at the first values, shape (samples, nv)."""
        return self.own + self.dry * self.signs - self.driven_forces(self.robot, delays)

    def solve(self) -> FloatArray:
        """A vector of the chart; what samples do not say stays as it is."""
        chart, x = self.chart, self.chart.start.copy()
        rough = self.known / np.maximum(self.own.std(axis=0), 1e-12 + 1e-6 * np.abs(self.own).max(initial=0.0))
        for piece in (piece for piece in chart.pieces if piece.kind == "delay"):
            x[piece.rows] = self._delay(x, piece.rows.start, rough)
        r = self.disagreement(chart.delays(x))
        weights = rough
        for _ in range(2):
            x = self._fitted(x, weights, r)
            left = r + self.columns @ (self.natural(x) - self.natural(chart.start))
            spread = np.sqrt((self.known * left**2).sum(axis=0) / np.maximum(self.known.sum(axis=0), 1.0))
            weights = self.known / np.maximum(spread, 1e-12 + 1e-9 * np.abs(self.own).max(initial=0.0))
        return x

    def _delay(self, x: FloatArray, at: int, weights: FloatArray) -> float:
        """The delay [s] on the grid of the steps that fits best, whatever the natural parameters are."""
        Phi = (weights[:, :, None] * self.columns).reshape(weights.size, self.columns.shape[2])
        Q: Any = qr(Phi, mode="economic")[0] if Phi.shape[1] else np.zeros((len(Phi), 0))
        grid = np.arange(0.0, self.chart.upper[at], min(log.dt for log in self.logs))
        costs = []
        for delay in grid:
            other = x.copy()
            other[at] = delay
            r = (weights * self.disagreement(self.chart.delays(other))).ravel()
            r = r - Q @ (Q.T @ r)
            costs.append(float(r @ r))
        return float(grid[int(np.argmin(costs))]) if len(grid) else 0.0

    def _fitted(self, x: FloatArray, weights: FloatArray, r: FloatArray) -> FloatArray:
        """The chart fitted to the triangle to which all samples come down."""
        chart, P = self.chart, self.columns.shape[2]
        rows = np.concatenate([weights[:, :, None] * self.columns, (weights * r)[:, :, None]], axis=2)
        triangle: Any = np.linalg.qr(rows.reshape(weights.size, P + 1), mode="r")
        R, z = triangle[:, :P], triangle[:, P]
        first = self.natural(chart.start)
        free = [k for piece in chart.pieces if piece.kind != "delay" for k in range(piece.rows.start, piece.rows.stop)]
        pull = 1.0 / (WEAK * chart.scale[free])

        def residuals(y: FloatArray) -> FloatArray:
            now = x.copy()
            now[free] = y
            return np.concatenate([R @ (self.natural(now) - first) + z, pull * (y - chart.start[free])])

        if not free:
            return x
        start = np.clip(x[free], chart.lower[free] + 1e-10, chart.upper[free] - 1e-10)
        found = least_squares(
            residuals, start, bounds=(chart.lower[free], chart.upper[free]), x_scale="jac", max_nfev=60
        )
        out = x.copy()
        out[free] = found.x
        return out


def required_forces(robot: Mechanism, samples: Samples) -> FloatArray:
    """Forces that drives and dry friction must exert, shape (samples, nv): M a + bias - passive forces."""
    rows = [
        dynamics.inverse_dynamics(robot, q, v, a) - dynamics.passive_forces(robot, q, v)
        for q, v, a in zip(samples.q, samples.v, samples.a, strict=True)
    ]
    return np.array(rows).reshape(-1, robot.nv)
