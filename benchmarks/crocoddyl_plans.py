"""Plans without contact beside Crocoddyl: a swing-up, the reach of an arm, a quadruped rights itself in the air."""

import importlib.util
import time
import warnings
from typing import Any, NamedTuple

import numpy as np

import leastaction as la
from benchmarks.report import Report, Requirement, Sheet
from leastaction.optimize import Problem, ilqr
from leastaction.optimize.functions import costs

SEEDS, FEW = range(3), range(1)
REPEATED = 2
"""Times that a plan is found, of which the least counts."""
HEAVY = 1e5
"""Weight of the last state in Crocoddyl, whose solvers know no last state that is given."""
MOST = 500
"""Iterations of a solver."""
NEAR = 0.1
"""Distance of the last knot from the goal [rad] up to which it is reached."""

NOTES = f"""All minimise the integral of u² + w v² (w = 0.1; arm 100; A1: plus 1e3 times the squared distance of the \
last posture from the goal, base position excluded). Double pendulum: swung up in 2 s by motors of 20 N m, 160 steps. \
Arm: 7 joints, 1 s, 100 steps, from rest to rest at postures within ±0.5 rad. A1: falls for 0.5 s, 50 steps, its base \
turned by up to 0.3 rad about each axis; only its legs can right it, since its angular momentum is zero. The last \
state is a constraint in ours (A1: a cost) and a cost with weight {HEAVY:g} in Crocoddyl. Both start from the same \
guess: standing still with the controls that hold the first posture (A1: zero controls). SolverBoxFDDP with motor \
limits, otherwise SolverFDDP, semi-implicit Euler (its own) and Runge-Kutta of order 4, derivatives by Pinocchio in \
C++, one thread; model construction is not timed for Crocoddyl, and timed at every solve for ours. CPU: least of \
{REPEATED}. Error of a step: the largest distance of a knot from where the exact equations (DOP853, rtol = 1e-9) lead \
from the knot before. Cost: sum over the knots; the problems have several minima."""


class Task:
    """What is to be planned.

    Attributes:
        robot, q, goal: first and last configuration.
        steps, dt: of the plan.
        bound: of the controls [N m].
        weights: of the last posture, shape (nv,); None: the last state is given, at rest.
        slow: weight of squared velocities.
    """

    def __init__(self, robot, q, goal, steps, dt, bound=np.inf, weights=None, slow=0.1):
        self.robot, self.q, self.goal, self.steps, self.dt = robot, q, goal, steps, dt
        self.bound, self.weights, self.slow = bound, weights, slow
        self.asked = np.ones(robot.nv, bool) if weights is None else weights > 0.0

    def error_of_a_step(self, plan):
        """Largest distance of a knot from where the exact equations lead from the knot before [rad or m]."""
        tight, worst = la.DOP853(rtol=1e-9, atol=1e-10, max_steps=20_000), 0.0
        with warnings.catch_warnings():  # of limits of joints, which no method here knows
            warnings.simplefilter("ignore")
            for k in range(self.steps):
                options = {"dt": self.dt, "steps": 1, "controls": plan.u[k], "integrator": tight}
                end = la.simulate(self.robot, plan.q[k], plan.v[k], **options).q[-1]
                worst = max(worst, float(np.abs(self.robot.difference(plan.q[k + 1], end)).max()))
        return worst

    def cost(self, plan):
        """What is minimised, by sums over the knots at the starts of steps."""
        whole = self.dt * float((plan.u**2).sum() + self.slow * (plan.v[:-1] ** 2).sum())
        if self.weights is not None:
            whole += float((self.weights * self.robot.difference(self.goal, plan.q[-1]) ** 2).sum())
        return whole

    def distance(self, plan):
        """Of the last knot from the goal [rad]."""
        return float(np.abs(self.robot.difference(self.goal, plan.q[-1]))[self.asked].max())


class Plan(NamedTuple):
    """A motion at the knots, its controls, and how it was found."""

    q: Any
    v: Any
    u: Any
    seconds: float
    iterations: int
    converged: bool


