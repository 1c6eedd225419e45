"""The package's own solver beside IPOPT, its cost by the number of steps, and model predictive control."""

import gc

import numpy as np

import leastaction as la
from benchmarks import legged, peers
from benchmarks.both_solvers import SAME, Pairs, cpu, timed
from benchmarks.report import Report, Requirement, Sheet
from leastaction.optimize import examples
from leastaction.optimize.hessians.lagrangian_hessian import GaussNewton
from leastaction.optimize.solvers.kkt_system.kkt import System

EXAMPLES = [example for example in examples.catalogue() if example.name not in legged.LONG]
FEW = ("cart_pole", "nao")
SIZES = (25, 50, 100, 200, 400)
TICKS = 300
PUSHES = (40, 120, 200)
"""Ticks at which velocities jump."""

NOTES = """`solve(solver="horizon")` compared with IPOPT on the examples of `optimize.examples` (legged robots: \
`legged`), least CPU time of three; then each solver from the minimum of the other (tolerance 1e-9 with contact); NAO \
over the number of steps, including the first solve, which also computes the elimination order of the linear system; \
time of that system over the number of steps; MPC with the same solver, CPU time of a tick."""


def beside_ipopt(steps, chosen, repeats):
    """Every example with both solvers and their defaults, and each from the minimum of the other."""
    pairs = Pairs()
    for example in chosen:
        steps.next(f"{example.name}, both solvers")
        pairs.add(example.name, example.make(), repeats)
        steps.done()
    return pairs


def nao_by_steps(steps, sizes, repeats):
    """CPU time of whole solves of NAO by the number of steps, with both solvers; how ours grows for each iteration."""
    columns = [
        "N",
        "iterations",
        "of IPOPT",
        "CPU s",
        "of IPOPT",
        "ratio",
        "ms/iteration",
        "first solve, s",
        "of IPOPT",
    ]
    sheet, each = Sheet("NAO on one foot, both solvers", columns), []
    for solver in ("horizon", "ipopt"):
        examples.nao(5).solve(solver=solver)  # loads what is compiled
    for N in sizes:
        steps.next(f"NAO, {N} steps, both solvers")
        problem = examples.nao(N)
        first = {x: cpu(lambda x=x, N=N: examples.nao(N).solve(solver=x))[0] for x in ("horizon", "ipopt")}
        (own, ours), (peer, theirs) = (timed(problem, repeats, solver=solver) for solver in ("horizon", "ipopt"))
        assert ours.converged, str(ours)
        counts = [len(x.iterations) - 1 for x in (ours, theirs)]
        each.append(own / counts[0])
        sheet.rows.append([N, *counts, own, peer, peer / own, 1e3 * each[-1], *first.values()])
        steps.done()
    return sheet, peers.exponent(sizes, each)


def by_steps(steps):
    """CPU time of one factorisation and solution of the linear system by the number of steps."""
    sheet = Sheet(
        "linear system of an iteration", ["N", *(f"{name}, us" for name in ("cart_pole", "arm", "satellite"))]
    )
    columns = []
    for name in ("cart_pole", "arm", "satellite"):
        steps.next(f"{name}, linear systems")
        columns.append([])
        for N in SIZES:
            problem = examples.get(name, steps=N)
            program = problem.transcribe()
            hessian, z = GaussNewton(program), problem.initial_unknowns(program)
            system = System(program, hessian.pattern)
            program.jacobian(z, system.jacobian)
            hessian.evaluate(z, 1.0, np.zeros(program.m), system.hessian)
            system.diagonal[: system.n] = 1e-3
            b = np.ones(system.n + system.m)

            def once(system=system, b=b):
                system.factor()
                system.solve(b)

            columns[-1].append(peers.python_calls(once))
        steps.done()
    for N, *seconds in zip(SIZES, *columns, strict=True):
        sheet.rows.append([N, *(1e6 * x for x in seconds)])
    return sheet, max(peers.exponent(SIZES, seconds) for seconds in columns)


def closed_loop(problem, iterations=1, seed=0):
    """(controller, CPU seconds of the ticks, largest and last distance from the goal) of a robot that is pushed."""
    mpc = la.optimize.MPC(problem, iterations=iterations)
    robot, dt = problem.mechanism, problem.fixed_duration / problem.steps
    mpc.reset()
    simulator = la.Simulator(robot, la.Midpoint(), dt=dt)
    simulator.reset(q=problem.start_position, v=problem.start_velocity)
    rng, seconds, away = np.random.default_rng(seed), [], []
    gc.collect()
    gc.disable()  # as a loop in real time would: a collection takes tens of milliseconds
    for k in range(TICKS):
        if k in PUSHES:
            simulator.reset(q=simulator.q, v=simulator.v + 1.5 * rng.normal(size=robot.nv), t=simulator.t)
        state = simulator.q, simulator.v
        spent, u = cpu(lambda state=state: mpc.step(*state))
        seconds.append(spent)
        simulator.step(u)
        away.append(float(np.abs(robot.difference(problem.start_position, simulator.q)).max()))
    gc.enable()
    return mpc, np.array(seconds[1:]), max(away), away[-1]


