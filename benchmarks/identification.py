"""`identify` on motions that MuJoCo made of an arm with friction and a delay: do its intervals hold the truth?"""

import time

import numpy as np

import leastaction as la
from benchmarks.report import Report, Requirement, Sheet

MODEL = """
<mujoco model="arm">
  <option timestep="0.0001" integrator="implicitfast"/>
  <worldbody>
    <body name="upper">
      <joint name="shoulder" axis="0 1 0" damping="{d1}" frictionloss="{f1}" armature="0.02"/>
      <inertial mass="2" pos="0 0 -0.2" diaginertia="0.02 0.02 0.004"/>
      <body name="fore" pos="0 0 -0.4">
        <joint name="elbow" axis="1 0 0" damping="{d2}" frictionloss="{f2}" armature="0.01"/>
        <inertial mass="{m}" pos="0 0 -0.15" diaginertia="0.012 0.01 0.003"/>
        <body name="hand" pos="0 0 -0.3">
          <joint name="wrist" axis="0 1 0" damping="{d3}" armature="0.005"/>
          <inertial mass="0.4" pos="0 0 -0.06" diaginertia="0.002 0.002 0.001"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="m1" joint="shoulder" gear="{g}"/>
    <motor name="m2" joint="elbow" gear="2"/>
    <motor name="m3" joint="wrist" gear="1"/>
  </actuator>
</mujoco>
"""
FIRST = {"d1": 0.2, "d2": 0.1, "d3": 0.02, "f1": 0.05, "f2": 0.02, "m": 1.0, "g": 4.0}
TRUE = {"d1": 0.35, "d2": 0.06, "d3": 0.04, "f1": 0.15, "f2": 0.06, "m": 1.3, "g": 3.6}
DRY = ("friction:shoulder", "friction:elbow")
NAMES = {
    "mass:fore": "m",
    "damping:shoulder": "d1",
    "damping:elbow": "d2",
    "damping:wrist": "d3",
    "friction:shoulder": "f1",
    "friction:elbow": "f2",
    "gear:m1": "g",
}
DT, EVERY, STEPS, DELAY = 0.005, 50, 160, 0.003
NOISE_Q, NOISE_V = 2e-4, 2e-3
SUBSTEPS = 5
"""Of `identify`: controls change within a step of the log, by the delay."""
LEVELS = (0.5, 0.8, 0.95)
SEEDS, FEW = range(60), range(4)
RUBBED = range(2)
"""Logs of the arm with dry friction, which takes an integrator with contacts, and that a minute each."""

NOTES = f"""A motor-driven arm of three joints, whose controls arrive {1e3 * DELAY:g} ms late, simulated by MuJoCo in \
steps of 0.1 ms; {STEPS} states {1e3 * DT:g} ms apart with noise of {NOISE_Q:g} rad and {NOISE_V:g} rad/s; each log is \
identified separately, from initial values with errors of 10 to 70 %. {len(SEEDS)} logs without dry friction with \
`Galerkin(order=2)` in {SUBSTEPS} substeps a state, which resolve the delay: a confidence interval of level c should \
contain the true value in a share c of the logs; the last row is the binomial standard deviation of that share. \
{len(RUBBED)} logs with dry friction, which is regularised in MuJoCo, with `Minimal()`."""


def arm(values, rubs):
    """The model with these values; rubs: with dry friction."""
    return MODEL.format(**(values if rubs else values | {"f1": 0.0, "f2": 0.0}))


