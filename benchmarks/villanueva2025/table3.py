"""Villanueva 2025, Table 3: an arm with three joints by the midpoint rule and by trapezoidal collocation."""

from dataclasses import replace

import numpy as np

import leastaction as la
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from leastaction.optimize import examples

KNOTS, FEW = (10, 50, 100, 150), (10, 50)
METHODS = {
    "midpoint (DMOC)": (la.Midpoint(), {}),
    "trapezoidal collocation": (la.ImplicitTrapezoidal(), {}),
    "Simpson (Fan 2018)": (la.Galerkin(order=4, interpolation="joints"), {"controls": "nodes"}),
    "Hermite-Simpson collocation": (la.HermiteSimpson(), {"controls": "nodes"}),
}
PAPER = {50: (18, 2.0953e-3, 10, 2.3348e-5), 100: (17, 1.0375e-3, 12, 2.8470e-6), 150: (17, 6.8972e-4, 13, 8.3619e-7)}
"""(iterations, error) of trapezoidal collocation and of DMOC."""

NOTES = """IPOPT with the same cost, initial guesses and tolerances for all, 5 s from rest to rest with minimal \
effort. Error: the mean over the steps of the integral of |x' - f(x, u)| (Eqs. 75 to 77), along the cubics that have x \
and f(x, u) of the knots at their ends, with controls linear between knots, which are the splines of Betts (2010) that \
the paper refers to. The paper gives neither its arm nor its postures (ours: `optimize.examples.arm`), so absolute \
errors cannot be compared; for a twentieth of our rotation they are below the paper's at every N \
(`trajectory_optimization`). From N = 10 to N = 50 the paper's error falls by a factor of 16 only, where third order \
gives 125. The last rows of the table are our motion, computed with 300 steps of order 6 and sampled at the knots: the \
error of the cubics and linear controls alone. Iterations in the table are with exact second derivatives, which the \
paper does not use; those of the claim with first derivatives only (L-BFGS, tolerance 1e-6)."""
FINE = 300
"""Steps of the motion itself."""
FIRST = {"hessian": "l-bfgs", "tolerance": 1e-6}
"""Solving with first derivatives alone."""


def read_at(fine, N):
    """A fine solution as if only N + 1 of its knots were known, with controls linear between them."""
    every = fine.trajectory.steps // N
    run = fine.trajectory
    t = run.t[::every]
    u = np.array([fine.control(x) for x in t])
    stored = {"p": run.p[::every], "nodes": np.array([0.0, 1.0])}
    coarse = la.Trajectory(run.mechanism, run.integrator, every * run.dt, t, run.q[::every], stored)
    return replace(fine, trajectory=coarse, u=np.stack([u[:-1], u[1:]], axis=1))


def run(progress, quick=False) -> Report:
    """All methods and numbers of knots."""
    knots = FEW if quick else KNOTS
    progress.total(len(METHODS) * len(knots))
    sheet = Sheet("Arm with three joints", ["method", "N", "iterations", "cost", "error", "s"])
    errors, iterations, measures = {}, {}, []
    for name, (integrator, options) in METHODS.items():
        for N in knots:
            progress.next(f"{name}, {N}")
            solution = examples.arm(N, integrator=integrator, **options).solve()
            if not solution.converged:
                raise RuntimeError(str(solution))
            errors[name, N], iterations[name, N] = solution.error, len(solution.iterations) - 1
            sheet.rows.append([name, N, iterations[name, N], f"{solution.cost:.6f}", solution.error, solution.seconds])
            measures += [
                Measure(f"{name}, N = {N}: iterations", "count", [iterations[name, N]]),
                Measure(f"{name}, N = {N}: error", "error", [solution.error]),
            ]
            progress.done()
    exact = examples.arm(FINE, integrator=la.Galerkin(order=6)).solve()
    read = {N: read_at(exact, N).error for N in knots}
    sheet.rows += [["(the motion itself)", N, "", f"{exact.cost:.6f}", read[N], ""] for N in knots]
    first = {
        (name, N): len(examples.arm(N, integrator=METHODS[name][0]).solve(**FIRST).iterations) - 1
        for name in ("midpoint (DMOC)", "trapezoidal collocation")
        for N in knots
    }
    ours, other = "midpoint (DMOC)", "trapezoidal collocation"
    gains = [errors[other, N] / errors[ours, N] for N in knots]
    order = float(np.log(errors[ours, knots[-2]] / errors[ours, knots[-1]]) / np.log(knots[-1] / knots[-2]))
    fewer = all(first[ours, N] < first[other, N] for N in knots)
    absolute = [errors[ours, N] / PAPER[N][3] for N in knots if N in PAPER]
    claims = [
        judged(
            "Villanueva 2025, Table 3 (accuracy)",
            "DMOC is more accurate than trapezoidal collocation at every N, by 90 to 825 times.",
            f"{min(gains):.3g} to {max(gains):.3g} times; the error falls with order {order:.1f}.",
            min(gains) > 1.0,
            "Collocation is as accurate.",
            note="the factor depends on the motion, which the paper does not give.",
        ),
        judged(
            "Villanueva 2025, Table 3 (iterations)",
            "It takes fewer iterations (10 to 13 instead of 17 to 18).",
            ", ".join(f"{first[ours, N]} and {first[other, N]} with N = {N}" for N in knots) + ", L-BFGS.",
            fewer,
            "Collocation takes as few.",
            note=f"with exact second derivatives both take {min(iterations.values())} to {max(iterations.values())}.",
        ),
        judged(
            "Villanueva 2025, Table 3 (figures)",
            "Errors of 2.3e-5 with N = 50 to 8.4e-7 with N = 150.",
            f"{min(absolute):.2g} to {max(absolute):.2g} times those.",
            max(absolute) < 1.0,
            "The paper names neither its arm nor its postures, so another motion was planned. That motion itself, "
            f"sampled at the knots, already has at least {min(read[N] / PAPER[N][3] for N in knots if N in PAPER):.2g} "
            "times the paper's errors.",
        ),
    ]
    lines = {name: (list(knots), [errors[name, N] for N in knots]) for name in METHODS}
    most = max(iterations[ours, N] / PAPER[N][2] for N in knots if N in PAPER)
    requirements = [
        Requirement("error of the midpoint rule / that of trapezoidal collocation", 1.0 / min(gains), 1.0),
        Requirement("iterations of the midpoint rule / those of the paper", most, 1.0),
    ]
    return Report(
        "Table 3: collocation and DMOC",
        NOTES,
        [sheet],
        requirements,
        claims,
        measures,
        [Plot("error", "N", "error", lines, "xy")],
    )