def thrown_hopper():
    """(CPU seconds of the ticks, greatest height of the toe, last deviation): thrown up by 1 m/s, twice."""
    problem = examples.steady_hopper()
    mpc, robot = la.optimize.MPC(problem, iterations=2, barrier=1e-2), problem.mechanism
    mpc.reset()
    simulator = la.Simulator(robot, la.Minimal(), dt=0.02)
    simulator.reset(q=problem.start_position, v=problem.start_velocity)
    seconds, heights = [], []
    gc.collect()
    gc.disable()
    for k in range(200):
        if k in (40, 120):
            simulator.reset(q=simulator.q, v=simulator.v + np.eye(robot.nv)[1], t=simulator.t)
        state = simulator.q, simulator.v
        spent, u = cpu(lambda state=state: mpc.step(*state))
        seconds.append(spent)
        simulator.step(u)
        heights.append(simulator.q[1] + simulator.q[4] - 0.75)
    gc.enable()
    return np.array(seconds[1:]), max(heights), float(np.abs(simulator.q - problem.start_position).max())


def contact_control(steps):
    """Contact-implicit MPC."""
    steps.next("hopper, MPC with contact")
    seconds, height, last = thrown_hopper()
    sheet = Sheet(
        "MPC with contact, hopper, N = 20, two iterations a tick",
        ["Hz (median)", "longest, ms", "toe up to, m", "last deviation"],
    )
    rate = 1.0 / float(np.median(seconds))
    sheet.rows.append([rate, 1e3 * float(seconds.max()), height, last])
    steps.done()
    return sheet, rate, last


def control(steps):
    """Ticks per second of CPU time, and the longest ones, with pushes."""
    sheet = Sheet(
        f"MPC, one iteration a tick, {len(PUSHES)} pushes in {TICKS} ticks of 20 ms",
        ["robot", "N", "Hz (median)", "longest, ms", "largest deviation", "last one", "ticks without way"],
    )
    rates = []
    for name, problem in (("cart-pole", examples.balance(50)), ("arm, 7 joints", examples.steady_arm(30))):
        steps.next(f"{name}, MPC")
        mpc, seconds, most, last = closed_loop(problem)
        rates.append(1.0 / float(np.median(seconds)))
        row = [name, problem.steps, rates[-1], 1e3 * float(seconds.max()), most, last, mpc.failures]
        sheet.rows.append(row)
        steps.done()
    return sheet, rates


def run(steps, quick=False) -> Report:
    """All of it; quick: two examples, once."""
    chosen = [example for example in EXAMPLES if example.name in FEW] if quick else EXAMPLES
    sizes, repeats = (SIZES[:2], 1) if quick else (SIZES, 3)
    steps.total(len(chosen) + len(sizes) + 6)
    whole, slope = nao_by_steps(steps, sizes, repeats)
    pairs = beside_ipopt(steps, chosen, repeats)
    ratio = pairs.seconds["nao", "horizon"] / pairs.seconds["nao", "ipopt"]
    grown, exponent = by_steps(steps)
    controlled, (pole, arm) = control(steps)
    touched, hopper, last = contact_control(steps)
    requirements = [
        Requirement("examples that the own solver does not solve", pairs.failed, 0),
        Requirement("one solver from the other's minima: largest relative difference of costs", pairs.worst, SAME),
        Requirement("own solver / IPOPT, CPU time, NAO, N = 50", ratio, 0.2),
        Requirement("growth of an iteration on NAO with N, exponent", slope, 1.1),
        Requirement("growth of the linear system with N, exponent", exponent, 1.1),
        Requirement("500 Hz / MPC of the cart-pole, N = 50", 500.0 / pole, 1.0),
        Requirement("100 Hz / MPC of the arm, N = 30", 100.0 / arm, 1.0),
        Requirement("50 Hz / MPC of the hopper with contact, N = 20", 50.0 / hopper, 1.0),
        Requirement("hopper, thrown up twice: last deviation, m or rad", last, 1e-2),
    ]
    return Report(
        "The package's NLP solver and MPC", NOTES, [pairs.sheet, whole, grown, controlled, touched], requirements
    )
