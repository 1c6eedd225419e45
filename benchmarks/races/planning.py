"""Motions of least effort for arms of 2 to 4 links: our optimiser beside collocation in CasADi with IPOPT."""

import importlib.util
from functools import partial

import numpy as np

import leastaction as la
from benchmarks.races import course
from leastaction.optimize import Problem
from leastaction.optimize.functions import costs

LINKS, FEW = (2, 3, 4), (2,)
KNOTS, DURATION = (10, 20, 40, 80, 160), 1.0
SEEDS, REACH = (0, 1), 1.2
ACCURACIES = (1e-2, 1e-3, 1e-4)
PARTS = 8
"""Steps of Runge-Kutta in a step of the plan, to see where its controls lead."""
OURS = {
    "Midpoint(ipopt)": (la.Midpoint(), {}, "ipopt"),
    "Midpoint(horizon)": (la.Midpoint(), {}, "horizon"),
    "Galerkin(4, ipopt)": (la.Galerkin(order=4, interpolation="joints"), {"controls": "nodes"}, "ipopt"),
}

NOTES = f"""Hanging pendulums with a motor at each joint move from rest to rest at random postures within ±{REACH} rad \
in {DURATION:g} s, with minimal integral of u². All start from the straight line between the postures and stop at \
1e-8. CasADi: trapezoidal and Hermite-Simpson collocation of the equations of motion that it derives itself, exact \
second derivatives, IPOPT; building its functions is not timed, ours are built at every solve. Error: final distance \
from the goal when the planned controls are applied to the exact equations [rad]."""


class Ours:
    """One of our transcriptions and solvers."""

    def __init__(self, scene, count, method):
        integrator, options, self.solver = method
        self.robot, goal, _ = scene
        self.problem = Problem(self.robot, steps=count, duration=DURATION, integrator=integrator, **options)
        self.problem.start(q=np.zeros(self.robot.nq), v=0).finish(q=goal, v=0).minimize(costs.effort())

    def run(self):
        self.solution = self.problem.solve(solver=self.solver, tolerance=1e-8)

    def end(self):
        self.run()
        if not self.solution.converged:
            return np.nan
        return replay(self.robot, self.solution.control, len(self.solution.u))


class Collocation:
    """CasADi's functions, IPOPT's solution."""

    def __init__(self, scene, count, rule):
        import casadi

        self.robot, goal, _ = scene
        n, h, N = self.robot.nv, DURATION / count, count
        f = dynamics(n)
        X, U = casadi.SX.sym("X", 2 * n, N + 1), casadi.SX.sym("U", n, N + 1)
        M = casadi.SX.sym("M", n, N) if rule == "Hermite-Simpson" else casadi.SX(n, 0)
        rows, cost = [X[:, 0], X[:, N] - casadi.vertcat(goal, np.zeros(n))], 0
        slopes = [f(X[:, k], U[:, k]) for k in range(N + 1)]
        for k in range(N):
            a, b = slopes[k], slopes[k + 1]
            if rule == "trapezoidal":
                rows.append(X[:, k + 1] - X[:, k] - 0.5 * h * (a + b))
                cost += 0.5 * h * (casadi.sumsqr(U[:, k]) + casadi.sumsqr(U[:, k + 1]))
            else:
                middle = 0.5 * (X[:, k] + X[:, k + 1]) + h / 8.0 * (a - b)
                rows.append(X[:, k + 1] - X[:, k] - h / 6.0 * (a + 4.0 * f(middle, M[:, k]) + b))
                parts = casadi.sumsqr(U[:, k]) + 4.0 * casadi.sumsqr(M[:, k]) + casadi.sumsqr(U[:, k + 1])
                cost += h / 6.0 * parts
        unknowns = casadi.vertcat(casadi.vec(X), casadi.vec(U), casadi.vec(M))
        program = {"x": unknowns, "f": cost, "g": casadi.vertcat(*rows)}
        settings = {"ipopt.print_level": 0, "print_time": False, "ipopt.tol": 1e-8, "ipopt.sb": "yes"}
        self.solver = casadi.nlpsol("solver", "ipopt", program, settings)
        way = np.linspace(np.zeros(n), goal, N + 1)
        states = np.hstack([way, np.tile(goal / DURATION, (N + 1, 1))])
        self.guess = np.concatenate([states.ravel(), np.zeros(unknowns.numel() - states.size)])
        self.shape = n, N

    def run(self):
        self.found = self.solver(x0=self.guess, lbg=0.0, ubg=0.0)

    def end(self):
        self.run()
        if not self.solver.stats()["success"]:
            return np.nan
        n, N = self.shape
        u = np.array(self.found["x"]).ravel()[2 * n * (N + 1) :]
        knots, middles = u[: n * (N + 1)].reshape(N + 1, n), u[n * (N + 1) :].reshape(-1, n)

        def control(t):
            s = t / DURATION * N
            k = min(int(s + 1e-12), N - 1)
            s -= k
            if not len(middles):
                return (1.0 - s) * knots[k] + s * knots[k + 1]
            return (1 - s) * (1 - 2 * s) * knots[k] + 4 * s * (1 - s) * middles[k] + s * (2 * s - 1) * knots[k + 1]

        return replay(self.robot, control, N)


