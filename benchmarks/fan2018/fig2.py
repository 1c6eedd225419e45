"""Fan 2018, Fig. 2: evaluation, Newton direction and linearization beside automatic differentiation."""

import importlib.util
from typing import Any

import numpy as np

import leastaction as la
from benchmarks import peers, timing
from benchmarks.fan2018 import action_ad
from benchmarks.report import Claim, Measure, Plot, Report, Requirement, Sheet, verdict
from leastaction._jit import entry
from leastaction.minimal.galerkin_joints.derivatives import joint_linearization as linear
from leastaction.minimal.galerkin_joints.joint_residual import residual
from leastaction.minimal.galerkin_joints.newton import newton_directions

LENGTHS, SHORT = (2, 4, 8, 16, 32, 64, 128), (4, 16, 64)
DT, SEED = 0.001, 0
JOBS = {"evaluation": "O(n)", "Newton direction": "O(n)", "linearization": "O(n²)"}
PEERS = {"CasADi": ("casadi", action_ad.Casadi), "JAX": ("jax", action_ad.Jax)}

NOTES = """Simpson's variational integrator (order 4 on joint coordinates) of pendulums of uniform rods, angles \
uniform in ±pi/2, velocities of about 1 rad/s. Linearization: all second derivatives of the discrete action, without \
the solve for A and B, which is the same for all. Ours in a compiled loop, the recursive solver; CasADi: its virtual \
machine on scalar expressions with NumPy's dense solve; JAX: jit in float64. Automatic differentiation is applied to \
an O(n) Lagrangian in absolute angles, which the paper may not have used; its times include calls from Python. All \
results are compared with each other. CPU time of one thread or, of JAX, of all, medians."""


@entry
def residual_loop(count, model, settings, points, p, u):
    for _ in range(count):
        residual(model, settings, points, p, u)


@entry
def direction_loop(count, model, settings, points, data, dx):
    for _ in range(count):
        newton_directions.recursive(model, settings, points, data, dx)


@entry
def blocks_loop(count, model, settings, points, data):
    for _ in range(count):
        linear.second_derivatives(model, settings, points, data)


class Ours:
    """The three jobs for a step from a random posture."""

    def __init__(self, n):
        robot = la.robots.pendulum(n)
        rng = np.random.default_rng(SEED)
        q = rng.uniform(-np.pi / 2, np.pi / 2, n)
        stepper: Any = la.Galerkin(order=4, interpolation="joints", solver="recursive").prepare(robot, DT)
        p = np.zeros(n)
        stepper.solve_whole(q, p, stepper.held(np.zeros(robot.nu)))
        self.stepper, self.p = stepper, p
        self.points = stepper.data.points
        self.X = self.points.X.copy()
        self.u = np.zeros((3, robot.nu))
        tree = stepper.model.tree if hasattr(stepper.model, "tree") else stepper.model
        self.tree, self.dx = tree, np.zeros((2, n))

    def evaluation(self, count):
        residual_loop(count, self.tree, self.stepper.settings, self.points, self.p, self.u)

    def newton(self, count):
        self.evaluation(1)
        direction_loop(count, self.tree, self.stepper.settings, self.points, self.stepper.data.solver, self.dx)

    def linearization(self, count):
        blocks_loop(count, self.tree, self.stepper.settings, self.points, self.stepper.linear)


def compared(ours, peer, X):
    """Largest relative difference of the peer's answers from ours at control points X."""
    ours.points.X[:] = X
    ours.newton(1)
    r, dx = ours.points.r.ravel().copy(), ours.dx.ravel().copy()
    ours.linearization(1)
    D = ours.stepper.linear.hessian.D.reshape(X.size, X.size)
    pairs = (r, peer.residual(X, ours.p)), (dx, peer.direction(X, ours.p)), (D, peer.second(X, ours.p))
    return max(float(np.abs(a - b).max() / np.abs(a).max()) for a, b in pairs)


