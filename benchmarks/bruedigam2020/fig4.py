"""Brüdigam 2020, Fig. 4: energy over an hour, no drift of a loop, sparse Newton steps, quadratic convergence."""

import numpy as np
from threadpoolctl import threadpool_limits

import leastaction as la
from benchmarks import peers
from benchmarks.bruedigam2020.acceleration_level import runge_kutta
from benchmarks.bruedigam2023 import fig9
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from benchmarks.rollouts import Rollout
from benchmarks.starts import bow
from leastaction.dynamics.legendre import quantities, velocity_of_momentum
from tests.maximal.saddle_points import mechanism

DT, HOUR, SHORT = 0.01, 360_000, 30_000
UNIT = 9.81
CHAINS, FEW = (2, 5, 10, 20, 50, 100), (2, 10, 50)
CONVERGENCE = (1, 10, 100)
PAPER = "Brüdigam 2020"

NOTES = """Steps of 0.01 s. (a) Two rods of 1 m and 1 kg from horizontal rest; energy relative to m g l, averaged over \
every ten seconds. (b) Three rods of 1, √2/2 and 1 m as a loop, from its home configuration, 100 s; compared with \
joint coordinates, the loop constraint at acceleration level without stabilisation, and Runge-Kutta of order 4. (c) \
Factorisation and solution of the linear system of one Newton step of chains, compared with LAPACK's dense solver, one \
thread. (d) Sizes of the Newton updates of the first step of pendulums in a curved initial posture."""


def energy(integrator, steps):
    """(time, energy error / m g l), means over ten seconds."""
    robot = la.robots.pendulum(2)
    rollout = Rollout(robot, integrator, np.array([np.pi / 2, 0.0]), np.zeros(2), DT, steps)
    rollout.run()
    record = rollout.record
    v = record["v"] if "v" in record else velocity_of_momentum(robot, record["q"], record["p"])
    T, U, _ = quantities(robot, record["q"], v)
    error = (T + U - T[0] - U[0])[1:].reshape(-1, 1000) / UNIT
    return (np.arange(len(error)) + 0.5) * 1000 * DT, error.mean(axis=1), float(np.abs(error).max())


def drift(steps):
    """(times, violation of ours, violation on the level of accelerations)."""
    robot = la.robots.three_link_loop()
    run = la.simulate(robot, q=la.robots.home(robot), dt=DT, steps=steps, integrator=la.Maximal(order=1))
    gaps = runge_kutta(robot, la.robots.home(robot), DT, steps)
    return run.t, run.constraint_violation, gaps


def newton_steps(lengths):
    """{links: (seconds sparse, seconds dense)}."""
    rng, found = np.random.default_rng(0), {}
    with threadpool_limits(1):
        for n in lengths:
            joints = [(i, i + 1) for i in range(n - 1)]
            sizes, edges, constraint, blocks = mechanism(joints, n, (5,), rng, world=[0])
            _, ours, dense, _ = fig9.race(sizes, edges, blocks, constraint)
            found[n] = ours, dense
    return found


def convergence(n):
    """Sizes of the updates in the first step of a chain."""
    robot = la.robots.pendulum(n)
    rollout = Rollout(robot, la.Maximal(order=1), bow(n), np.zeros(n), DT, 1)
    rollout.run()
    history = rollout.stepper.data.history
    return [float(x) for x in history[: int(rollout.record["iterations"][1])]]


def so_far(t, gap):
    """A line of the largest gap until each time, from the first step on, in some hundred points."""
    some = np.unique(np.linspace(1, len(t) - 1, 400).astype(int))
    return t[some], np.maximum.accumulate(gap)[some]


