"""Energy of a double pendulum over an hour, beside MuJoCo over a minute."""

import numpy as np

import leastaction as la
from benchmarks import mujoco_chain
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet
from benchmarks.rollouts import Rollout, load_note
from leastaction.dynamics.legendre import quantities, velocity_of_momentum

DT, HOUR, MINUTE = 0.01, 360_000, 6_000
START = (np.pi / 2, 0.0)

NOTES = """Two uniform rods of 1 m and 1 kg from horizontal rest, dt = 0.01 s. Relative to m g l = 9.81 J. "Error" is \
the largest distance from the energy at the start; "drift" the change of the mean energy from the first to the last \
tenth of the run. "Loose" has a Newton tolerance of 1e-8 in place of 1e-12, with which the energy may drift."""

LOOSE = "Galerkin 4, loose"

OURS = {
    "Galerkin 2": la.Galerkin(order=2),
    "Galerkin 4": la.Galerkin(order=4),
    LOOSE: la.Galerkin(order=4, tolerance=1e-8),
    "Galerkin 6": la.Galerkin(order=6),
    "Maximal": la.Maximal(),
}
PEERS = ("Euler", "implicitfast", "RK4", "discrete")

UNIT = 9.81


def energies(robot, integrator, steps):
    """Energy at every step [J] and the seconds that the run took per step."""
    rollout = Rollout(robot, integrator, np.array(START), np.zeros(2), DT, steps)
    seconds = rollout.seconds(repeats=1)
    record = rollout.record
    v = record["v"] if "v" in record else velocity_of_momentum(robot, record["q"], record["p"])
    T, U, _ = quantities(robot, record["q"], v)
    return T + U, seconds


def mujoco_energies(robot, integrator, steps):
    q, v = mujoco_chain.Chain(2, integrator, DT, START, np.zeros(2)).samples(steps, 1)
    T, U, _ = quantities(robot, q, v)
    return T + U


def summary(energy):
    """(largest error, drift), relative to `UNIT`."""
    tenth = max(1, len(energy) // 10)
    drift = energy[-tenth:].mean() - energy[:tenth].mean()
    return float(np.abs(energy - energy[0]).max() / UNIT), float(drift / UNIT)


def plots(curves, hour):
    """The largest error so far: over the first minute, and over the hour."""
    found = []
    for title, unit, lines, seconds in (
        ("double pendulum, a minute", "s", curves, 1.0),
        ("the whole time", "min", hour, 60.0),
    ):
        shown = {}
        for name, energy in lines.items():
            error = np.maximum.accumulate(np.abs(energy - energy[0]) / UNIT)
            at = np.unique(np.linspace(1, min(len(error) - 1, MINUTE if unit == "s" else HOUR), 120).astype(int))
            shown[name] = DT * at / seconds, error[at]
        found.append(Plot(title, f"time [{unit}]", "largest energy error so far / (m g l)", shown, "y", marks=False))
    return found


def run(progress, quick=False) -> Report:
    """Run all."""
    hours = HOUR // 12 if quick else HOUR
    robot = la.robots.pendulum(2)
    progress.total(len(OURS) + len(PEERS) + 1)
    long = "5 min" if quick else "60 min"
    columns = ["method", "error, 60 s", "drift, 60 s", f"error, {long}", f"drift, {long}", "[µs/step]"]
    sheet = Sheet("Energy relative to m g l", columns)
    report = Report("Energy of a double pendulum over an hour", f"{NOTES} {load_note()}", [sheet])
    curves, hour = {}, {}
    for name, integrator in OURS.items():
        progress.next(name)
        hour[name], seconds = energies(robot, integrator, hours)
        curves[name] = hour[name]
        short, long = summary(hour[name][: MINUTE + 1]), summary(hour[name])
        sheet.rows.append([name, *short, *long, 1e6 * seconds])
        progress.done()
        report.measures.append(Measure(f"{name}: error", "error", [long[0]]))
        if name == LOOSE:
            continue
        report.requirements += [
            Requirement(f"{name}: error of the whole time / after 60 s", long[0] / short[0], 2.0),
            Requirement(f"{name}: drift / error", abs(long[1]) / long[0], 0.1),
        ]
    for integrator in PEERS:
        name = f"MuJoCo {integrator}"
        progress.next(name)
        curves[name] = mujoco_energies(robot, integrator, MINUTE)
        sheet.rows.append([name, *summary(curves[name]), "", "", ""])
        progress.done()
    progress.next("Runge-Kutta")
    curves["RungeKutta 4"], seconds = energies(robot, la.RungeKutta(order=4), MINUTE)
    sheet.rows.append(["RungeKutta 4", *summary(curves["RungeKutta 4"]), "", "", 1e6 * seconds])
    report.plots = plots(curves, hour)
    progress.done()
    return report