def swing_up(seed):
    """From around hanging."""
    q = np.random.default_rng(seed).uniform(-0.2, 0.2, 2) if seed else np.zeros(2)
    return Task(la.robots.double_pendulum(), q, np.array([np.pi, 0.0]), 160, 0.0125, 20.0)


def reach(seed):
    """From posture to posture."""
    q, goal = np.random.default_rng(seed).uniform(-0.5, 0.5, (2, 7))
    return Task(la.robots.serial_arm(7), q, goal, 100, 0.01, slow=100.0)


def fall(seed):
    """A quadruped without ground, tilted."""
    robot = la.robots.unitree_a1()
    goal = la.robots.home(robot)
    tilt = np.zeros(robot.nv)
    tilt[:3] = np.random.default_rng(seed).uniform(-0.3, 0.3, 3)
    weights = np.full(robot.nv, 1e3)
    weights[3:6] = 0.0
    return Task(robot, robot.integrate(goal, tilt), goal, 50, 0.01, weights=weights)


TASKS = {"double pendulum": swing_up, "arm, 7 joints": reach, "A1 in the air": fall}


def problem_of(task, integrator):
    """Ours."""
    problem = Problem(task.robot, steps=task.steps, dt=task.dt, integrator=integrator, limits=False)
    problem.start(q=task.q, v=0).minimize(costs.effort(), costs.velocity(task.slow))
    if np.isfinite(task.bound):
        problem.bounds(u=(-task.bound, task.bound))
    if task.weights is None:
        return problem.finish(q=task.goal, v=0)
    return problem.minimize(costs.terminal(task.goal, task.weights))


def holding(task):
    """Controls that hold the first posture, shape (nu,); none of a robot that falls."""
    robot = task.robot
    if robot.nu < robot.nv:
        return np.zeros(robot.nu)
    return np.clip(la.dynamics.inverse_dynamics(robot, task.q, None, None), -task.bound, task.bound)


def ours(solver, integrator):
    """A method: the `Plan` of a task."""

    def plan(task):
        seconds = []
        for _ in range(REPEATED):
            began = time.process_time()
            problem = problem_of(task, integrator)
            if solver == "ilqr":
                still = np.tile(task.q, (task.steps + 1, 1))
                problem.guess(q=still, u=np.tile(holding(task), (task.steps, 1)))
                found = ilqr(problem, max_iterations=MOST)
            else:
                found = problem.solve(solver=solver, max_iterations=MOST)
            seconds.append(time.process_time() - began)
        u, count = found.u[:, 0], len(found.iterations) - 1
        return Plan(found.q, found.v, u, min(seconds), count, found.converged)

    return plan


