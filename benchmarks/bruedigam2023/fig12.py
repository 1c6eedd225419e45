"""Brüdigam 2023, Fig. 12: the double four-bar linkage through its singular configurations."""

import time
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

import leastaction as la
from benchmarks.bruedigam2023 import ggl
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from leastaction.integration.integrators import Integrator

DT, DURATION, SHORT = 0.01, 100.0, 10.0
WINDOWS = 2
SPEEDS = (1.0, 0.96, 0.97, 0.98, 0.99, 1.01, 1.02, 1.03, 1.04)
"""Of the first end [m/s]; the paper's first."""
WHILE, FINE = 30.0, 0.001
"""How long each of these motions is followed [s], and the step at which the paper sees no difference."""
OURS = "Maximal(1)"
METHODS = {
    OURS: la.Maximal(order=1),
    "Maximal(2)": la.Maximal(),
    "Galerkin(2)": la.Galerkin(order=2),
    "Galerkin(4)": la.Galerkin(order=4),
}

NOTES = """Five links of 1 m and 1 kg, cranks upright, the first end moving at 1 m/s; steps of 0.01 s for 100 s (short \
version 10 s). When all bars are in line, the linkage may leave its branch. Error: of the first crank's end after 10 s \
relative to the exact motion, an equation of one angle ((N+1)/3 + N) phi'' = -g ((N+1)/2 + N) cos phi. Energy relative \
to the largest kinetic energy. CPU time per step of the whole `simulate` call. GGL: benchmarks/bruedigam2023/ggl.py in \
NumPy, with the coordinates, the rule and the Newton method of its authors. Where the bars are in line its matrices \
are singular; round-off decides the result of a step there, so the second table compares nine starts of 30 s (short \
version: three of 10 s) with Maximal(1): the largest error of the energy in the first and in the last third of the \
motion, until the linkage falls apart. Curves show the largest value of every second."""


class Motion(NamedTuple):
    """One run: times, energy error and violation at each, the angle of the first crank, seconds of a step."""

    t: np.ndarray
    energy: np.ndarray
    gaps: np.ndarray
    angle: np.ndarray
    seconds: float
    whole: bool = True


def exact(t: np.ndarray) -> np.ndarray:
    """Angle of the cranks at times t."""
    N = WINDOWS
    pull = 9.81 * ((N + 1) / 2 + N) / ((N + 1) / 3 + N)
    found = solve_ivp(
        lambda _, y: [y[1], -pull * np.cos(y[0])], (0, t[-1]), [np.pi / 2, -1.0], "DOP853", t, rtol=1e-12, atol=1e-13
    )
    return found.y[0]


def ours(method: Integrator, speed: float, dt: float, steps: int) -> tuple[Motion, la.Trajectory]:
    """A run of this package."""
    robot = la.robots.n_four_bar(WINDOWS)
    entry = next(e for e in la.robots.catalogue() if e.name == "n_four_bar")
    q, v = la.robots.home(robot), speed * np.asarray(entry.home_velocity(robot))
    la.simulate(robot, q, v, dt=dt, steps=1, integrator=method)
    began = time.process_time()
    run = la.simulate(robot, q, v, dt=dt, steps=steps, integrator=method)
    seconds = (time.process_time() - began) / steps
    energy = (run.energy - run.energy[0]) / run.kinetic_energy.max()
    angle = np.pi / 2 - run.q[:, robot.coordinate_index("A0")]
    return Motion(run.t, energy, run.constraint_violation, angle, seconds), run


