"""Brüdigam 2020, Fig. 6, and 2023, Fig. 9 a: chains of four-link segments for 10 s, loops that stay closed."""

import time

import numpy as np

import leastaction as la
from benchmarks import peers
from benchmarks.races import engines
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged

SEGMENTS, FEW = (1, 2, 5, 10, 20, 50), (1, 2, 5, 10)
DT, STEPS, SHORT = 0.01, 1000, 300
COMPARED = 20
"""Segments up to which joint coordinates and MuJoCo run beside: longer chains take them long."""

NOTES = f"""Maximal coordinates, order 2, steps of {DT} s for 10 s (short version 3 s) from the home configuration. \
"Energy" is the largest error of the energy relative to the largest kinetic energy; the weight of 50 segments excites \
waves that steps of {DT} s do not resolve, and steps on which Newton's method fails are bisected. CPU time of one \
whole run. "Joints": Galerkin(2), in joint coordinates with the loops as position constraints. MuJoCo: Euler, its \
default constraint parameters, joints of the loops as constraints; its energy error at the end, relative to the \
largest kinetic energy of ours."""


def soft(robot, steps: int, scale: float) -> float | None:
    """Energy that MuJoCo's chain has lost at the end; None where it is not installed."""
    if "MuJoCo" in engines.missing():
        return None
    import mujoco

    run = engines.Mujoco(robot, la.robots.home(robot), np.zeros(robot.nv), DT, steps, "Euler", constraints=True)
    run.model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    energies = []
    for run.count in (0, steps):
        run.run()
        mujoco.mj_forward(run.model, run.data)
        energies.append(float(run.data.energy.sum()))
    return (energies[1] - energies[0]) / scale


def jointed(robot, steps: int) -> float | str:
    """Error of the energy in joint coordinates, or where they fail."""
    try:
        run = la.simulate(robot, dt=DT, steps=steps, integrator=la.Galerkin(order=2))
    except la.ConvergenceError as error:
        return f"failed at step {error.step}"
    return float(np.abs(run.energy - run.energy[0]).max() / run.kinetic_energy.max())


def run(progress, quick=False) -> Report:
    """One run for each number of segments."""
    chains, steps = (FEW, SHORT) if quick else (SEGMENTS, STEPS)
    progress.total(len(chains))
    columns = [
        "segments",
        "bodies",
        "violation",
        "energy",
        "updates",
        "most",
        "per step [µs]",
        "joints: energy",
        "MuJoCo: energy",
    ]
    sheet = Sheet("Chains of four-link segments", columns)
    violation = energy = 0.0
    failures, measures, times = 0, [], {}
    la.simulate(la.robots.four_bar_chain(1), dt=DT, steps=2, integrator=la.Maximal())  # compiles
    for segments in chains:
        progress.next(f"{segments} segments")
        robot = la.robots.four_bar_chain(segments)
        began = time.process_time()
        try:
            run = la.simulate(robot, dt=DT, steps=steps, integrator=la.Maximal())
        except la.ConvergenceError as error:
            failures += 1
            sheet.rows.append([segments, len(robot.bodies), f"failed at step {error.step}", *[""] * 6])
            progress.done()
            continue
        times[segments] = (time.process_time() - began) / run.steps
        error = float(np.abs(run.energy - run.energy[0]).max() / run.kinetic_energy.max())
        worst = float(run.constraint_violation.max())
        violation, energy = max(violation, worst), max(energy, error if segments <= 20 else 0.0)
        row = [segments, len(robot.bodies), worst, error, float(run.iterations[1:].mean()), int(run.iterations.max())]
        others = [None, None]
        if segments <= COMPARED:
            others = [jointed(robot, steps), soft(robot, steps, float(run.kinetic_energy.max()))]
        sheet.rows.append([*row, 1e6 * times[segments], *others])
        measures.append(Measure(f"{segments} segments: time of a step", "time", [times[segments]]))
        progress.done()
    requirements = [
        Requirement("runs that failed", failures, 0),
        Requirement("largest violation [m or rad]", violation, 1e-10),
        Requirement("largest error of the energy, to 20 segments", energy, 0.1),
    ]
    tail = [n for n in times if 2 <= n <= 20]
    slope = peers.exponent(tail, [times[n] for n in tail])
    joints = {row[0]: row[7] for row in sheet.rows if row[7] is not None}
    claims = [
        judged(
            "Brüdigam 2020, Fig. 6",
            "Chains of four-link segments run for 10 s, where joint coordinates fail with two or more.",
            f"{len(times)} of {len(chains)} chains run, to {max(times)} segments, and stay closed to {violation:.0e}.",
            failures == 0,
            "Some failed.",
            note=f"but here joint coordinates do not fail either: {told(joints)}.",
        ),
        *(
            judged(
                "Brüdigam 2023, Sect. 5.2 (four-link segments, MuJoCo)",
                "MuJoCo with its default softness damps the chains, and keeps their energy badly.",
                f"after {steps * DT:g} s it is off by {min(lost):.2g} to {max(lost):.2g} of the largest kinetic "
                f"energy, ours by at most {energy:.1g}.",
                max(map(abs, lost)) > 2.0 * energy,
                "It keeps it as well.",
            )
            for lost in [[row[8] for row in sheet.rows if row[8] is not None]]
            if lost
        ),
        judged(
            "Brüdigam 2023, Fig. 9 a",
            "The time grows modestly with the number of segments.",
            f"exponent {slope:.2f} of a step's time from {tail[0]} to {tail[-1]} segments.",
            slope < 1.5,
            "Longer chains move faster and need more updates, see the column.",
        ),
    ]
    plots = [
        Plot(
            "chains of segments",
            "segments",
            "CPU time of a step [µs]",
            {"Maximal": (list(times), [1e6 * x for x in times.values()])},
            "xy",
        )
    ]
    return Report("Fig. 6: chains of four-link segments", NOTES, [sheet], requirements, claims, measures, plots)


def told(joints: dict[int, float | str]) -> str:
    """Which chains run in joint coordinates."""
    fine = [n for n, x in joints.items() if isinstance(x, float)]
    return f"Galerkin(2) runs {len(fine)} of {len(joints)}, to {max(fine, default=0)} segments"