def jobs_of(n, found):
    """({contender: {job: callable}}, largest difference)."""
    ours = Ours(n)
    # At velocities of about 1 rad/s, with a residual that is not zero.
    X = ours.X.copy()
    X[1:] += 1e-3 * np.random.default_rng(1).normal(size=X[1:].shape)
    calls = {"ours": (ours.evaluation, ours.newton, ours.linearization)}
    apart = 0.0
    for name, make in found.items():
        peer = make(n, DT)
        apart = max(apart, compared(ours, peer, X))
        calls[name] = tuple(
            (lambda count, f=f: [f(X, ours.p) for _ in range(count)])
            for f in (peer.residual, peer.direction, peer.second)
        )
    return {who: dict(zip(JOBS, three, strict=True)) for who, three in calls.items()}, apart


def run(progress, quick=False) -> Report:
    """All lengths, jobs and contenders."""
    lengths = SHORT if quick else LENGTHS
    found = {name: make for name, (module, make) in PEERS.items() if importlib.util.find_spec(module)}
    missing = [name for name in PEERS if name not in found]
    progress.total(len(lengths))
    sheet = Sheet("CPU time [µs]", ["links", "job", "ours", *found, *(f"{name} / ours" for name in found)])
    medians, measures, apart = {}, [], 0.0
    for n in lengths:
        progress.next(f"{n} links")
        calls, difference = jobs_of(n, found)
        apart = max(apart, difference)
        for job in JOBS:
            times: dict[str, list[float]] = {who: [] for who in calls}
            for _ in range(timing.REPEATS):
                for who, three in calls.items():
                    times[who].append(peers.best(three[job], repeats=2, least=0.002))
            for who, seconds in times.items():
                medians[n, job, who] = float(np.median(seconds))
            ratios = [timing.ratio(f"{n} links, {job}, {who} / ours", times[who], times["ours"]) for who in found]
            measures += [Measure(f"{n} links, {job}", "time", times["ours"]), *ratios]
            sheet.rows.append([n, job, *(1e6 * medians[n, job, who] for who in calls), *(r.median for r in ratios)])
        progress.done()
    tail = [n for n in lengths if n >= 16]
    slopes = {
        (job, who): peers.exponent(tail, [medians[n, job, who] for n in tail])
        for job in JOBS
        for who in ("ours", *found)
    }
    growth = Sheet(f"Growth from {tail[0]} links on, exponent of n", ["job", "ours", *found])
    growth.rows = [[job, *(slopes[job, who] for who in ("ours", *found))] for job in JOBS]
    claims = []
    for job, order, where, theirs in zip(JOBS, (1.0, 1.0, 2.0), "abc", ("O(n²)", "O(n³)", "O(n³)"), strict=True):
        grows = slopes[job, "ours"] < order + 0.25
        least = {who: min(medians[n, job, who] / medians[n, job, "ours"] for n in lengths) for who in found}
        told = f"exponent {slopes[job, 'ours']:.2f}; " + ", ".join(
            f"{who} {medians[lengths[-1], job, who] / medians[lengths[-1], job, 'ours']:.3g} × our time at "
            f"{lengths[-1]} links"
            f" (exponent {slopes[job, who]:.2f})"
            for who in found
        )
        holds = grows and all(x > 1.0 for x in least.values())
        why = "" if holds else "Our growth is larger, or automatic differentiation is quicker."
        if holds and all(slopes[job, who] < order + 0.5 for who in found):
            why = "faster throughout; but with a Lagrangian in O(n) automatic differentiation grows no faster."
        said = f"{job}: recursive algorithms are {JOBS[job]}, automatic differentiation {theirs}, and much slower."
        claims.append(Claim(f"Fan 2018, Fig. 2 {where}", said, told + ".", verdict(holds), why))
    plots = [
        Plot(
            job,
            "links",
            "CPU time [µs]",
            {who: (lengths, [1e6 * medians[n, job, who] for n in lengths]) for who in ("ours", *found)},
            "xy",
        )
        for job in JOBS
    ]
    requirements = [Requirement("relative difference from automatic differentiation", apart, 1e-7)] if found else []
    requirements.append(Requirement("growth of the evaluation, exponent of n", slopes["evaluation", "ours"], 1.15))
    title = "Fig. 2: recursions and automatic differentiation"
    return Report(title, NOTES, [sheet, growth], requirements, claims, measures, plots, [SEED], missing)