def stabilised(speed: float, dt: float, steps: int) -> Motion:
    """A run of the GGL method, as far as it gets."""
    system, began = ggl.Windows(WINDOWS), time.process_time()
    states, _ = ggl.motion(system, speed, dt, steps)
    seconds = (time.process_time() - began) / max(len(states) - 1, 1)
    whole = len(states) > steps
    if not whole:  # of the linkage that falls apart
        states = [state for state in states if np.abs(state.q).max() < 10.0]
    kinetic, potential = system.energies(states)
    scale = np.sort(kinetic)[-len(kinetic) // 50]  # the largest, but for instants
    energy = (kinetic + potential - kinetic[0] - potential[0]) / scale
    gaps = np.array([np.abs(system.constraints(state.q)[0]).max() for state in states])
    angle = np.array([np.arctan2(state.q[3], state.q[2]) for state in states])
    return Motion(dt * np.arange(len(states)), energy, gaps, angle, seconds, whole)


def off(motion: Motion, first: np.ndarray) -> float:
    """Distance of the first crank's end from the exact one at the end of `first`; nan where there is no motion."""
    if len(motion.angle) < len(first):
        return np.nan
    a, b = motion.angle[len(first) - 1], first[-1]
    return float(np.hypot(np.cos(a) - np.cos(b), np.sin(a) - np.sin(b)))


def every_second(t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Times and the largest |y| of each second."""
    seconds = np.unique(np.floor(t[1:]))
    return seconds + 0.5, np.array([np.abs(y[1:][np.floor(t[1:]) == s]).max() for s in seconds])


def thirds(energy: np.ndarray) -> tuple[float, float]:
    """Largest errors in the first and in the last third, but for single instants."""
    third = max(len(energy) // 3, 1)
    return tuple(float(np.quantile(np.abs(part), 0.98)) for part in (energy[:third], energy[-third:]))


def crowd(progress, quick: bool) -> tuple[Sheet, list[list]]:
    """The table of all starts with both methods."""
    columns = ["start [m/s]", "Maximal(1): first", "last third", "GGL: first", "last third", "falls apart after [s]"]
    sheet = Sheet("Largest error of the energy, several starts", [*columns, "median violation", "Maximal(1)'s"])
    steps = round((SHORT if quick else WHILE) / DT)
    for speed in SPEEDS[:3] if quick else SPEEDS:
        progress.next(f"GGL from {speed:g} m/s")
        mine, theirs = ours(METHODS[OURS], speed, DT, steps)[0], stabilised(speed, DT, steps)
        end = None if theirs.whole else float(theirs.t[-1])
        medians = float(np.median(theirs.gaps[1:])), float(np.median(mine.gaps[1:]))
        sheet.rows.append([speed, *thirds(mine.energy), *thirds(theirs.energy), end, *medians])
    return sheet, sheet.rows


def run(progress, quick=False) -> Report:
    """All methods."""
    progress.total(len(METHODS) + 2)
    steps, ten = round((SHORT if quick else DURATION) / DT), round(SHORT / DT)
    first = exact(DT * np.arange(ten + 1))
    columns = ["method", "energy", "trend of the energy", "violation", "error after 10 s [m]", "[µs/step]"]
    sheet, measures, runs, parts = Sheet("100 s" if not quick else "10 s", columns), [], {}, {}
    for name, method in METHODS.items():
        progress.next(name)
        runs[name], whole = ours(method, SPEEDS[0], DT, steps)
        if name == OURS:
            sources = {"kinetic": whole.kinetic_energy, "potential": whole.potential_energy, "total": whole.energy}
            parts = {label: (whole.t[:500], y[:500]) for label, y in sources.items()}
        progress.done()
    progress.next("GGL")
    found = stabilised(SPEEDS[0], DT, steps)
    runs["GGL"] = found
    for name, motion in runs.items():
        fifth = len(motion.energy) // 5
        trend = float(motion.energy[-fifth:].mean() - motion.energy[:fifth].mean())
        row = [float(np.abs(motion.energy).max()), trend, float(motion.gaps.max()), off(motion, first)]
        told = name if motion.whole else f"{name}, to {motion.t[-1]:.3g} s"
        sheet.rows.append([told, *row, 1e6 * motion.seconds])
        if name != "GGL":
            measures.append(Measure(f"{name}: energy", "error", row[:1]))
    progress.done()
    starts, rows = crowd(progress, quick)
    fine = [] if quick else finely(progress)
    progress.done()
    claims = verdicts(sheet.rows, rows, fine, runs["GGL"].seconds / runs[OURS].seconds)
    curves = [{name: every_second(m.t, y) for name, m in runs.items() for y in (m[k],)} for k in (1, 2)]
    for line in curves[1].values():
        line[1][:] += 1e-17
    way = {name: (runs[name].t[: ten + 1 : 2], np.cos(runs[name].angle[: ten + 1 : 2])) for name in (OURS, "GGL")}
    way = {"exact": (DT * np.arange(ten + 1)[::2], np.cos(first[::2])), **way}
    plots = [
        Plot("a: end of the first crank", "time [s]", "x [m]", way, marks=False),
        Plot("b: largest energy error of a second", "time [s]", "of the kinetic energy", curves[0], "y", marks=False),
        Plot("c: largest violation of a second", "time [s]", "violation [m]", curves[1], "y", marks=False),
        Plot("d: energies, Maximal(1)", "time [s]", "energy [J]", parts, marks=False),
    ]
    requirements = [Requirement("largest violation [m]", max(row[3] for row in sheet.rows[: len(METHODS)]), 1e-9)]
    return Report("Fig. 12: double four-bar linkage", NOTES, [sheet, starts], requirements, claims, measures, plots)


def finely(progress) -> list[float]:
    """Errors of the first crank's end after 10 s in steps of 1 ms: ours and GGL's."""
    progress.next("steps of 1 ms")
    steps = round(SHORT / FINE)
    first = exact(FINE * np.arange(steps + 1))
    mine, theirs = ours(METHODS[OURS], SPEEDS[0], FINE, steps)[0], stabilised(SPEEDS[0], FINE, steps)
    return [off(mine, first), off(theirs, first), max(thirds(mine.energy)), max(thirds(theirs.energy))]


def verdicts(table: list[list], starts: list[list], fine: list[float], slower: float) -> list:
    """On both methods."""
    own, second, _, galerkin, theirs = table
    steady = [row[2] / row[1] for row in starts]
    lost = [row[5] for row in starts if row[5] is not None]
    growth = [row[4] / row[3] for row in starts if row[5] is None]
    medians = [float(np.median([row[k] for row in starts])) for k in (6, 7)]
    worse = len(lost) + sum(g > 1.02 * max(steady) for g in growth)
    told = (
        f"of {len(starts)} starts the linkage falls apart in {len(lost)}"
        + (f", after {min(lost):.0f} to {max(lost):.0f} s" if lost else "")
        + (f"; in the others the energy error grows {min(growth):.3g} to {max(growth):.3g} times" if growth else "")
        + f" (ours: none falls apart, {min(steady):.3g} to {max(steady):.3g} times)"
        + (
            f"; in steps of 1 ms the errors after 10 s are {fine[0]:.1g} and {fine[1]:.1g} m, of the energy "
            f"{fine[2]:.1g} and {fine[3]:.1g}."
            if fine
            else "."
        )
    )
    return [
        judged(
            "Brüdigam 2023, Fig. 12 a, b, d (ours)",
            "The linkage passes its singular configurations with a bounded error of the energy.",
            f"error of the energy at most {own[1]:.1e}, trend {own[2]:+.0e}; order 2 "
            f"{second[1]:.1e}; Galerkin(4) {galerkin[1]:.0e} and {galerkin[4]:.0e} m off after 10 s.",
            abs(own[2]) < own[1] < 0.2,
            "The energy drifts.",
        ),
        judged(
            "Brüdigam 2023, Fig. 12 c (ours)",
            "Violations of constraints are very low.",
            f"{own[3]:.0e} (Galerkin(4): {galerkin[3]:.0e}).",
            own[3] < 1e-9,
            "They are not.",
        ),
        judged(
            "Brüdigam 2023, Fig. 12 a, b (GGL)",
            "The error of the energy grows with the variational GGL method, and its motion goes more and more wrong; "
            "with steps of 1 ms there is almost no difference.",
            told,
            worse > len(starts) / 2,
            "It grows in few of the starts.",
            note="What it does where the bars are in line is decided by round-off of singular matrices.",
        ),
        judged(
            "Brüdigam 2023, Fig. 12 c (GGL)",
            "It keeps the constraints better.",
            f"median violation {medians[0]:.0e} beside {medians[1]:.0e}; up to {theirs[3]:.0e} beside {own[3]:.0e} "
            "where a step does not converge.",
            medians[0] < medians[1],
            "It does not.",
        ),
        judged(
            "Brüdigam 2023, Sect. 5.3 (GGL)",
            "GGL (Matlab) takes more than 100 times as long as maximal coordinates (Julia).",
            f"{slower:.0f} times as long (NumPy beside compiled code).",
            slower > 30.0,
            "The factor is smaller.",
            note="languages are compared, as the paper says.",
        ),
    ]