def dynamics(n):
    """f(x, u) of a pendulum of rods of 1 m and 1 kg, as CasADi finds it from the energies."""
    import casadi

    q, v, u = (casadi.SX.sym(name, n) for name in "qvu")
    angles, rates = casadi.cumsum(q), casadi.cumsum(v)
    T = V = 0
    x = z = casadi.SX(0)
    for k in range(n):
        half = 0.5 * casadi.sin(angles[k]), -0.5 * casadi.cos(angles[k])
        center = casadi.vertcat(x + half[0], z + half[1])
        speed = casadi.jtimes(center, q, v)
        T += 0.5 * casadi.sumsqr(speed) + rates[k] ** 2 / 24.0
        V += 9.81 * center[1]
        x, z = x + 2.0 * half[0], z + 2.0 * half[1]
    momentum = casadi.gradient(T, v)
    bias = casadi.jtimes(momentum, q, v) - casadi.gradient(T, q) + casadi.gradient(V, q)
    acceleration = casadi.solve(casadi.jacobian(momentum, v), u - bias)
    return casadi.Function("f", [casadi.vertcat(q, v), u], [casadi.vertcat(v, acceleration)])


def replay(robot, control, steps):
    """Where controls lead in the exact equations: the last q."""
    a = partial(la.dynamics.forward_dynamics, robot)
    q, v, h = np.zeros(robot.nq), np.zeros(robot.nv), DURATION / (steps * PARTS)
    for k in range(steps * PARTS):
        # Controls may jump at knots: those of a step are read inside of it.
        first, last = k * h + 1e-9 * h, (k + 1) * h - 1e-9 * h
        us = control(first), control((k + 0.5) * h), control(last)
        a1 = a(q, v, us[0])
        a2 = a(q + 0.5 * h * v, v + 0.5 * h * a1, us[1])
        a3 = a(q + 0.5 * h * v + 0.25 * h * h * a1, v + 0.5 * h * a2, us[1])
        a4 = a(q + h * v + 0.5 * h * h * a2, v + h * a3, us[2])
        q, v = q + h * v + h * h / 6.0 * (a1 + a2 + a3), v + h / 6.0 * (a1 + 2 * a2 + 2 * a3 + a4)
    return q


def run(progress, quick=False):
    """All arms, numbers of steps and contenders."""
    links, knots, seeds = (FEW, KNOTS[:3:2], SEEDS[:1]) if quick else (LINKS, KNOTS, SEEDS)
    progress.total(len(links) * len(knots))
    makes = {name: (lambda s, q, v, dt, n, m=m: Ours(s, n, m)) for name, m in OURS.items()}
    gone = ["CasADi"] if importlib.util.find_spec("casadi") is None else []
    for rule in () if gone else ("trapezoidal", "Hermite-Simpson"):
        makes[f"CasADi {rule}"] = lambda s, q, v, dt, n, r=rule: Collocation(s, n, r)
    races = course.Course(progress, makes, OURS, ACCURACIES, "rad", rivals=("CasADi",))
    for n in links:
        robot = la.robots.pendulum(n)
        goals = [np.random.default_rng(seed).uniform(-REACH, REACH, n) for seed in seeds]
        races.race_scenes(f"{n} links", [(robot, goal, None) for goal in goals], DURATION, knots, goals)
    report = races.report("Planned motions", NOTES, seeds, errors="")
    report.missing = gone
    return report
