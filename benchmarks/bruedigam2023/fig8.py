"""Brüdigam 2023, Fig. 8 b: chains of spheres with contacts, in linear time; MuJoCo beside it."""

import mujoco
import numpy as np

import leastaction as la
from benchmarks import peers, timing
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from benchmarks.rollouts import Rollout

LENGTHS, FEW = (5, 10, 20, 40, 60, 100), (5, 20, 50)
DT, STEPS, SHORT = 0.01, 1000, 100
RADIUS = 0.25

NOTES = """Spheres of 0.25 m and 1 kg, 1 m apart on ball joints; the straight chain stands on its first sphere at 45 \
degrees and falls; friction 1, steps of 0.01 s. CPU time of a step over the whole run. MuJoCo: Euler, its default \
contact parameters, contact of every sphere with the plane. Depth: largest penetration of a sphere into the plane. \
Fig. 8 a is Fig. 5 a of 2020."""


def mujoco_model(n):
    """The same chain, straight, from the origin."""
    inner, moment = "", 0.4 * RADIUS**2
    for k in reversed(range(n)):
        joint, at = ("<freejoint/>", 0) if k == 0 else ('<joint type="ball"/>', int(k > 1))
        centre = f"{int(k > 0)} 0 0"
        inner = (
            f'<body pos="{at} 0 0">{joint}<inertial pos="{centre}" mass="1" diaginertia="{moment} {moment} {moment}"/>'
            f'<geom type="sphere" size="{RADIUS}" pos="{centre}" friction="1" contype="0" conaffinity="1"/>'
            f"{inner}</body>"
        )
    return mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{DT}"/><size memory="200M"/><worldbody>'
        f'<geom type="plane" size="9 9 1" friction="1"/>{inner}</worldbody></mujoco>'
    )


class Mujoco:
    """A run of it, with the deepest sphere."""

    def __init__(self, n, q, steps):
        self.model, self.q, self.steps, self.depth = mujoco_model(n), q, steps, 0.0
        self.data = mujoco.MjData(self.model)
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = q
        for _ in range(steps):
            mujoco.mj_step(self.model, self.data)
            self.depth = max(self.depth, RADIUS - float(self.data.geom_xpos[1:, 2].min()))
        self.warned = int(self.data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number)

    def run(self):
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = self.q
        mujoco.mj_step(self.model, self.data, nstep=self.steps)


def depth_of(robot, record):
    """How far a sphere is below the plane at worst."""
    poses = np.array([la.dynamics.body_poses(robot, q) for q in record["q"][::5]])
    centres = np.array([contact.point for contact in robot.contacts])
    z = np.einsum("tbi,bi->tb", poses[:, :, 2, :3], centres) + poses[:, :, 2, 3]
    return max(0.0, RADIUS - float(z.min()))


def run(progress, quick=False) -> Report:
    """All lengths."""
    lengths, steps = (FEW, SHORT) if quick else (LENGTHS, STEPS)
    progress.total(len(lengths))
    columns = ["spheres", "Maximal(1) [µs]", "iterations", "depth [m]", "MuJoCo [µs]", "depth [m]", "unstable"]
    sheet, measures, failed = Sheet("Chains of spheres", columns), [], 0
    for n in lengths:
        progress.next(f"{n} spheres")
        robot = la.robots.sphere_chain(n)
        q = la.robots.home(robot)
        rollout = Rollout(robot, la.Maximal(order=1, self_collision=False), q, np.zeros(robot.nv), DT, steps)
        failed += rollout.run() < steps
        soft = Mujoco(n, q, steps)
        times = timing.in_turns({"ours": rollout.run, "MuJoCo": soft.run}, 2 if quick else 3)
        ours, theirs = (float(np.median(times[who])) / steps for who in ("ours", "MuJoCo"))
        its = rollout.record["iterations"][1:]
        row = [n, 1e6 * ours, float(its.mean()), depth_of(robot, rollout.record), 1e6 * theirs, soft.depth, soft.warned]
        sheet.rows.append(row)
        measures.append(Measure(f"{n} spheres", "time", [x / steps for x in times["ours"]]))
        progress.done()
    sizes = [row[0] for row in sheet.rows]
    slope = peers.exponent(sizes, [row[1] / row[2] for row in sheet.rows])
    whole = peers.exponent(sizes, [row[1] for row in sheet.rows])
    deepest, soft = max(row[3] for row in sheet.rows), max(row[5] for row in sheet.rows)
    claims = [
        judged(
            "Brüdigam 2023, Fig. 8 b",
            "The time grows linearly with the spheres and their contacts; longer chains run.",
            f"exponent {slope:.2f} of an iteration's time from {sizes[0]} to {sizes[-1]} spheres, {whole:.2f} of a "
            "step's, for longer chains whip faster and take more iterations; "
            f"{failed} runs failed; deepest {deepest:.0e} m.",
            slope < 1.25 and failed == 0,
            "It grows faster.",
        ),
        judged(
            "Brüdigam 2023, Sect. 5.2 (MuJoCo)",
            "MuJoCo is faster, but its spheres sink in by 10 cm or more from 20 on, and it fails from 45 on.",
            f"MuJoCo takes {sheet.rows[-1][4] / sheet.rows[-1][1]:.2g} of our time with {sheet.rows[-1][0]} "
            "spheres and sinks in by "
            f"{100 * soft:.2g} cm at worst; unstable in {sum(row[6] > 0 for row in sheet.rows)} of "
            f"{len(sheet.rows)} runs.",
            soft >= 0.1 and any(row[6] > 0 for row in sheet.rows),
            "The present release of MuJoCo sinks in less, and does not fail on this motion.",
        ),
    ]
    lines = {
        "Maximal(1)": ([r[0] for r in sheet.rows], [r[1] for r in sheet.rows]),
        "MuJoCo": ([r[0] for r in sheet.rows], [r[4] for r in sheet.rows]),
    }
    plots = [
        Plot("chains of spheres", "spheres", "CPU time of a step [µs]", lines, "xy"),
        Plot(
            "depth",
            "spheres",
            "deepest sphere [m]",
            {
                "Maximal(1)": ([r[0] for r in sheet.rows], [max(r[3], 1e-12) for r in sheet.rows]),
                "MuJoCo": ([r[0] for r in sheet.rows], [max(r[5], 1e-12) for r in sheet.rows]),
            },
            "xy",
        ),
    ]
    requirements = [Requirement("runs that failed", failed, 0), Requirement("deepest sphere [m]", deepest, 1e-6)]
    return Report("Fig. 8 b: chains of spheres", NOTES, [sheet], requirements, claims, measures, plots)
