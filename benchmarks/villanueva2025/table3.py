"""Villanueva 2025, Table 3: an arm with three joints by the midpoint rule and by trapezoidal collocation."""

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

NOTES = """IPOPT with the same cost, first guesses and tolerances for all, 5 s from rest to rest with the least \
effort. Error: the mean over the steps of the integral of |x' - f(x, u)| along cubic splines through the knots (Eqs. \
75 to 77). The paper tells neither its arm nor its postures (ours: `optimize.examples.arm`), so absolute errors \
cannot be compared; for a twentieth of our turn they are below the paper's at every N (`trajectory_optimization`). At \
N = 10 they tell of splines more than of methods: our motion itself, found with 300 steps of order 6 and read at 11 \
knots, has an error of 0.035."""


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
            if not solution.success:
                raise RuntimeError(str(solution))
            errors[name, N], iterations[name, N] = solution.error, len(solution.iterations) - 1
            sheet.rows.append([name, N, iterations[name, N], f"{solution.cost:.6f}", solution.error, solution.seconds])
            measures += [
                Measure(f"{name}, N = {N}: iterations", "count", [iterations[name, N]]),
                Measure(f"{name}, N = {N}: error", "error", [solution.error]),
            ]
            progress.done()
    ours, other = "midpoint (DMOC)", "trapezoidal collocation"
    gains = [errors[other, N] / errors[ours, N] for N in knots]
    order = float(np.log(errors[ours, knots[-2]] / errors[ours, knots[-1]]) / np.log(knots[-1] / knots[-2]))
    fewer = all(iterations[ours, N] < iterations[other, N] for N in knots)
    absolute = [errors[ours, N] / PAPER[N][3] for N in knots if N in PAPER]
    claims = [
        judged(
            "Villanueva 2025, Table 3 (accuracy)",
            "DMOC is more accurate than trapezoidal collocation at every N, by 90 to 825 times.",
            f"{min(gains):.3g} to {max(gains):.3g} times; the error falls with order {order:.1f}.",
            min(gains) > 1.0,
            "Collocation is as accurate.",
            note="the factor depends on the motion, which the paper does not tell.",
        ),
        judged(
            "Villanueva 2025, Table 3 (iterations)",
            "It takes fewer iterations (10 to 13 instead of 17 to 18).",
            ", ".join(f"{iterations[ours, N]} and {iterations[other, N]} with N = {N}" for N in knots) + ".",
            fewer,
            "With exact second derivatives both take as many.",
        ),
        judged(
            "Villanueva 2025, Table 3 (figures)",
            "Errors of 2.3e-5 with N = 50 to 8.4e-7 with N = 150.",
            f"{min(absolute):.2g} to {max(absolute):.2g} times those.",
            max(absolute) < 1.0,
            "The paper names neither its arm nor its postures, so another motion was planned.",
        ),
    ]
    lines = {name: (list(knots), [errors[name, N] for N in knots]) for name in METHODS}
    requirements = [Requirement("error of the midpoint rule / that of trapezoidal collocation", 1.0 / min(gains), 1.0)]
    return Report(
        "Table 3: collocation and DMOC",
        NOTES,
        [sheet],
        requirements,
        claims,
        measures,
        [Plot("error", "N", "error", lines, "xy")],
    )
