"""`solve`: a problem, its solver, and what comes out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from leastaction._display.progress import Progress
from leastaction.errors import ProblemError
from leastaction.mechanism._check import choice, shown
from leastaction.optimize.functions import argument_checks
from leastaction.optimize.functions.derivative_check import check_program
from leastaction.optimize.functions.kinematic_functions import CentroidalMomentum
from leastaction.optimize.functions.motion_functions import Control, Displacement, StepTime, Velocity
from leastaction.optimize.functions.servo_forces import ServoForce
from leastaction.optimize.problem.problem import Problem
from leastaction.optimize.solution.diagnostics import decided
from leastaction.optimize.solution.solution import REPLAY_TOLERANCE, Iteration, Solution, make_solution
from leastaction.optimize.solvers.cyipopt import Cyipopt
from leastaction.optimize.solvers.horizon_solver import Horizon
from leastaction.optimize.solvers.ipopt import Ipopt
from leastaction.optimize.solvers.nlp_solver import REASONS, Solver, SolverRequest
from leastaction.optimize.solvers.snopt import Snopt
from leastaction.optimize.transcriptions.sparsity import FloatArray
from leastaction.optimize.transcriptions.transcription import Transcription

SOLVERS: dict[str, type[Solver]] = {"ipopt": Ipopt, "horizon": Horizon, "cyipopt": Cyipopt, "snopt": Snopt}

AT_REST = (Control, StepTime, Velocity, Displacement, CentroidalMomentum)
"""Functions that say nothing of where the robot is: those that vanish at rest, and the time."""

RECENTERED = 4
"""How often the reference of ball and free joints may move before a solve gives up."""

FAR = 1.5
"""Turns from the reference [rad] beyond which a solution is taken up again from there."""


def solve(
    problem: Problem,
    *,
    solver: str = "ipopt",
    hessian: str = "exact",
    tolerance: float = 1e-8,
    max_iterations: int = 500,
    time_limit: float | None = None,
    log: bool | Callable[[Iteration], object] = False,
    progress: bool | None = None,
    warm_start: Solution | None = None,
    options: Mapping[str, object] | None = None,
    replay_tolerance: float = REPLAY_TOLERANCE,
) -> Solution:
    """Solve a problem.

    Args:
        problem: what to solve.
        solver: "ipopt" (extra `optimize`), or "horizon": an interior-point method of the package's own, whose linear
            systems are solved along the horizon in time linear in the number of steps. "cyipopt" and "snopt" are for
            those who have the package cyipopt, or SNOPT's library where CasADi finds it; the latter makes up its
            second derivatives.
        hessian: second derivatives: "exact", "differences" of the analytic gradient, "gauss-newton", "quasi-newton"
            (those of the dynamics are learnt from their gradients, a block for each step), or "l-bfgs" for none (not
            "horizon").
        tolerance: of the solver, relative, on optimality and constraints.
        max_iterations: at most so many.
        time_limit: [s].
        log: True prints a line for each iteration; a function is called with each `Iteration`.
        progress: show iterations, cost and violation while it runs; default: only on a terminal or in a notebook, when
            it takes long, and without a log.
        warm_start: a solution of a problem with the same unknowns, from which the search begins.
        options: of the solver: those of IPOPT by their names there; "mu_init" of "horizon".
        replay_tolerance: how far [rad or m] the simulator's motion under the controls, with the same steps, may be from
            the plan; where it is farther, since a step is so long that its equations have several solutions or that
            the simulator divides it, the plan is no success. Infinite: nobody looks.

    Returns:
        The solution; `success` says whether it converged and replays, `reason` why not. Ctrl-C gives the best motion so
        far.

    Raises:
        ProblemError: the problem is ill posed. What functions of yours raise comes through.
    """
    if not isinstance(problem, Problem):
        raise ProblemError(f"solve needs a Problem, got {shown(problem)}")
    choice(solver, SOLVERS, "solver", ProblemError)
    argument_checks.text(hessian, "hessian")
    if argument_checks.number(tolerance, "tolerance", above=0.0) >= 1.0:
        raise ProblemError(f"tolerance must be below 1, got {tolerance!r}")
    argument_checks.count(max_iterations, "max_iterations")
    if not (isinstance(replay_tolerance, float) and replay_tolerance == math.inf):
        argument_checks.number(replay_tolerance, "replay_tolerance [rad or m]", above=0.0)
    if time_limit is not None:
        argument_checks.number(time_limit, "time_limit [s]", above=0.0)
    if not isinstance(log, bool | np.bool_) and not callable(log):
        raise ProblemError(f"log must be True, False or a function, got {shown(log)}")
    if not isinstance(progress, bool | None):
        raise ProblemError(f"progress must be True, False or None, got {shown(progress)}")
    if warm_start is not None and not isinstance(warm_start, Solution):
        raise ProblemError(f"warm_start must be a Solution, got {shown(warm_start)}")
    if options is not None and not (isinstance(options, dict) and all(isinstance(name, str) for name in options)):
        raise ProblemError(f"options must be values by name, got {shown(options)}")
    program = problem.transcribe()
    _check_start(problem)
    z, multipliers, status = problem.initial_unknowns(program), None, ""
    check_program(program, z)
    if warm_start is not None:
        z, multipliers = warm(program, z, warm_start)
    began = time.perf_counter()
    run = SOLVERS[solver](program, hessian, log)
    rows = np.zeros(program.m)
    program.constraints(z, rows)
    if decided(program, rows)[1]:
        # No motion changes that, and a search would look for one.
        none = np.zeros(program.n), np.zeros(program.m)
        return make_solution(
            program,
            z,
            none,
            status="Infeasible_Problem_Detected",
            reason="",
            iterations=[],
            seconds=time.perf_counter() - began,
            tolerance=tolerance,
            replay_tolerance=replay_tolerance,
        )
    with Progress(max_iterations, False if log and progress is None else progress, "solving") as run.progress:
        for attempt in range(RECENTERED + 1):
            left = None if time_limit is None else max(time_limit - (time.perf_counter() - began), 1e-3)
            asked = SolverRequest(tolerance, max_iterations, left, options or {})
            z, multipliers, status = run.solve(z, multipliers, asked)
            if run.stopped:
                break
            turns = [program.layout.q[:, g][:, :3] for g in program.tangents.groups]
            turned = max((float(np.abs(z[t]).max()) for t in turns), default=0.0)
            if turned < FAR or attempt == RECENTERED:
                break
            motion = program.motion(z)
            z = program.unknowns(motion.q.copy(), z[program.layout.u], program.duration(z), like=z)
    assert multipliers is not None
    return make_solution(
        program,
        z,
        multipliers,
        status=status,
        reason=REASONS.get(status, status),
        iterations=run.iterations,
        seconds=time.perf_counter() - began,
        tolerance=tolerance,
        replay_tolerance=replay_tolerance,
    )


def _check_start(problem: Problem) -> None:
    """Refuse a problem in which nothing says where the motion is: it would rest wherever that costs nothing."""
    said = problem.start_position is not None or problem.start_velocity is not None
    schedule = problem.schedule
    tied = bool(schedule.phases) or schedule.shift is not None
    constrained = any(not isinstance(constraint.function, ServoForce) for constraint in problem.constraints)
    if said or tied or constrained or any(not isinstance(cost.function, AT_REST) for cost in problem.costs):
        return
    raise ProblemError(
        "nothing says where the motion starts, so the best is to rest where that costs nothing: give "
        "start(q=..., v=...), or a constraint or cost of where the robot is"
    )


def warm(program: Transcription, z: FloatArray, old: Solution) -> tuple[FloatArray, Any]:
    """Unknowns and multipliers of a solution, for a program with the same unknowns."""
    if old.z.shape != z.shape:
        raise ProblemError(f"warm_start: that solution has {len(old.z)} unknowns, this problem has {len(z)}")
    points = old.configurations
    start = program.unknowns(points, old.z[program.layout.u], old.duration, like=old.z)
    start = np.clip(start, program.lower, program.upper)
    lam = old.multipliers
    return start, (lam if len(lam[1]) == program.m else None)
