"""Second derivatives of trajectory optimisation: what each kind takes, and how the exact ones grow with the steps."""

import time

import numpy as np

import leastaction as la
from benchmarks import legged
from benchmarks.report import Report, Requirement, Sheet
from leastaction.optimize import examples
from leastaction.optimize.hessians.hessian_choice import HESSIANS

KINDS = ("exact", "differences", "gauss-newton", "l-bfgs")
RULES = {
    "midpoint": la.Midpoint(),
    "bodies, order 2": la.Galerkin(order=2, interpolation="bodies"),
    "bodies, order 4": la.Galerkin(order=4, interpolation="bodies"),
}
LENGTHS = (25, 50, 100, 200, 400)
EXAMPLES = [example for example in examples.catalogue() if example.name not in legged.LONG]
FEW = ("cart_pole", "arm")

NOTES = """The examples of `optimize.examples` solved with IPOPT and each kind of second derivatives; CPU times. Exact \
Hessians take one directional derivative of the blocks per step."""


def hessians(steps, chosen):
    """Every example with each kind of second derivatives: iterations, CPU time, and CPU time of one Hessian."""
    sheet = Sheet("Second derivatives (IPOPT)", ["problem", "hessian", "iterations", "cost", "CPU s", "ms a Hessian"])
    for example in chosen:
        for kind in KINDS:
            steps.next(f"{example.name}, {kind}")
            problem = examples.get(example.name)
            began = time.process_time()
            solution = problem.solve(hessian=kind, time_limit=120.0)
            seconds = time.process_time() - began
            cost = f"{solution.cost:.6g}" if solution.converged else "-"
            ms = 1e3 * hessian_seconds(problem, kind) if kind in HESSIANS else None
            sheet.rows.append([example.name, kind, len(solution.iterations) - 1, cost, seconds, ms])
            steps.done()
    return sheet


def hessian_seconds(problem, kind):
    """CPU seconds of one Hessian of the Lagrangian."""
    program = problem.transcribe()
    rng = np.random.default_rng(0)
    z, multipliers = problem.initial_unknowns(program), rng.normal(size=program.m)
    z += 0.01 * rng.normal(size=program.n)
    hessian = HESSIANS[kind](program)
    values = np.zeros(hessian.pattern.count)

    def evaluate():
        program._motion = None
        began = time.process_time()
        hessian.evaluate(z, 1.0, multipliers, values)
        return time.process_time() - began

    return min(evaluate() for _ in range(3 if kind == "differences" else 12))


def nao_hessians(steps, rules):
    """CPU milliseconds of the exact Hessian of NAO over the number of steps."""
    sheet = Sheet("NAO: exact Hessian [CPU ms]", ["rule", *(f"N = {N}" for N in LENGTHS), "differences, N = 50"])
    worst = 0.0
    for name, integrator in rules.items():
        steps.next(f"NAO, Hessian, {name}")
        ms = [1e3 * hessian_seconds(examples.nao(N, integrator=integrator), "exact") for N in LENGTHS]
        slow = 1e3 * hessian_seconds(examples.nao(50, integrator=integrator), "differences")
        sheet.rows.append([name, *ms, slow])
        worst = max(worst, (ms[-1] / LENGTHS[-1]) / (ms[1] / LENGTHS[1]))
        steps.done()
    return sheet, worst


def run(progress, quick=False) -> Report:
    """All examples; quick: two of them, and one rule."""
    chosen = [example for example in EXAMPLES if example.name in FEW] if quick else EXAMPLES
    rules = {"midpoint": RULES["midpoint"]} if quick else RULES
    progress.total(len(KINDS) * len(chosen) + len(rules))
    lengths, growth = nao_hessians(progress, rules)
    bound = Requirement("time of the Hessian of NAO per step, N = 400 / N = 50", growth, 1.5)
    return Report("Second derivatives", NOTES, [hessians(progress, chosen), lengths], [bound])
