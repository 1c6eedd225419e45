"""Brüdigam 2023, Fig. 7: drift of a loop, energy kept, energy lost to damping, a box that lands."""

from dataclasses import replace

import mujoco
import numpy as np

import leastaction as la
from benchmarks.bruedigam2020 import fig4
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged

PAPER = "Brüdigam 2023"
DAMPED, COARSE = 10.0, 0.1
EDGE, HEIGHT, DT, FALL = 0.5, 0.4, 0.01, 100

NOTES = """(a) and (b) as in Fig. 4 of 2020, with Maximal(order=1), the paper's method. (c) A pendulum of 1 m and 1 kg \
with a damper of 0.5 N m s/rad in its joint, from horizontal rest, steps of 0.1 s; the energy at each time compared \
with that of a run with DOP853. (d) A cube of 0.5 m and 1 kg dropped from 0.4 m, steps of 0.01 s; MuJoCo with its \
defaults and Euler's method."""


def damped(integrator, dt):
    """(times, energy above that of rest [J]) of the damped pendulum."""
    robot = la.robots.pendulum(1)
    robot = robot.replace(joints=(replace(robot.joints[0], damping=(0.5,)),))
    run = la.simulate(robot, q=[np.pi / 2], dt=dt, duration=DAMPED, integrator=integrator)
    return run.t, run.energy + 0.5 * 9.81


def drop(order):
    """Heights of the lowest corner of our cube."""
    robot = la.robots.cube(edge=EDGE)
    run = la.simulate(
        robot, q=[0, 0, EDGE / 2 + HEIGHT, 1, 0, 0, 0], dt=DT, steps=FALL, integrator=la.Maximal(order=order)
    )
    return run.q[:, 2] - EDGE / 2


def mujoco_drop():
    """Those of MuJoCo's."""
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{DT}"/><worldbody><geom type="plane" size="5 5 1"/>'
        f'<body pos="0 0 {EDGE / 2 + HEIGHT}"><freejoint/>'
        f'<geom type="box" size="{EDGE / 2} {EDGE / 2} {EDGE / 2}" mass="1"/></body></worldbody></mujoco>'
    )
    data, z = mujoco.MjData(model), []
    for _ in range(FALL + 1):
        z.append(data.qpos[2] - EDGE / 2)
        mujoco.mj_step(model, data)
    return np.array(z)


def run(progress, quick=False) -> Report:
    """All four plots."""
    report = Report("Fig. 7: physical accuracy", NOTES)
    progress.total(4)
    progress.next("drift")
    t, gap, theirs = fig4.drift(500 if quick else 10_000)
    report.plots.append(
        Plot(
            "a: gap of a loop",
            "time [s]",
            "largest gap so far [m]",
            {"Maximal(1)": fig4.so_far(t, gap), "Runge-Kutta 4": fig4.so_far(t, theirs)},
            "y",
            marks=False,
        )
    )
    report.claims.append(
        judged(
            f"{PAPER}, Fig. 7 a",
            "No drift of constraints with the variational integrator; drift with explicit Runge-Kutta of order 4.",
            f"{gap.max():.0e} m at all times beside {theirs[-1]:.0e} m after {t[-1]:g} s.",
            gap.max() < 1e-9 < theirs[-1],
            "No drift to be seen.",
        )
    )
    progress.done()
    progress.next("energy")
    methods = {"Maximal(1)": la.Maximal(order=1), "Heun": la.Heun()}
    energies = {name: fig4.energy(method, 30_000 if quick else 360_000) for name, method in methods.items()}
    report.plots.append(
        Plot(
            "b: energy kept", "time [s]", "energy error / (m g l)", {m: e[:2] for m, e in energies.items()}, marks=False
        )
    )
    (_, mean, most), (_, heun, _) = energies.values()
    report.claims.append(
        judged(
            f"{PAPER}, Fig. 7 b",
            "The error of the energy stays bounded; Heun's method injects energy.",
            f"at most {most:.2g}, without trend ({mean[0]:.1e} at first, {mean[-1]:.1e} at last); Heun "
            f"{heun[-1]:+.2g} at last.",
            abs(mean[-1] - mean[0]) < most and abs(heun[-1]) > 3 * abs(mean[-1] - mean[0]),
            "Heun's error stays small over this time.",
        )
    )
    progress.done()
    progress.next("damping")
    t_exact, exact = damped(la.DOP853(), COARSE)
    losses = {
        m: damped(i, COARSE)[1]
        for m, i in {"Maximal(1)": la.Maximal(order=1), "Maximal(2)": la.Maximal(), "Euler": la.ExplicitEuler()}.items()
    }
    report.plots.append(
        Plot(
            "c: energy lost to damping",
            "time [s]",
            "energy [J]",
            {"exact": (t_exact, exact)} | {m: (t_exact, e) for m, e in losses.items()},
            marks=False,
        )
    )
    off = {m: float(np.abs(e - exact).max() / exact[0]) for m, e in losses.items()}
    report.sheets.append(
        Sheet(
            "(c) largest error of the energy, of that at the start",
            ["method", "error"],
            [[m, x] for m, x in off.items()],
        )
    )
    report.measures += [Measure(f"damped pendulum, {m}: error of the energy", "error", [x]) for m, x in off.items()]
    report.claims.append(
        judged(
            f"{PAPER}, Fig. 7 c",
            "Good dissipation after a small initial error; Euler's method underdamps drastically.",
            f"largest error {off['Maximal(1)']:.2g} of the energy (order 2: {off['Maximal(2)']:.2g}), Euler "
            f"{off['Euler']:.2g}.",
            off["Maximal(1)"] < 0.3 * off["Euler"],
            "Errors are alike.",
        )
    )
    progress.done()
    progress.next("drop")
    ours, soft = {f"Maximal({order})": drop(order) for order in (1, 2)}, mujoco_drop()
    t = DT * np.arange(FALL + 1)
    report.plots.append(
        Plot(
            "d: a box lands",
            "time [s]",
            "height of the lowest corner [m]",
            {m: (t[20:60], z[20:60]) for m, z in (ours | {"MuJoCo": soft}).items()},
            marks=False,
        )
    )
    depth = max(0.0, -min(z.min() for z in ours.values()))
    report.claims.append(
        judged(
            f"{PAPER}, Fig. 7 d",
            "The box stops 43 µm above the ground; MuJoCo's sinks in by 2.7 cm.",
            f"rests {1e6 * ours['Maximal(1)'][-1]:.2g} µm above it and is never more than {1e6 * depth:.1g} "
            "µm below; MuJoCo "
            f"{-100 * soft.min():.2g} cm below.",
            depth < 1e-6 and soft.min() < -1e-3,
            "MuJoCo's does not sink in.",
            better=abs(ours["Maximal(1)"][-1]) < 43e-6,
        )
    )
    report.requirements += [
        Requirement("gap of the loop [m]", float(gap.max()), 1e-10),
        Requirement("depth of the box [m]", depth, 1e-6),
    ]
    progress.done()
    return report
