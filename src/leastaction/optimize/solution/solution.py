"""`Solution`: the motion that an optimiser found, and how good it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.errors import ProblemError
from leastaction.integration.integrators import Integrator
from leastaction.integration.settings import is_number
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown
from leastaction.optimize.constraints.feet import Phase
from leastaction.optimize.solution.diagnostics import decided, explanation, largest_violation
from leastaction.optimize.transcriptions.transcription import Transcription
from leastaction.trajectory.trajectory import Trajectory
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure


REPLAY_TOLERANCE = 1e-3
"""How far [rad or m] the run of a plan may be from it, unless somebody says otherwise."""


@dataclass(frozen=True)
class Iteration:
    """One iteration of a solver: its number, the cost, and the largest violation of a constraint."""

    number: int
    cost: float
    violation: float


@dataclass(frozen=True, eq=False)
class Solution:
    """What an optimiser found.

    Attributes:
        converged: whether it satisfies the constraints and the conditions of a minimum to tolerance.
        failure: why not; names the constraint that is violated most, and its knot or step.
        status: how the solver ended, in its own words.
        cost: sum of the costs.
        violation: largest violation of a constraint or bound.
        trajectory: the motion at the knots, with momenta (or velocities) and controls.
        u: controls at the nodes of the steps, shape (steps, nodes, nu).
        configurations: at all control points, shape (points, nq); those of the trajectory are its knots.
        duration: final time [s].
        multipliers: of the bounds (n,) and of the constraints (m,).
        iterations: the log.
        seconds: time to solve [s].
        z: the unknowns.
        phases: of the problem, with the feet that stand in them.
        replay_tolerance: how far [rad or m] `replay` may be from it for a `success`.
    """

    converged: bool
    failure: str
    status: str
    cost: float
    violation: float
    trajectory: Trajectory
    u: FloatArray
    configurations: FloatArray
    duration: float
    multipliers: tuple[FloatArray, FloatArray]
    iterations: tuple[Iteration, ...]
    seconds: float
    z: FloatArray = field(repr=False)
    phases: tuple[Phase, ...] = ()
    replay_tolerance: float = REPLAY_TOLERANCE

    @property
    def success(self) -> bool:
        """Whether it converged and `replays`."""
        return self.converged and self.replays

    @property
    def reason(self) -> str:
        """Why it is no `success`; empty where it is."""
        return self._parting[1] if self.converged else self.failure

    @property
    def mechanism(self) -> Mechanism:
        """The robot."""
        return self.trajectory.mechanism

    @property
    def t(self) -> FloatArray:
        """Times of the knots [s], shape (steps + 1,)."""
        return self.trajectory.t

    @property
    def q(self) -> FloatArray:
        """Joint positions at the knots [rad or m], shape (steps + 1, nq)."""
        return self.trajectory.q

    @property
    def v(self) -> FloatArray:
        """Joint velocities at the knots [rad/s or m/s], shape (steps + 1, nv)."""
        return self.trajectory.v

    @property
    def forces(self) -> dict[str, FloatArray]:
        """Forces of loops, feet and contacts at the knots by name [N or N m], shape (steps + 1, forces) each."""
        stored, what = self.trajectory.stored, "forces of "
        return {name.removeprefix(what): np.asarray(f) for name, f in stored.items() if name.startswith(what)}

    @property
    def complementarity(self) -> float:
        """The largest product of a contact's force with its gap [N m], or of friction with slip [W]; 0 without any."""
        return float(self.trajectory.stored.get("complementarity", 0.0))

    @cached_property
    def errors(self) -> FloatArray:
        """How far the motion is from the equations of motion between knots, per step and degree of freedom.

        Integrals over the steps of |x' - f(x, u)| along the cubics of q and v that have values and rates of the knots
        at their ends (Villanueva 2025, Eqs. 75 to 77; along the tangents at the knots), shape (steps, 2 nv): of
        positions [rad or m], then of velocities.
        """
        from leastaction.optimize.solution.dynamics_error import step_errors

        return step_errors(self)

    @property
    def error(self) -> float:
        """Mean over the steps of the summed `errors`."""
        return float(self.errors.sum(axis=1).mean())

    def replay(self, integrator: Integrator | None = None, *, dt: float | None = None) -> Trajectory:
        """Simulate the controls from the first state with any integrator; feet are held where they landed.

        Args:
            integrator: default: that of the problem.
            dt: time step [s]; default: that of the problem. Controls between their nodes are read as they were solved
                for: held, or interpolated.

        Warns:
            ReplayWarning: with the integrator and dt of the problem, where a step is so long that its equations have
                several solutions and the run takes another than the plan; the message names the step. Plan with more.
        """
        from leastaction.optimize.functions import argument_checks
        from leastaction.optimize.solution.replay_check import warn_of_parting

        if dt is not None:
            dt = argument_checks.number(dt, "replay: dt [s]", above=0.0)
        run = self.played_back(integrator, dt)
        if dt is None and run.integrator == self.trajectory.integrator:
            warn_of_parting(self, run)
        return run

    @property
    def replays(self) -> bool:
        """Whether `replay`, with the integrator and dt of the problem, stays within `replay_tolerance` of the plan.

        It does not where a step is so long that its equations have several solutions, or the simulator divides it: plan
        with more. Runs it the first time. Plans with contacts, which are part of the plan alone, are not looked at.
        """
        return not self._parting[1]

    @cached_property
    def _parting(self) -> tuple[float, str]:
        from leastaction.optimize.solution.replay_check import largest_parting

        return largest_parting(self)

    def played_back(
        self, integrator: Integrator | None = None, dt: float | None = None, progress: bool | None = None
    ) -> Trajectory:
        """`replay` without its warning."""
        from leastaction.simulation.simulate import simulate

        if self.phases:
            from leastaction.optimize.solution.foothold_replay import replay

            return replay(self, integrator, dt)
        run = self.trajectory
        step = run.dt if dt is None else dt
        held = dt is None and self.u.shape[1] == 1
        return simulate(
            self.mechanism,
            q=run.q[0],
            v=run.v[0],
            dt=step,
            steps=max(round(self.duration / step), 1),
            integrator=run.integrator if integrator is None else integrator,
            controls=self.u[:, 0] if held else self.control,
            progress=progress,
        )

    def track(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        *,
        integrator: Integrator | None = None,
        dt: float | None = None,
        **weights: Any,
    ) -> Trajectory:
        """Simulate the robot from a state near the first one with a controller that follows this solution.

        Args:
            q, v: where it starts; default: where the solution does.
            integrator: default: that of the problem.
            dt: time step [s]; default: that of the problem.
            weights: of `leastaction.optimize.tvlqr`, which makes the controller.
        """
        from leastaction.optimize.mpc.tvlqr import tvlqr

        return tvlqr(self, **weights).simulate(q, v, integrator=integrator, dt=dt)

    def repeat(self, times: int) -> Solution:
        """A periodic motion so many times over, each moved on from the one before, to rehearse or track it as a whole.

        Args:
            times: 1 is the motion itself.
        """
        from leastaction.optimize.solution.periodic import repeated

        return repeated(self, times)

    def control(self, t: float) -> FloatArray:
        """Controls at the time t [s], shape (nu,)."""
        if not is_number(t):
            raise ProblemError(f"control: t must be a finite time [s], got {shown(t)}")
        dt, nodes = self.trajectory.dt, self.u.shape[1]
        k = min(max(int(t / dt * (1.0 + 1e-12) + 1e-12), 0), len(self.u) - 1)
        if nodes == 1:
            return self.u[k, 0]
        from leastaction.optimize.solution.dynamics_error import interpolated

        return interpolated(np.asarray(self.trajectory.stored["nodes"]), self.u[k], t / dt - k)

    def save(self, file: str | PathLike[str]) -> None:
        """Write an .npz file that `load` reads."""
        from leastaction.optimize.solution.solution_files import save

        save(self, file)

    def plot(self, *, path: str | PathLike[str] | None = None, size: tuple[float, float] = (7.0, 6.0)) -> Figure:
        """Positions, velocities and controls over time, as a Matplotlib figure.

        Args:
            path: where to write the figure.
            size: width and height [inch].
        """
        from leastaction.optimize.solution.solution_plot import picture

        return picture(self, path=path, size=size)

    def __str__(self) -> str:
        """One line."""
        how = "solved" if self.success else f"not solved: {self.reason}"
        return (
            f"{self.mechanism.name}: {how}; cost {self.cost:.6g}, violation {self.violation:.1e}, "
            f"{max(len(self.iterations) - 1, 0)} iterations, {self.seconds:.2f} s"
        )


