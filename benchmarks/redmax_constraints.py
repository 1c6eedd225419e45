"""Hybrid dynamics and inverse inertia in O(n) (Sueda 2021, Algorithms 9, 10); BISP against SP (Algorithms 8, 7)."""

import time

import numpy as np

import leastaction as la
from benchmarks.report import Report, Requirement, Sheet
from benchmarks.rollouts import load_note
from benchmarks.sueda2021.staggered import staggered
from leastaction import redmax
from leastaction.dynamics import hybrid_recursions as recursive
from leastaction.dynamics.workspace import Workspace

LENGTHS, FEW = (10, 30, 100, 300, 1000), (10, 30, 100, 300)
CHAINS = (5, 10, 20, 40)
STEPS = 20

NOTES = f"""Pendulums of 1 m rods. Algorithm 9 prescribes every third joint; its peer is the KKT system (2.113) with \
the mass matrix of CRBA, whose condition number grows with the fourth power of the length, so that for long chains \
only the residual is meaningful; times are of the kernel alone. Staggered projections: pins with friction 0.3 and \
radius 5 cm, {STEPS} steps of 1 ms from rest at 0.3 rad; SP stops at a relative change of contact forces of 1e-5, BISP \
at 1e-8 of the velocities."""


def best(work, repeats=7, least=0.02):
    """Least seconds of one call, over repeated batches."""
    began = time.perf_counter()
    work()
    count = max(1, int(least / max(time.perf_counter() - began, 1e-7)))
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        for _ in range(count):
            work()
        seconds.append((time.perf_counter() - began) / count)
    return min(seconds)


def state(n):
    """A bent chain that moves."""
    rng = np.random.default_rng(n)
    return rng.uniform(-0.2, 0.2, n), rng.normal(size=n), rng.normal(size=n)


def errors(robot, q, v, u):
    """Algorithm 9: difference from the dense solution, and residual; Algorithm 10: residual. All relative."""
    n = robot.nv
    given = np.arange(0, n, 3)
    prescribed = {robot.velocity_names[k]: 0.5 for k in given}
    found = redmax.hybrid_dynamics(robot, q, v, u=u, prescribed=prescribed)
    M, bias = la.dynamics.mass_matrix(robot, q), la.dynamics.bias_forces(robot, q, v)
    free = np.setdiff1d(np.arange(n), given)
    a = np.full(n, 0.5)
    a[free] = np.linalg.solve(M[np.ix_(free, free)], (u - bias)[free] - M[np.ix_(free, given)] @ a[given])
    difference = np.abs(found.a - a).max() / np.abs(a).max()
    size = (np.abs(M) @ np.abs(found.a) + np.abs(bias)).max()
    residual = np.abs(M @ found.a + bias - found.u).max() / size
    y = redmax.inverse_inertia_product(robot, q, u)
    return difference, residual, np.abs(M @ y - u).max() / (np.abs(M) @ np.abs(y)).max()


def kernel_seconds(robot, q, v, u):
    """Seconds of Algorithm 9, and of one product of Algorithm 10 once prepared."""
    w = Workspace(robot)
    t = w.tree
    given, acc = np.zeros(robot.nv, np.int64), np.zeros(robot.nv)
    given[::3] = 1
    arguments = (w.model, w.data, q, v, given, acc, u.copy())
    hybrid = best(lambda: recursive.hybrid_dynamics(*arguments))
    recursive.inverse_factor(t.nodes, t.dofs, w.links, w.screws, q, np.zeros(robot.nv), np.zeros((0, 21)))
    X, Y = u[None].copy(), np.zeros((1, robot.nv))
    return hybrid, best(lambda: recursive.inverse_product(t.nodes, w.links, w.screws, X, Y))


def run(progress, quick=False) -> Report:
    """All lengths."""
    lengths, chains = (FEW, CHAINS[2:3]) if quick else (LENGTHS, CHAINS)
    progress.total(len(lengths) + len(chains))
    growth = Sheet(
        "Recursions", ["links", "alg. 9 [µs]", "per link", "error", "residual", "alg. 10 [µs]", "per link", "residual"]
    )
    for n in lengths:
        progress.next(f"{n} links")
        robot = la.robots.pendulum(links=n)
        q, v, u = state(n)
        hybrid, inverse = (1e6 * s for s in kernel_seconds(robot, q, v, u))
        wrong = errors(robot, q, v, u)
        growth.rows.append([n, hybrid, hybrid / n, *map(float, wrong[:2]), inverse, inverse / n, float(wrong[2])])
        progress.done()
    columns = ["links", "BISP [ms/step]", "its", "SP [ms/step]", "its", "SP / BISP", "difference of v"]
    race = Sheet("Joint friction", columns)
    for n in chains:
        progress.next(f"joint friction, {n} links")
        (fast, few, a), (slow, many, b) = staggered(n, "bisp", STEPS), staggered(n, "sp", STEPS)
        apart = float(np.abs(a.v[-1] - b.v[-1]).max() / np.abs(a.v[-1]).max())
        race.rows.append([n, 1e3 * fast, few, 1e3 * slow, many, slow / fast, apart])
        progress.done()
    least = min(row[5] for row in race.rows if row[0] >= 20)
    requirements = [
        Requirement(
            "error of Algorithm 9 against the dense KKT system, to 30 links", max(r[3] for r in growth.rows[:2]), 1e-11
        ),
        Requirement("residual of Algorithm 9 in it, to all links", max(row[4] for row in growth.rows), 1e-11),
        Requirement("residual of Algorithm 10 in the mass matrix", max(row[7] for row in growth.rows), 1e-11),
        Requirement(
            f"time per link, {lengths[-1]} links / 100 links, Algorithm 9", growth.rows[-1][2] / growth.rows[2][2], 1.5
        ),
        Requirement(
            f"time per link, {lengths[-1]} links / 100 links, Algorithm 10", growth.rows[-1][6] / growth.rows[2][6], 1.5
        ),
        Requirement("BISP / SP, chains of 20 links and more", 1.0 / least, 0.5),
    ]
    return Report(
        "Constraints and friction in reduced coordinates", f"{NOTES} {load_note()}", [growth, race], requirements
    )
