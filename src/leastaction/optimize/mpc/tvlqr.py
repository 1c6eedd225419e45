"""Following a solution in spite of disturbances: a time-varying linear-quadratic regulator along it (TV-LQR).

With the step's own derivatives A, B (those of the discrete flow, with loops and feet where there are any) the gains
follow from the Riccati recursion, from the end to the start:

    K = (R + B' S B)^-1 B' S A,   S <- Q + A' S (A - B K)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.dynamics.api import mass_matrix
from leastaction.dynamics.legendre import momentum_of_velocity
from leastaction.errors import ProblemError
from leastaction.initial_state.start import checked_integrator
from leastaction.integration.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown
from leastaction.optimize.solution.foothold_replay import held, replay
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.optimize.solution.solution import Solution
    from leastaction.trajectory.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class Tracker:
    """A controller that follows a solution; see `tvlqr`.

    Attributes:
        solution: what is followed.
        gains: K of each step, shape (steps, nu, 2 nv), by positions [rad or m] along the tangent and momenta.
        cost_to_go: S at the knots, shape (steps + 1, 2 nv, 2 nv).
        lower, upper: limits of the controls, shape (nu,).
    """

    solution: Solution
    gains: FloatArray
    cost_to_go: FloatArray
    lower: FloatArray
    upper: FloatArray

    def deviation(self, t: float, q: FloatArray, v: FloatArray) -> FloatArray:
        """How far a state is from the solution at the time t: positions along the tangent, then momenta (2 nv,)."""
        run, m = self.solution.trajectory, self.solution.mechanism
        k = min(max(int(t / run.dt + 1e-9), 0), run.steps - 1)
        part = min(t / run.dt - k, 1.0)
        wanted = m.integrate(run.q[k], part * m.difference(run.q[k], run.q[k + 1]))
        p = momentum_of_velocity(m, np.asarray(q)[None], np.asarray(v)[None])[0]
        return np.concatenate([m.difference(wanted, q), p - ((1.0 - part) * run.p[k] + part * run.p[k + 1])])

    def controls(self, t: float, q: FloatArray, v: FloatArray, *, dt: float | None = None) -> FloatArray:
        """Controls (nu,) in a state at the time t [s]; with those of the solution half of dt later."""
        run = self.solution.trajectory
        k = min(max(int(t / run.dt + 1e-9), 0), run.steps - 1)
        middle = t + 0.5 * (run.dt if dt is None else dt)
        u = self.solution.control(middle) - self.gains[k] @ self.deviation(t, q, v)
        return np.clip(u, self.lower, self.upper)

    def simulate(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        *,
        integrator: Integrator | None = None,
        dt: float | None = None,
    ) -> Trajectory:
        """Simulate the robot under this controller.

        Args:
            q, v: where it starts; default: where the solution does.
            integrator: default: that of the problem.
            dt: time step [s]; default: that of the problem.
        """
        return replay(self.solution, integrator, dt, tracker=self, q=q, v=v)


def tvlqr(
    solution: Solution, *, position: ArrayLike = 100.0, velocity: ArrayLike = 1.0, effort: ArrayLike = 1e-2
) -> Tracker:
    """A controller that follows a solution, optimal for small deviations.

    Args:
        solution: of a problem whose integrator has derivatives.
        position: weights of deviations of positions, one number or (nv,).
        velocity: weights of deviations of velocities, one number or (nv,).
        effort: weights of changes of the controls, one positive number or (nu,).
    """
    if not hasattr(solution, "mechanism") or not hasattr(solution, "trajectory"):
        raise ProblemError(f"tvlqr needs a Solution, got {shown(solution)}")
    m, run = solution.mechanism, solution.trajectory
    n, nu, N = m.nv, m.nu, run.steps
    wq, wv = (_weights(x, n, name, 0.0) for x, name in ((position, "position"), (velocity, "velocity")))
    R = np.diag(_weights(effort, nu, "effort", 1e-300))
    if "p" not in run.stored:
        raise ProblemError("tvlqr: solutions of collocation have no discrete momenta; use Midpoint or Galerkin")
    Q = np.zeros((N + 1, 2 * n, 2 * n))
    for k in range(N + 1):
        inverse = np.linalg.inv(mass_matrix(m, run.q[k]))
        Q[k, :n, :n], Q[k, n:, n:] = np.diag(wq), inverse @ np.diag(wv) @ inverse
    S, K = Q.copy(), np.zeros((N, nu, 2 * n))
    for k, stepper in reversed(list(enumerate(_steppers(solution)))):
        u = solution.u[k]
        A, B = stepper.linearize(run.q[k], run.p[k], u.mean(axis=0) if len(u) > 1 else u[0])
        K[k] = np.linalg.solve(R + B.T @ S[k + 1] @ B, B.T @ S[k + 1] @ A)
        S[k] = Q[k] + A.T @ S[k + 1] @ (A - B @ K[k])
        S[k] = 0.5 * (S[k] + S[k].T)
    limits = [(a.lower, a.upper) for a in m.actuators] or [(-np.inf, np.inf)] * nu
    lower, upper = np.array(limits, float).reshape(-1, 2).T
    return Tracker(solution, K, S, lower, upper)


def _steppers(solution: Solution) -> list[Any]:
    """What steps the robot in each step of the solution: with feet, as those hold it."""
    run, m = solution.trajectory, solution.mechanism

    def prepared(robot: Mechanism) -> Any:
        stepper = checked_integrator(run.integrator).prepare(robot, run.dt)
        if "linearize" not in stepper.can:
            stepper.refuse("linearize")
        return stepper

    if not solution.phases:
        return [prepared(m)] * run.steps
    out: list[Any] = []
    for phase in solution.phases:
        robot = held(m, phase.feet, run.q[len(out)]) if phase.feet else m.replace(contacts=())
        out += [prepared(robot)] * phase.steps
    return out


def _weights(value: Any, size: int, name: str, least: float) -> FloatArray:
    try:
        out = np.broadcast_to(np.asarray(value, float), (size,))
    except (TypeError, ValueError):
        out = np.full(size, np.nan)
    if not (np.isfinite(out).all() and (out >= least).all()):
        kind = "positive" if least else "not negative"
        raise ProblemError(f"tvlqr: {name} must be a finite number, {kind}, or {size} of them, got {value!r}")
    return out