def crocoddyl_method(scheme):
    """The same of Crocoddyl, with "Euler" or "RK4"."""

    def plan(task):
        import crocoddyl

        from tests.oracles.pinocchio_model import PinocchioModel

        peer = PinocchioModel(task.robot)
        if task.robot.nu < task.robot.nv:
            peer.model.names[1] = "root_joint"  # by which it finds the base that no motor moves
        state = crocoddyl.StateMultibody(peer.model)
        free = task.robot.nu < task.robot.nv
        actuation = (crocoddyl.ActuationModelFloatingBase if free else crocoddyl.ActuationModelFull)(state)
        nu, zero = actuation.nu, np.zeros(peer.model.nv)
        x0, x1 = (np.concatenate([peer.q(q), zero]) for q in (task.q, task.goal))
        running, last = crocoddyl.CostModelSum(state, nu), crocoddyl.CostModelSum(state, nu)
        # Its costs are halves of squares.
        running.addCost("effort", crocoddyl.CostModelResidual(state, crocoddyl.ResidualModelControl(state, nu)), 2.0)
        still = crocoddyl.ResidualModelState(state, np.concatenate([x1[: -zero.size], zero]), nu)
        slow = crocoddyl.ActivationModelWeightedQuad(np.concatenate([zero, np.full(zero.size, task.slow)]))
        running.addCost("velocity", crocoddyl.CostModelResidual(state, slow, still), 2.0)
        if task.weights is None:
            weights = np.full(2 * peer.model.nv, HEAVY)
        else:
            weights = np.concatenate([peer.P @ task.weights, zero])
        residual = crocoddyl.ResidualModelState(state, x1, nu)
        weighed = crocoddyl.ActivationModelWeightedQuad(weights)
        last.addCost("goal", crocoddyl.CostModelResidual(state, weighed, residual), 2.0)

        def model(cost, dt):
            free_dynamics = crocoddyl.DifferentialActionModelFreeFwdDynamics(state, actuation, cost)
            # Without one, its wheel (3.2.1, with Pinocchio 4.1.0) forgets gravity and velocities.
            free_dynamics.armature = zero
            if scheme == "Euler":
                action = crocoddyl.IntegratedActionModelEuler(free_dynamics, dt)
            else:
                action = crocoddyl.IntegratedActionModelRK(free_dynamics, crocoddyl.RKType.four, dt)
            if np.isfinite(task.bound):
                action.u_lb, action.u_ub = np.full(nu, -task.bound), np.full(nu, task.bound)
            return action

        shooting = crocoddyl.ShootingProblem(x0, [model(running, task.dt)] * task.steps, model(last, 0.0))
        u = [holding(task)] * task.steps
        seconds = []
        for _ in range(REPEATED):
            kind = crocoddyl.SolverBoxFDDP if np.isfinite(task.bound) else crocoddyl.SolverFDDP
            solver = kind(shooting)
            began = time.process_time()
            done = solver.solve([x0] * (task.steps + 1), u, MOST, False)
            seconds.append(time.process_time() - began)
        # Joints and controls are in the same order as ours in these robots.
        x, nq = np.array(solver.xs), peer.model.nq
        q, v = x[:, :nq].copy(), x[:, nq:] @ peer.P
        if free:
            q[:, 3:7] = q[:, [6, 3, 4, 5]]
        return Plan(q, v, np.array(solver.us), min(seconds), solver.iter, bool(done))

    return plan


def methods(peer):
    """{name: method}."""
    found = {
        "Midpoint, ipopt": ours("ipopt", la.Midpoint()),
        "Midpoint, horizon": ours("horizon", la.Midpoint()),
        "Midpoint, ilqr": ours("ilqr", la.Midpoint()),
    }
    if peer:
        found |= {f"Crocoddyl, {scheme}": crocoddyl_method(scheme) for scheme in ("Euler", "RK4")}
    return found


def run(progress, quick=False):
    """All tasks and methods."""
    seeds, peer = FEW if quick else SEEDS, importlib.util.find_spec("crocoddyl") is not None
    contenders = methods(peer)
    progress.total(len(TASKS) * len(seeds))
    columns = ["task", "method", f"converged, within {NEAR:g} rad of the goal", "error of a step [rad]", "cost"]
    sheet = Sheet("Plans: medians of those that get there", [*columns, "iterations", "CPU ms"])
    report = Report(
        "Trajectory optimisation compared with Crocoddyl",
        NOTES,
        [sheet],
        seeds=list(seeds),
        missing=[] if peer else ["Crocoddyl"],
    )
    for name, make in TASKS.items():
        rows = {method: [] for method in contenders}
        for seed in seeds:
            progress.next(f"{name}, {seed}")
            task = make(seed)
            for method, plan in contenders.items():
                one = plan(task)
                ends = one.converged and task.distance(one) < NEAR
                rows[method].append((ends, task.error_of_a_step(one), task.cost(one), one.iterations, one.seconds))
            progress.done()
        quickest = {}
        for method, some in rows.items():
            near = [row for row in some if row[0]]
            medians = [float(np.median([row[k] for row in near])) if near else np.nan for k in (1, 2, 3, 4)]
            sheet.rows.append([name, method, f"{len(near)} of {len(some)}", *medians[:3], 1e3 * medians[3]])
            if 2 * len(near) > len(some):
                quickest[method] = medians[3]
        own = min((x for m, x in quickest.items() if m.startswith("Midpoint")), default=np.nan)
        theirs = min((x for m, x in quickest.items() if m.startswith("Croc")), default=np.nan)
        if peer and np.isfinite(own) and np.isfinite(theirs):
            report.requirements.append(Requirement(f"{name}: CPU time over Crocoddyl's", own / theirs, 1.0))
    return report
