"""Prediction errors of simulated segments and their derivatives (multiple shooting).

Each segment of a log is simulated from an estimate of its first state. Errors are differences of positions, along the
tangent, and of velocities at all its states, in units of the noise. Sensitivities go forward through the run: those of
a step by its state and controls are the integrator's (A, B), those by parameters its `parameter_jacobian`, and
velocities follow from momenta by the Legendre transform.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from leastaction.derivatives.linearize import controls_of, stepper_that
from leastaction.dynamics import mass_matrix
from leastaction.dynamics.legendre import Momenta, momentum_of_velocity
from leastaction.errors import ConvergenceError, IntegratorError, LeastActionWarning
from leastaction.identification.identification_logs import Segment, delayed
from leastaction.identification.parameter_charts import Chart
from leastaction.integration.integrators import Integrator, Stepper
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.parameters.parameter_differences import Stencil
from leastaction.simulation.simulate import simulate
from leastaction.trajectory.trajectory import Trajectory

STEP = 1e-4
"""Of differences by coordinates of a chart, in units of `Chart.scale`: central ones err by its square."""


NEAR = 1e-4
"""Of differences on the manifold of ball and free joints [rad or m]; they err by its square."""


@dataclass(frozen=True)
class Noise:
    """Standard deviations of measurements, shape (nv,) each: positions along the tangent, and velocities.

    Infinite where a coordinate was not measured.
    """

    q: FloatArray
    v: FloatArray

    @property
    def weights(self) -> FloatArray:
        """One over them, positions first, shape (2 nv,)."""
        return 1.0 / np.concatenate([self.q, self.v])


class PredictionErrors:
    """Errors of all segments as a function of z = (x, starts of the segments in units of the noise).

    Args:
        chart: of the parameters x.
        integrator: that simulates.
        segments: of the logs.
        noise: of the measurements.
        substeps: steps of the simulation for each step of the logs.
        free: whether starts are estimated; else they are taken as measured.
    """

    def __init__(
        self, chart: Chart, integrator: Integrator, segments: list[Segment], noise: Noise, substeps: int, free: bool
    ) -> None:
        self.chart, self.integrator, self.segments, self.noise = chart, integrator, segments, noise
        self.substeps, self.free, self.nv = substeps, free, chart.robot.nv
        self.columns = chart.size + (2 * self.nv * len(segments) if free else 0)
        self.failure: ConvergenceError | None = None
        self._at: tuple[bytes, Any] | None = None

    def first(self, x: FloatArray) -> FloatArray:
        """z with the starts as they were measured."""
        return np.concatenate([x, np.zeros(self.columns - self.chart.size)])

    def start_of(self, z: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
        """State (q, v) from which segment k is simulated."""
        segment, n = self.segments[k], self.nv
        q, v = segment.log.q[segment.first], segment.log.v[segment.first]
        if not self.free:
            return q, v
        at = self.chart.size + 2 * n * k
        moved = z[at : at + 2 * n] * self._units
        return self.chart.robot.integrate(q, moved[:n]), v + moved[n:]

    @property
    def _units(self) -> FloatArray:
        """Sizes of the coordinates of a start: the noise; where a coordinate was not measured, one."""
        units = np.concatenate([self.noise.q, self.noise.v])
        return np.where(np.isfinite(units), units, 1.0)

    def runs(self, z: FloatArray) -> list[Trajectory] | None:
        """The simulated segments; None where one of them fails."""
        key = z.tobytes()
        if self._at is None or self._at[0] != key:
            self._at = key, self._simulated(z)
        return self._at[1]

    def with_noise(self, noise: Noise, z: FloatArray) -> FloatArray:
        """Take another noise; returns z with the starts in units of that."""
        before, z = self._units, z.copy()
        self.noise, self._at = noise, None
        if self.free:
            z[self.chart.size :] *= np.tile(before / self._units, len(self.segments))
        return z

    def _simulated(self, z: FloatArray) -> list[Trajectory] | None:
        x = z[: self.chart.size]
        robot, out = self.chart.robot_at(x), []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeastActionWarning)
            for k, segment in enumerate(self.segments):
                q, v = self.start_of(z, k)
                u = self.controls(segment, x)[0] if robot.nu else None
                options: dict[str, Any] = {"steps": self.substeps * (segment.last - segment.first), "controls": u}
                try:
                    out.append(
                        simulate(
                            robot,
                            q,
                            v,
                            dt=segment.log.dt / self.substeps,
                            integrator=self.integrator,
                            progress=False,
                            **options,
                        )
                    )
                except ConvergenceError as error:
                    self.failure = error
                    return None
        return out

    def controls(self, segment: Segment, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Controls of all steps of the simulation and their derivatives by delays, shape (steps, nu) each."""
        fine, n = np.repeat(segment.log.u, self.substeps, axis=0), self.substeps
        u, slopes = delayed(fine, segment.log.dt / n, self.chart.delays(x))
        rows = slice(n * segment.first, n * segment.last)
        return u[rows], slopes[rows]

    def residuals(self, z: FloatArray) -> FloatArray:
        """All errors in units of the noise; not numbers where a run fails."""
        runs = self.runs(z)
        if runs is None:
            return np.full(self.rows, np.nan)
        return np.concatenate([self.errors(run, s).ravel() for run, s in zip(runs, self.segments, strict=True)])

    @property
    def rows(self) -> int:
        """Number of errors."""
        return sum(2 * self.nv * len(range(s.last - s.first + 1)[self.counted(s)]) for s in self.segments)

    def counted(self, segment: Segment) -> slice:
        """Which of its states have errors: each that was measured counts once.

        Where starts are estimated, the state at which two segments meet is that of the later one; else starts are as
        they were measured.
        """
        return slice(0, -1 if segment.joined else None) if self.free else slice(1, None)

    def errors(self, run: Trajectory, segment: Segment) -> FloatArray:
        """Of the states of one segment, in units of the noise, shape (states, 2 nv)."""
        rows = slice(None, None, self.substeps)
        q = self.chart.robot.difference(segment.log.q[segment.rows], run.q[rows])
        v = run.v[rows] - segment.log.v[segment.rows]
        return (np.concatenate([q, v], axis=1) * self.noise.weights)[self.counted(segment)]

    def jacobians(self, z: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """For each segment the derivatives of its errors by x and by its own start (no columns where it is fixed)."""
        runs = self.runs(z)
        assert runs is not None
        x = z[: self.chart.size]
        robot = self.chart.robot_at(x)
        columns, at = self.stencils(x)
        out = []
        for run, segment in zip(runs, self.segments, strict=True):
            own = Sensitivities(self, run, segment, x).forward(robot, columns, at)
            out.append((own[:, : self.chart.size], own[:, self.chart.size :]))
        return out

    def with_best_starts(self, z: FloatArray, rounds: int = 4) -> FloatArray:
        """z with the starts that fit the segments best, by Gauss and Newton's method; x stays."""
        n, z = self.chart.size, z.copy()
        for _ in range(rounds if self.free else 0):
            residuals, row = self.residuals(z), 0
            if not np.isfinite(residuals).all():
                break
            column = n
            for by_x, by_start in self.jacobians(z):
                own = residuals[row : row + len(by_x)]
                z[column : column + 2 * self.nv] -= np.linalg.lstsq(by_start, own, rcond=None)[0]
                row, column = row + len(by_x), column + 2 * self.nv
        return z

    def stencils(self, x: FloatArray) -> tuple[list[Stencil], list[int]]:
        """Differences by the coordinates of the chart that change the mechanism, and which these are."""
        chart, out, at = self.chart, [], []
        for piece in chart.pieces:
            if piece.kind in ("delay", "gear"):
                continue
            for k in range(piece.rows.start, piece.rows.stop):
                h = STEP * chart.scale[k]
                if x[k] - h >= chart.lower[k] and x[k] + h <= chart.upper[k]:
                    weights = ((-1.0, -0.5), (1.0, 0.5))
                else:
                    side = 1.0 if x[k] - h < chart.lower[k] else -1.0
                    weights = ((0.0, -1.5 * side), (side, 2.0 * side), (2.0 * side, -0.5 * side))
                stencil = []
                for offset, weight in weights:
                    other = x.copy()
                    other[k] += offset * h
                    stencil.append((weight / h, chart.robot_at(other, strict=False)))
                out.append(stencil)
                at.append(k)
        return out, at


class Sensitivities:
    """Derivatives of one simulated segment by parameters and by its start.

    Args:
        errors: whose segment it is.
        run: the segment, simulated.
        segment: as measured.
        x: vector of the chart.
    """

    def __init__(self, errors: PredictionErrors, run: Trajectory, segment: Segment, x: FloatArray) -> None:
        self.errors, self.run, self.segment, self.x = errors, run, segment, x

    def forward(self, robot: Mechanism, columns: list[Stencil], at: list[int]) -> FloatArray:
        """Derivatives of all errors of the segment, shape (errors, n + 2 nv), without those of starts that are fixed.

        Args:
            robot: with the values of x.
            columns: stencils of coordinates of x that change the mechanism.
            at: which these are.
        """
        e, run, n = self.errors, self.run, self.errors.nv
        size, free = e.chart.size, e.free
        stepper = stepper_that("linearize", robot, e.integrator, run.dt)
        if columns and "parameters" not in stepper.can:
            stepper.refuse("parameters")
        stepper.prepare_start(run.q[0])
        by_velocity = VelocityJacobians(stepper, run, columns)
        u, by_delay = e.controls(self.segment, self.x)
        delay_slopes, gear_slopes = e.chart.delay_slopes(), e.chart.gear_slopes(self.x)
        driven = bool(robot.nu) and bool(delay_slopes.any() or gear_slopes.any())
        S = np.zeros((2 * n, size + (2 * n if free else 0)))
        if free:
            measured = self.segment.log.q[self.segment.first]
            S[:, size:] = by_velocity.of_start(start_slope(robot, measured, run.q[0])) * e._units
        S[n:, at] = by_velocity.momenta_by_parameters(0)
        out = [self._of_state(0, S, by_velocity, at)]
        for k in range(run.steps):
            acting, follows = controls_of(robot, u[k] if robot.nu else None)
            q, p = run.q[k], run.p[k]
            A, B = stepper.linearize(q, p, acting)
            S = A @ S
            if columns:
                S[:, at] += stepper.parameter_jacobian(q, p, acting, columns)
            if driven:
                change = by_delay[k][:, None] * delay_slopes + u[k][:, None] * gear_slopes
                S[:, :size] += (B * follows) @ change
            if (k + 1) % e.substeps == 0:
                out.append(self._of_state(k + 1, S, by_velocity, at))
        return np.concatenate(out[e.counted(self.segment)])

    def _of_state(self, k: int, S: FloatArray, by_velocity: VelocityJacobians, at: list[int]) -> FloatArray:
        """Derivatives of the errors of state k of the run, from those of its (q, p), shape (2 nv, columns)."""
        e, n = self.errors, self.errors.nv
        measured = self.segment.log.q[self.segment.first + k // e.substeps]
        q = difference_slope(e.chart.robot, measured, self.run.q[k]) @ S[:n]
        return np.concatenate([q, by_velocity.of_momenta(k, S, at)]) * e.noise.weights[:, None]


class VelocityJacobians:
    """Derivatives of p = M(q) v and of its inverse along a run.

    Args:
        stepper: of the run.
        run: whose states they are taken at.
        columns: stencils of parameters.
    """

    def __init__(self, stepper: Stepper, run: Trajectory, columns: list[Stencil]) -> None:
        self.run, self.robot, self.momenta = run, run.mechanism, Momenta(run.mechanism)
        if not stepper.momentum:
            name = type(stepper.integrator).__name__
            raise IntegratorError(f"{name} does not solve for momenta; use Galerkin, Midpoint, Minimal or Maximal")
        changes = np.zeros((len(columns), *run.v.shape))
        for k, stencil in enumerate(columns):
            for weight, mechanism in stencil:
                changes[k] += weight * momentum_of_velocity(mechanism, run.q, run.v)
        self.changes = changes

    def momenta_by_parameters(self, k: int) -> FloatArray:
        """d(M v)/d(parameters) at state k, shape (nv, columns)."""
        return self.changes[:, k].T

    def of_start(self, moved: FloatArray) -> FloatArray:
        """(q, p) of the first state by displacements of it from what was measured, and by v, shape (2 nv, 2 nv).

        Args:
            moved: derivative of q along its tangent by these displacements, shape (nv, nv).
        """
        n = self.robot.nv
        q, v = self.run.q[0], self.run.v[0]
        out = np.zeros((2 * n, 2 * n))
        out[:n, :n] = moved
        out[n:, :n], out[n:, n:] = self.momenta.slope(q, v) @ moved, mass_matrix(self.robot, q)
        return out

    def of_momenta(self, k: int, S: FloatArray, at: list[int]) -> FloatArray:
        """Derivatives of v of state k, from those of its (q, p): M dv = dp - d(M v)/dq dq - d(M v)."""
        n, q, v = self.robot.nv, self.run.q[k], self.run.v[k]
        right = S[n:] - self.momenta.slope(q, v) @ S[:n]
        right[:, at] -= self.momenta_by_parameters(k)
        return np.asarray(np.linalg.solve(mass_matrix(self.robot, q), right), float)


def difference_slope(robot: Mechanism, q0: FloatArray, q1: FloatArray) -> FloatArray:
    """Derivative of `robot.difference(q0, q1)` by q1 along its tangent, shape (nv, nv)."""
    if robot.nq == robot.nv:
        return np.eye(robot.nv)
    ends = [robot.difference(q0, robot.integrate(q1, sign * NEAR * np.eye(robot.nv))) for sign in (1.0, -1.0)]
    return (ends[0] - ends[1]).T / (2.0 * NEAR)


def start_slope(robot: Mechanism, q0: FloatArray, q1: FloatArray) -> FloatArray:
    """Derivative of `robot.integrate(q0, d)` by d along its tangent where it is q1, shape (nv, nv)."""
    if robot.nq == robot.nv:
        return np.eye(robot.nv)
    d = robot.difference(q0, q1)
    ends = [robot.difference(q1, robot.integrate(q0, d + sign * NEAR * np.eye(robot.nv))) for sign in (1.0, -1.0)]
    return (ends[0] - ends[1]).T / (2.0 * NEAR)
