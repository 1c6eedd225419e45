"""`rehearse`: a plan becomes a run of a simulator with contact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.errors import ProblemError
from leastaction.integration import registry
from leastaction.integration.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown
from leastaction.optimize.functions import argument_checks, costs
from leastaction.optimize.problem.problem import Problem
from leastaction.optimize.shooting.ilqr import Shot, ilqr
from leastaction.optimize.shooting.stage_costs import FloatArray
from leastaction.optimize.solution.solution import Solution


def rehearse(
    solution: Solution,
    mechanism: Mechanism | None = None,
    *,
    integrator: Integrator | None = None,
    dt: float | None = None,
    smoothing: float = 1e-3,
    position: ArrayLike = 100.0,
    effort: ArrayLike = 1e-5,
    tolerance: float = 1e-2,
    max_iterations: int = 30,
    **options: Any,
) -> Shot:
    """Find controls with which a simulator follows a solution, by `ilqr` from the solution itself.

    A plan with contacts keeps to the equations of its own transcription. Played back in a simulator, with the contacts
    found there, it drifts off within a step or two of a legged robot; after the rehearsal it is a run of that
    simulator. `Shot.track` then follows it in any other one.

    Args:
        solution: of a problem with contacts, without phases.
        mechanism: the robot with its ground; default: that of the solution.
        integrator: default `Maximal(order=1, smoothing=smoothing)`.
        dt: time step [s], that of the solution or a whole part of it; default: that of the solution. With the steps of
            the simulator that is to follow, feet land there when they do here, and `Shot.track` stays much closer.
        smoothing: [J] of contacts.
        position: weights of deviations from the solution, one number or (nv,).
        effort: weights of the controls.
        tolerance, max_iterations, options: of `ilqr`.
    """
    if not isinstance(solution, Solution):
        raise ProblemError(f"rehearse needs a Solution, got {shown(solution)}")
    if solution.phases:
        raise ProblemError("rehearse: the solution has phases, in which feet are held; use Solution.track")
    run = solution.trajectory
    robot = solution.mechanism if mechanism is None else mechanism
    if not isinstance(robot, Mechanism) or (robot.nq, robot.nu) != (solution.mechanism.nq, solution.mechanism.nu):
        raise ProblemError(f"rehearse: mechanism must be the robot of the solution, got {shown(robot)}")
    if integrator is None:
        integrator = registry.make("maximal", {"order": 1, "smoothing": smoothing})
    parts = _parts(run.dt, dt)
    Q = _between(robot, run.q, parts)
    problem = Problem(robot, steps=len(Q) - 1, dt=run.dt / parts, integrator=integrator, limits=False)
    problem.start(q=run.q[0], v=run.v[0])
    if robot.actuators:
        problem.bounds(u=([a.lower for a in robot.actuators], [a.upper for a in robot.actuators]))
    problem.minimize(costs.tracking(Q, position), costs.effort(effort))
    early = isinstance(integrator, registry.find("maximal")) and getattr(integrator, "order") == 1  # noqa: B009
    problem.guess(q=Q, u=_controls(solution, parts, early))
    return ilqr(problem, tolerance=tolerance, max_iterations=max_iterations, **options)


def _parts(whole: float, dt: Any) -> int:
    """Into how many steps those of the solution are divided."""
    if dt is None:
        return 1
    ratio = whole / argument_checks.number(dt, "rehearse: dt [s]", above=0.0)
    parts = round(ratio)
    if parts < 1 or abs(ratio - parts) > 1e-6 * parts:
        raise ProblemError(
            f"rehearse: dt must be {whole:g} s, the step of the solution, or a whole part of it, got {dt!r}"
        )
    return parts


def _between(robot: Mechanism, q: FloatArray, parts: int) -> FloatArray:
    """Configurations at the ends of parts of steps, on the shortest ways between knots."""
    x = np.arange(parts * (len(q) - 1) + 1) / parts
    k = np.minimum(x.astype(int), len(q) - 2)
    return robot.integrate(q[k], (x - k)[:, None] * robot.difference(q[k], q[k + 1]))


def _controls(solution: Solution, parts: int, early: bool) -> FloatArray:
    """Controls of steps, or, where their forces act at their starts, those around these."""
    dt, N = solution.trajectory.dt / parts, parts * len(solution.u)
    if not early:
        return np.repeat(solution.u.mean(axis=1), parts, axis=0)
    t = dt * np.arange(N)
    around = [[solution.control(max(x + 0.25 * sign * dt, 0.0)) for x in t] for sign in (-1.0, 1.0)]
    return np.mean(around, axis=0)