def run(progress, quick=False) -> Report:
    """All four plots."""
    progress.total(4)
    report = Report("Fig. 4: energy, drift, sparsity, convergence", NOTES)
    progress.next("energy")
    methods = {"Maximal(order=1)": la.Maximal(order=1), "Maximal()": la.Maximal(), "Heun": la.Heun()}
    energies = {name: energy(method, SHORT if quick else HOUR) for name, method in methods.items()}
    lines = {name: (t / 60, np.abs(mean)) for name, (t, mean, _) in energies.items()}
    report.plots.append(
        Plot("a: energy, means of 10 s", "time [min]", "|energy error| / (m g l)", lines, "y", marks=False)
    )
    ours, heun = energies["Maximal(order=1)"], energies["Heun"]
    trend, other = (abs(e[1][-len(e[1]) // 5 :].mean() - e[1][: len(e[1]) // 5].mean()) for e in (ours, heun))
    report.claims.append(
        judged(
            f"{PAPER}, Fig. 4 a",
            "Over 60 minutes the energy of a double pendulum stays constant; with Heun's method the error grows.",
            f"change of the mean {trend:.1e} (order 1), largest error {ours[2]:.2g}; order 2 "
            f"{energies['Maximal()'][2]:.1e}; "
            f"Heun: change of the mean {other:.1e}, largest error {heun[2]:.2g}.",
            trend < 0.1 * ours[2] and other > 10 * trend,
            "The error of order 1 drifts, or Heun's stays small.",
        )
    )
    report.measures += [Measure(f"{name}: energy error", "error", [e[2]]) for name, e in energies.items()]
    progress.done()
    progress.next("drift")
    t, gap, theirs = drift(1000 if quick else 10_000)
    report.plots.append(
        Plot(
            "b: gap of the loop",
            "time [s]",
            "largest gap so far [m]",
            {"Maximal(order=1)": so_far(t, gap), "constraints of accelerations": so_far(t, theirs)},
            "y",
            marks=False,
        )
    )
    report.claims.append(
        judged(
            f"{PAPER}, Fig. 4 b",
            "Position constraints do not drift; constraints of accelerations do.",
            f"{gap.max():.1e} m at all times beside {theirs[-1]:.1e} m at the end.",
            gap.max() < 1e-9 and theirs[-1] > 10 * gap.max(),
            "No drift to be seen.",
        )
    )
    report.requirements.append(Requirement("gap of the loop [m]", float(gap.max()), 1e-10))
    progress.done()
    progress.next("Newton steps")
    lengths = FEW if quick else CHAINS
    times = newton_steps(lengths)
    slope = peers.exponent(lengths[-2:], [times[n][0] for n in lengths[-2:]])
    dense = peers.exponent(lengths[-2:], [times[n][1] for n in lengths[-2:]])
    lines = {
        "sparse": (lengths, [1e6 * times[n][0] for n in lengths]),
        "dense": (lengths, [1e6 * times[n][1] for n in lengths]),
    }
    report.plots.append(Plot("c: one Newton step", "links", "CPU time [µs]", lines, "xy"))
    last = times[lengths[-1]]
    report.claims.append(
        judged(
            f"{PAPER}, Fig. 4 c",
            "A sparse Newton step is O(n), a dense one O(n³).",
            f"exponents {slope:.2f} and {dense:.2f} from {lengths[-2]} to {lengths[-1]} links, where dense takes "
            f"{last[1] / last[0]:.0f} times as long.",
            slope < 1.2 and dense > 2.0,
            "Exponents differ.",
        )
    )
    progress.done()
    progress.next("convergence")
    histories = {n: convergence(n) for n in CONVERGENCE}
    lines = {f"{n} links": (list(range(1, len(h) + 1)), h) for n, h in histories.items()}
    report.plots.append(Plot("d: convergence", "iteration", "size of the update", lines, "y"))
    sheet = Sheet("Sizes of the updates", ["links", *(str(k) for k in range(1, 1 + max(map(len, histories.values()))))])
    sheet.rows = [[n, *h, *[""] * (len(sheet.columns) - 1 - len(h))] for n, h in histories.items()]
    report.sheets.append(sheet)
    report.measures += [
        Measure(f"{n} links: iterations of the first step", "count", [len(h)]) for n, h in histories.items()
    ]
    # Quadratic: the logarithm of an update is about twice that of the one before.
    quadratic = all(len(h) < 3 or h[-1] < 10 * h[-2] ** 1.5 for h in histories.values())
    report.claims.append(
        judged(
            f"{PAPER}, Fig. 4 d",
            "Newton's method converges quadratically for 1, 10 and 100 links, in three to four iterations typically.",
            ", ".join(f"{len(h)} iterations with {n} links" for n, h in histories.items()) + ".",
            quadratic and max(map(len, histories.values())) <= 6,
            "More iterations.",
        )
    )
    progress.done()
    return report
