"""Fan 2018, Fig. 1: Newton beside the quasi-Newton method of Lee et al. 2016."""

import time

import numpy as np

import leastaction as la
from benchmarks.report import Claim, Measure, Plot, Report, Requirement, Sheet, verdict
from benchmarks.rollouts import Rollout

LINKS, STATES, FEW, SEED = 32, 1000, 40, 1
STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06)
METHODS = {"Newton": la.Galerkin(order=2, interpolation="joints"), "quasi": la.Galerkin(order=2, solver="quasi")}

NOTES = """One step of the trapezoidal variational integrator of a 32-link pendulum from random states, angles and \
velocities uniform in ±pi/2 (rad, rad/s), to an update below 1e-10. Iterations (mean, median, worst) and times \
(median, µs) are those of the steps that succeed. "Residual": the largest final residual, relative to the largest \
momentum. "Far": solutions more than 1 rad from the true motion (Runge-Kutta, small steps); the equations of large \
steps have several solutions, some far from the motion. The package bisects steps that do not converge; here these \
count as failures, as in the paper, and "lost" are those that fail even with bisection."""
SUBSTEPS = 100


def states(count, seed=SEED):
    """Random (Q, V)."""
    rng = np.random.default_rng(seed)
    return rng.uniform(-np.pi / 2, np.pi / 2, (2, count, LINKS))


def one_steps(robot, integrator, dt, Q, V):
    """Iterations (0 where the whole step failed), seconds, relative residuals and ends from each state; steps lost."""
    rollout = Rollout(robot, integrator, Q[0], V[0], dt, 1)
    rollout.run()
    stepper, record = rollout.stepper, rollout.record
    whole = integrator.prepare(robot, dt)
    whole.settings = whole.settings._replace(energy=np.inf)  # Newton's answer is not judged by its energy
    call = min(_seconds(lambda: stepper.advance(record, 0, 0, rollout.controls[:0])) for _ in range(50))
    iterations, seconds, left = np.zeros(len(Q), int), np.zeros(len(Q)), np.zeros(len(Q))
    ends, lost = np.full_like(Q, np.nan), 0
    for k, (q, v) in enumerate(zip(Q, V, strict=True)):
        record["q"][0] = q
        record["p"][0] = la.dynamics.mass_matrix(robot, q) @ v
        lost += rollout.run() < 1
        seconds[k] = min(_seconds(lambda: whole.run(record, 0, 1, rollout.controls)) for _ in range(3)) - call
        if whole.run(record, 0, 1, rollout.controls) == 1:
            iterations[k] = record["iterations"][1]
            left[k] = np.abs(whole.data.points.r).max() / np.abs(record["p"]).max()
            ends[k] = record["q"][1]
    return iterations, seconds, left, ends, lost


def true_ends(robot, dt, Q, V):
    """Where the motion gets to in dt."""
    rollout = Rollout(robot, la.RungeKutta(order=4), Q[0], V[0], dt / SUBSTEPS, SUBSTEPS)
    ends = np.zeros_like(Q)
    for k, (q, v) in enumerate(zip(Q, V, strict=True)):
        rollout.record["q"][0], rollout.record["v"][0] = q, v
        rollout.run()
        ends[k] = rollout.record["q"][-1]
    return ends


def _seconds(function):
    began = time.process_time()
    function()
    return time.process_time() - began


def plots(rows):
    found = []
    for title, column in (("median time [µs]", 6), ("mean iterations", 3), ("success [%]", 2)):
        lines = {m: tuple(zip(*((r[0], r[column]) for r in rows if r[1] == m), strict=True)) for m in METHODS}
        found.append(Plot(title, "dt [s]", title, lines))
    return found


def claims(newton, quasi, count):
    """The paper's three plots."""
    said = "Newton needs less time than quasi-Newton, the more so the larger the step."
    times = [(n[6], q[6]) for n, q in zip(newton, quasi, strict=True) if np.isfinite(q[6])]
    faster = [n < q for n, q in times]
    first, last = times[0], times[-1]
    told = f"median {first[0]:.0f} beside {first[1]:.0f} µs at {newton[0][0]:g} s, "
    told += f"{last[0]:.0f} beside {last[1]:.0f} µs at {newton[len(times) - 1][0]:g} s."
    why = "A quasi-Newton iteration costs less and small steps need as many."
    yield Claim("Fan 2018, Fig. 1 a", said, told, verdict(all(faster)), "" if all(faster) else why)
    fewer = all(not np.isfinite(q[3]) or n[3] <= q[3] for n, q in zip(newton, quasi, strict=True))
    told = f"{newton[0][3]:.1f} to {max(n[3] for n in newton):.1f} beside {quasi[0][3]:.1f} to "
    told += f"{np.nanmax([q[3] for q in quasi]):.1f}."
    yield Claim(
        "Fan 2018, Fig. 1 b",
        "Newton needs fewer iterations at every step size.",
        told,
        verdict(fewer),
        "" if fewer else "At small steps.",
    )
    said = "Newton succeeds more often; quasi-Newton fails at large steps."
    least, other = min(n[2] for n in newton), min(q[2] for q in quasi)
    told = f"{least:g} % of {count} states at the worst step size, quasi-Newton {other:g} %."
    yield Claim(
        "Fan 2018, Fig. 1 c", said, told, verdict(least > other, least == 100.0), "" if least > other else "Both."
    )


def run(progress, quick=False) -> Report:
    """One step from every state, with every dt and both methods."""
    robot, count = la.robots.pendulum(LINKS), FEW if quick else STATES
    Q, V = states(count)
    steps = STEPS[::2] if quick else STEPS
    progress.total(len(steps) * len(METHODS))
    columns = ["dt", "method", "success [%]", "mean", "median", "worst", "time", "residual", "far [%]", "lost"]
    sheet = Sheet(f"One step from {count} states", columns)
    measures = []
    for dt in steps:
        truth = true_ends(robot, dt, Q, V)
        for name, integrator in METHODS.items():
            progress.next(f"{name}, dt = {dt:g} s")
            its, seconds, left, ends, lost = one_steps(robot, integrator, dt, Q, V)
            good = its > 0
            numbers, far = [np.nan, np.nan, 0, np.nan], 0.0
            if good.any():
                measures.append(Measure(f"{name}, dt = {dt:g} s: iterations of all", "count", [its.sum()]))
                its, timing = its[good], 1e6 * float(np.median(seconds[good]))
                numbers = [float(its.mean()), float(np.median(its)), int(its.max()), timing]
                far = 100.0 * float((np.abs(ends - truth)[good].max(axis=1) > 1.0).mean())
            sheet.rows.append([dt, name, 100.0 * good.mean(), *numbers, float(left.max()), far, lost])
            progress.done()
    newton, quasi = sheet.rows[::2], sheet.rows[1::2]
    ratios = [n[3] / q[3] for n, q in zip(newton, quasi, strict=True) if n[0] <= 0.02]
    requirements = [
        Requirement("states from which division finds no way", max(row[9] for row in sheet.rows), 0),
        Requirement("worst relative residual of Newton", max(row[7] for row in newton), 1e-8),
        Requirement("mean iterations, Newton / quasi-Newton, dt <= 0.02 s", max(ratios), 1.0),
    ]
    return Report(
        "Fig. 1: Newton and quasi-Newton",
        NOTES,
        [sheet],
        requirements,
        list(claims(newton, quasi, count)),
        measures,
        plots(sheet.rows),
        [SEED],
    )
