"""Model predictive control: a problem solved again at every tick, from where the robot is."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import ArrayLike

from leastaction.errors import ProblemError
from leastaction.mechanism._check import choice, shown
from leastaction.optimize.functions import argument_checks
from leastaction.optimize.functions.derivative_check import check_program
from leastaction.optimize.functions.motion_functions import Deviation
from leastaction.optimize.hessians.hessian_choice import HESSIANS
from leastaction.optimize.mpc.receding_horizon import Shift
from leastaction.optimize.problem.problem import Problem
from leastaction.optimize.solution.solution import Iteration, Solution, make_solution
from leastaction.optimize.solvers.filter_line_search import prepare, search
from leastaction.optimize.solvers.nlp_solver import REASONS
from leastaction.optimize.solvers.primal_dual import Interior
from leastaction.optimize.solvers.real_time_iteration import leap, stride
from leastaction.optimize.transcriptions.variational import Variational
from leastaction.typing import FloatArray


class MPC:
    """A controller that looks ahead: each tick takes a few iterations on a problem that starts where the robot is.

        problem = la.optimize.Problem(robot, steps=50, dt=0.02).start(q=q, v=v)
        problem.minimize(la.optimize.tracking(goal), la.optimize.effort(1e-3))
        mpc = la.optimize.MPC(problem)
        for _ in range(500):
            simulator.step(mpc.step(simulator.q, simulator.v))

    Plan and multipliers of the tick before are moved on by one step of the problem, so one iteration of the
    interior-point method at a fixed barrier parameter is mostly enough (real-time iterations, Diehl 2005). With
    `Problem.contact` each unknown goes as far as its own bounds let it (`solvers.real_time_iteration`).

    Args:
        problem: with a given start, position and velocity, and a given duration; for integrators with discrete
            Euler-Lagrange equations. Robots that are pushed should reach their goal by costs: a `finish` may be out of
            reach.
        iterations: for each tick.
        barrier: barrier parameter, beside scaled costs; a smaller one lets controls come closer to their bounds.
        hessian: "gauss-newton" or "differences".

    Attributes:
        problem: what is solved.
        seconds: what each tick took [s].
        failures: number of ticks whose iterations made no way; the plan before was then moved on.
    """

    def __init__(
        self, problem: Problem, *, iterations: int = 1, barrier: float = 1e-3, hessian: str = "gauss-newton"
    ) -> None:
        if not isinstance(problem, Problem):
            raise ProblemError(f"MPC needs a Problem, got {shown(problem)}")
        if problem.start_position is None or np.isnan(problem.start_position).any() or problem.start_velocity is None:
            raise ProblemError("MPC: give the problem a start with all positions and velocities")
        if problem.fixed_duration is None:
            raise ProblemError("MPC: the problem's duration must be given, not free")
        self.iterations = argument_checks.count(iterations, "MPC: iterations")
        self.barrier = argument_checks.number(barrier, "MPC: barrier", above=0.0)
        choice(hessian, HESSIANS, "MPC: hessian", ProblemError)
        program = problem.transcribe()
        if not isinstance(program, Variational):
            raise ProblemError("MPC is for integrators such as leastaction.Midpoint() and leastaction.Galerkin()")
        self.problem, self.program = problem, program
        # Forces of contacts are nearly always close to zero, and would stop every step for all others.
        self._step = leap if problem.schedule.touches else stride
        self._interior = Interior(program, HESSIANS[hessian](program), tolerance=1e-6)
        self._shift = Shift(program, self._interior)
        self._log: list[Iteration] = []
        self.seconds: list[float] = []
        self.failures = 0
        self._status = ""
        self._ready = False

    # ------------------------------------------------------------------ the loop

    def reset(
        self,
        q: ArrayLike | None = None,
        v: ArrayLike | None = None,
        *,
        plan: Solution | None = None,
        max_iterations: int = 300,
    ) -> Solution:
        """Solve the problem from a state, by default its own start; the first `step` does so where it was not done.

        Args:
            q, v: the state, shapes (nq,) and (nv,).
            plan: a solution of the problem, such as `problem.solve()` gives, to begin from; default its guess. With
                contacts the ticks stay near the minimum that is found here: one from a guess may lean where one that
                `solve` found, which tightens the relaxation step by step, hops.
            max_iterations: at most so many.
        """
        problem, program, ip = self.problem, self.program, self._interior
        argument_checks.count(max_iterations, "MPC: max_iterations")
        if plan is not None and (not isinstance(plan, Solution) or np.shape(plan.z) != (program.n,)):
            raise ProblemError(f"MPC: plan must be a solution of the same problem, got {shown(plan)}")
        z = problem.initial_unknowns(program) if plan is None else plan.z.copy()
        state = self._state(q, v)
        self._load(z, state[1])
        self._start(z, program.motion(z).q.copy(), *state)
        check_program(program, z)
        began = time.perf_counter()
        self._log = []
        ip.watch = self._note
        with np.errstate(all="ignore"):
            status = ip.start(z, mu=max(0.1, self.barrier) if plan is None else self.barrier)
            status = status or search(ip, max_iterations, mu_least=self.barrier)
        ip.watch = lambda _: None
        self.seconds, self.failures, self._status = [], 0, status
        self._z = z.copy()
        self._z[ip.system.free] = ip.x[: ip.n]
        self._ready = True
        return self._plan(time.perf_counter() - began)

    def step(self, q: ArrayLike, v: ArrayLike) -> FloatArray:
        """One tick: controls (nu,) to hold over the next time step of the problem, for a robot at (q, v).

        Args:
            q: joint positions, shape (nq,).
            v: joint velocities, shape (nv,).
        """
        state = self._state(q, v)
        if not self._ready:
            self.reset(*state)
            return self._control()
        began = time.perf_counter()
        ip = self._interior
        points = self._shift.configurations(self._z)
        z = self._shift.unknowns(self._z)
        self._start(z, points, *state)
        self._shift.multipliers()
        ip.mu = self.barrier
        moved = False
        with np.errstate(all="ignore"):
            if ip.go_on(z):
                for k in range(self.iterations):
                    if k:
                        ip.slopes()
                    if not prepare(ip) or not self._step(ip):
                        break
                    moved = True
        z[ip.system.free] = np.clip(
            ip.x[: ip.n], self.program.lower[ip.system.free], self.program.upper[ip.system.free]
        )
        self._z = z
        self.failures += not moved
        self._status = "Solve_Succeeded" if moved else "Search_Direction_Becomes_Too_Small"
        out = self._control()
        self.seconds.append(time.perf_counter() - began)
        return out

    def target(self, reference: ArrayLike) -> None:
        """Move the goal of the costs `tracking` and `terminal`.

        Args:
            reference: configuration (nq,), or one for each knot (steps + 1, nq).
        """
        m, rows = self.problem.mechanism, self.problem.steps + 1
        goal = argument_checks.numbers(reference, [(m.nq,), (rows, m.nq)], "target")
        found = False
        for cost in self.program.costs:
            if isinstance(cost.piece.function, Deviation):
                cost.piece.function.rows, found = np.broadcast_to(goal, (rows, m.nq)), True
        if not found:
            raise ProblemError("target: the problem has no cost 'tracking' or 'terminal'")

    # ------------------------------------------------------------------ what it plans

    @property
    def plan(self) -> Solution:
        """The motion that it expects from here on."""
        if not self._ready:
            self.reset()
        return self._plan(self.seconds[-1] if self.seconds else 0.0)

    @property
    def rate(self) -> float:
        """Ticks per second that the controller alone allows, by the median of `seconds`."""
        return 1.0 / float(np.median(self.seconds)) if self.seconds else float("nan")

    @property
    def worst(self) -> float:
        """The longest tick [s]."""
        return max(self.seconds, default=float("nan"))

    # ------------------------------------------------------------------ parts

    def _state(self, q: ArrayLike | None, v: ArrayLike | None) -> tuple[FloatArray, FloatArray]:
        m = self.problem.mechanism
        q = self.problem.start_position if q is None else q
        v = self.problem.start_velocity if v is None else v
        return argument_checks.numbers(q, [(m.nq,)], "MPC: q"), argument_checks.numbers(v, [(m.nv,)], "MPC: v")

    def _load(self, z: FloatArray, v: FloatArray) -> None:
        """Load the kernels that only a robot in motion needs, so that no tick has to."""
        program = self.program
        program.ends.given = [(0, v + 1.0), *(end for end in program.ends.given if end[0] != 0)]
        program.constraints(z, np.zeros(program.m))
        program.jacobian(z, np.zeros(program.jacobian_pattern.count))

    def _start(self, z: FloatArray, points: FloatArray, q: FloatArray, v: FloatArray) -> None:
        """Let the program start at (q, v): z of the first configuration, and the momentum there.

        Ball and free joints are counted from the configurations `points` of z.
        """
        program, first = self.program, self.program.layout.q[0]
        if program.tangents.curved:
            program.recenter(np.concatenate([q[None], points[1:]]))
            for group in program.tangents.groups:
                z[program.layout.q[:, group]] = 0.0
        z[first] = self.problem.mechanism.difference(program.reference[0], q)
        program.lower[first] = program.upper[first] = z[first]
        program.ends.given = [(0, v), *(end for end in program.ends.given if end[0] != 0)]
        program._motion = None

    def _control(self) -> FloatArray:
        return self.program.motion(self._z).u[0, 0].copy()

    def _note(self, ip: Interior) -> None:
        self._log.append(Iteration(len(self._log), ip.f / ip.cost_scale, ip.violation()))

    def _plan(self, seconds: float) -> Solution:
        return make_solution(
            self.program,
            self._z,
            self._interior.multipliers(),
            status=self._status,
            reason=REASONS.get(self._status, self._status),
            iterations=self._log,
            seconds=seconds,
            tolerance=1e-4,
        )

    def __repr__(self) -> str:
        """What it controls, how often."""
        return (
            f"<MPC of {self.problem.mechanism.name!r}, {self.problem.steps} steps, {self.iterations} iterations a "
            f"tick, {self.rate:.0f} Hz>"
        )