def make_solution(
    program: Transcription,
    z: FloatArray,
    multipliers: tuple[FloatArray, FloatArray],
    *,
    status: str,
    reason: str,
    iterations: list[Iteration],
    seconds: float,
    tolerance: float,
    replay_tolerance: float = REPLAY_TOLERANCE,
) -> Solution:
    """The solution with the unknowns z of a transcription."""
    motion = program.motion(z)
    c = np.zeros(program.m)
    program.constraints(z, c)
    cost = program.cost(z)
    worst, where = largest_violation(program, z, c)
    converged = status in ("Solve_Succeeded", "Solved_To_Acceptable_Level") and worst <= allowed(tolerance)
    if not converged:
        size, given = decided(program, c)
        given = f"{given} by {size:.3g}" if given else ""
        reason = explanation(program, motion, status, reason, cost, (worst, where), iterations, given)
    problem = program.problem
    dt = motion.dt
    stored = {"nodes": np.array(program.nodes), "u": motion.u.copy(), **program.stored(z)}
    if problem.schedule.shift is not None:
        stored["shift"] = problem.schedule.shift
    t = np.asarray(dt * np.arange(program.steps + 1), float)
    trajectory = Trajectory(problem.mechanism, problem.integrator, dt, t, motion.q[:: program.s].copy(), stored)
    return Solution(
        converged=converged,
        failure="" if converged else reason,
        status=status,
        cost=cost,
        violation=worst,
        trajectory=trajectory,
        u=motion.u.copy(),
        configurations=motion.q.copy(),
        duration=program.duration(z),
        multipliers=multipliers,
        iterations=tuple(iterations),
        seconds=seconds,
        z=z.copy(),
        phases=tuple(problem.schedule.phases),
        replay_tolerance=replay_tolerance,
    )


def allowed(tolerance: float) -> float:
    """Largest violation of what counts as converged."""
    return max(1e-6, 1e2 * tolerance)