def logged(robot, seed, rubs):
    """A log of MuJoCo's motion."""
    import mujoco

    model = mujoco.MjModel.from_xml_string(arm(TRUE, rubs))
    data, rng = mujoco.MjData(model), np.random.default_rng(seed)
    data.qpos[:] = rng.uniform(-0.5, 0.5, 3)
    t = DT * np.arange(STEPS)
    phases, speeds = rng.uniform(0.0, 6.0, (3, 3)), np.array([3.0, 7.0, 12.0])
    u = np.sin(t[:, None, None] * speeds + phases).sum(axis=2) * [1.0, 0.5, 0.3]
    late, before, rows = round(DELAY / DT * EVERY), np.zeros(3), [(data.qpos.copy(), data.qvel.copy())]
    for row in u:
        for command, steps in ((before, late), (row, EVERY - late)):
            data.ctrl[:] = command
            mujoco.mj_step(model, data, steps)
        before = row
        rows.append((data.qpos.copy(), data.qvel.copy()))
    q, v = (np.array(x) for x in zip(*rows, strict=True))
    q, v = q + NOISE_Q * rng.normal(size=q.shape), v + NOISE_V * rng.normal(size=v.shape)
    return la.Trajectory.from_states(robot, q, v, dt=DT, u=u)


def identified(progress, seeds, rubs, integrator):
    """({parameter: truth}, values and 95 % intervals (logs, parameters), shares held (parameters, levels), seconds)."""
    robot = la.load_string(arm(FIRST, rubs))
    truth = {name: TRUE[key] for name, key in NAMES.items() if rubs or name not in DRY} | {"delay": DELAY}
    values, widths, held, seconds = [], [], np.zeros((len(truth), len(LEVELS))), []
    for seed in seeds:
        progress.next(f"log {seed}{', dry friction' * rubs}")
        began = time.process_time()
        parts = 1 if rubs else SUBSTEPS
        found = la.identify(robot, logged(robot, seed, rubs), list(truth), integrator=integrator, substeps=parts)
        seconds.append(time.process_time() - began)
        intervals = [found.interval(level) for level in LEVELS]
        values.append([number(found.values[name]) for name in truth])
        widths.append([number(intervals[-1][name][1]) - number(intervals[-1][name][0]) for name in truth])
        for k, some in enumerate(intervals):
            held[:, k] += [number(some[name][0]) <= true <= number(some[name][1]) for name, true in truth.items()]
        progress.done()
    return truth, np.array(values), np.array(widths), held / len(seeds), seconds


def number(x):
    """The only one of an array."""
    return float(np.ravel(x)[0])


def table(title, truth, values, widths, held):
    """A row for each parameter."""
    columns = [
        "parameter",
        "truth",
        "mean error",
        "rms error",
        "mean width, 95 %",
        *(f"held at {c:.0%}" for c in LEVELS),
    ]
    sheet = Sheet(title, columns)
    for k, (name, true) in enumerate(truth.items()):
        e = values[:, k] - true
        row = [name, true, float(e.mean()), float(np.sqrt((e**2).mean())), float(widths[:, k].mean())]
        sheet.rows.append([*row, *map(float, held[k])])
    sheet.rows.append(["all", "", "", "", "", *map(float, held.mean(axis=0))])
    return sheet


def run(progress, quick=False):
    """All logs; quick: few, without dry friction."""
    seeds = FEW if quick else SEEDS
    progress.total(len(seeds) + (0 if quick else len(RUBBED)))
    truth, values, widths, held, seconds = identified(progress, seeds, False, la.Galerkin(order=2))
    sheet = table(f"Viscous friction: shares of {len(seeds)} logs", truth, values, widths, held)
    spread = [float(np.sqrt(c * (1.0 - c) / len(seeds))) for c in LEVELS]
    sheet.rows.append(["deviation of a share", "", "", "", "", *spread])
    sheets = [sheet]
    if not quick:
        rubbed = identified(progress, RUBBED, True, la.Minimal())
        sheets.append(table(f"Dry friction, too: shares of {len(RUBBED)} logs", *rubbed[:4]))
    report = Report("Identification: coverage of confidence intervals", NOTES, sheets, seeds=list(seeds))
    report.requirements = [
        Requirement("share of 95 % intervals that miss the truth", 1.0 - float(held[:, -1].mean()), 0.1),
        Requirement("median CPU seconds of an identification, viscous friction", float(np.median(seconds)), 10.0),
    ]
    return report
