"""The figures of the README: energy, a closed loop and a resting cube, beside MuJoCo."""

import math
import time

import mujoco
import numpy as np

import leastaction as la
from benchmarks import mujoco_chain
from benchmarks.races.engines import MUJOCO
from benchmarks.report import Report, Sheet
from benchmarks.rollouts import Rollout, load_note
from leastaction.dynamics.legendre import quantities

DT, MINUTE = 0.01, 6000
EDGE = 0.5
FALL, WINDOW = 500, 100

NOTES = """Steps of 0.01 s unless stated. Pendulum: two rods from horizontal rest, 60 s, largest energy error over m g \
l. Loop: parallelogram linkage (1, 2 and 1 m) released at 0.7 rad, 60 s, largest distance of the two points that \
coincide in its last hinge. Cube: 0.5 m and 1 kg, dropped flat from 0.15 m, 6 s; deepest corner at any time, and in \
the last second. MuJoCo with its default time constant of constraints, solref = 0.02 s, which at this step is also the \
stiffest that its documentation allows (2 dt); and at its default step of 0.002 s with the stiffest allowed there. \
Times: CPU, best of the runs within a second, each in a compiled loop."""

LEAST = 1.0
"""How long runs are repeated [s]: on a busy machine a few of them show little."""

CONSTRAINED = {
    "Euler": (DT, 0.02, "Euler"),
    "implicitfast": (DT, 0.02, "implicitfast"),
    "RK4": (DT, 0.02, "RK4"),
    "discrete": (DT, 0.02, "discrete"),
    "implicitfast, 0.002 s, stiffest": (0.002, 0.004, "implicitfast"),
    "discrete, 0.002 s, stiffest": (0.002, 0.004, "discrete"),
}
"""Settings of MuJoCo where it has constraints: step [s], solref [s], integrator."""


def best_seconds(function):
    """Least CPU time of a call."""
    best, spent = math.inf, 0.0
    while spent < LEAST:
        began = time.process_time()
        function()
        took = time.process_time() - began
        best, spent = min(best, took), spent + took
    return best


# ---------------------------------------------------------------------- pendulum


def pendulum(integrator):
    """(largest energy error / m g l, seconds per step) of ours."""
    robot, start = la.robots.pendulum(2), np.array([np.pi / 2, 0.0])
    run = la.simulate(robot, q=start, dt=DT, steps=MINUTE, integrator=integrator)
    seconds = Rollout(robot, integrator, start, np.zeros(2), DT, 1000).seconds(least=LEAST)
    return float(np.abs(run.energy - run.energy[0]).max() / 9.81), seconds


def mujoco_pendulum(integrator):
    robot = la.robots.pendulum(2)
    chain = mujoco_chain.Chain(2, integrator, DT, (np.pi / 2, 0.0), np.zeros(2))
    q, v = chain.samples(MINUTE, 1)
    T, U, _ = quantities(robot, q, v)
    error = np.abs(T + U - T[0] - U[0]).max() / 9.81
    return float(error), best_seconds(lambda: chain.run(1000)) / 1000


# ---------------------------------------------------------------------- loop


def loop(integrator):
    """(largest gap [m], seconds per step) of ours."""
    robot = la.robots.four_bar()
    run = la.simulate(robot, q=la.robots.home(robot), dt=DT, steps=MINUTE, integrator=integrator)
    one = la.simulate(robot, q=la.robots.home(robot), dt=DT, steps=1, integrator=integrator)
    rollout = Rollout(robot, integrator, one.q[0], np.zeros(robot.nv), DT, 1000)
    return float(run.constraint_violation.max()), rollout.seconds(least=LEAST)


def mujoco_loop(dt, solref, integrator):
    robot = la.robots.four_bar()
    X = dict(zip(robot.body_names, la.dynamics.body_poses(robot, la.robots.home(robot)), strict=True))
    bodies = {body.name: body for body in robot.bodies}

    def element(name, parent, inner=""):
        local = np.linalg.inv(X[parent]) @ X[name] if parent else X[name]
        quaternion = np.zeros(4)
        mujoco.mju_mat2Quat(quaternion, local[:3, :3].ravel())
        inertia, ends = bodies[name].inertia, -2.0 * np.linalg.norm(bodies[name].inertia.com)
        numbers = {
            "pos": local[:3, 3],
            "quat": quaternion,
            "com": inertia.com,
            "moments": np.array(inertia.moments)[[0, 3, 5]],
        }
        text = {key: " ".join(repr(float(x)) for x in value) for key, value in numbers.items()}
        return (
            f'<body name="{name}" pos="{text["pos"]}" quat="{text["quat"]}"><joint type="hinge" axis="0 1 0"/>'
            f'<inertial pos="{text["com"]}" mass="{inertia.mass}" diaginertia="{text["moments"]}"/>'
            f'<site name="{name}" pos="0 0 {ends}"/>{inner}</body>'
        )

    crank = element("crank", None, element("coupler", "crank"))
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{dt}" integrator="{integrator}"/>'
        f"<worldbody>{crank}{element('rocker', None)}</worldbody>"
        f'<equality><connect site1="coupler" site2="rocker" solref="{solref} 1"/></equality></mujoco>'
    )
    data = mujoco.MjData(model)
    gap = 0.0
    for _ in range(round(MINUTE * DT / dt)):
        mujoco.mj_step(model, data)
        mujoco.mj_kinematics(model, data)
        gap = max(gap, float(np.linalg.norm(data.site("coupler").xpos - data.site("rocker").xpos)))
    return gap, best_seconds(lambda: mujoco.mj_step(model, data, nstep=1000)) / 1000


# ---------------------------------------------------------------------- cube


def cube(integrator):
    """(deepest corner [m], deepest at rest [m], seconds per step) of ours; negative is above the ground."""
    robot = la.robots.cube(edge=EDGE)
    start = [0.0, 0.0, EDGE / 2 + 0.15, 1.0, 0.0, 0.0, 0.0]
    run = la.simulate(robot, q=start, dt=DT, steps=FALL + WINDOW, integrator=integrator)
    corners = np.array([c.point for c in robot.contacts])
    poses = np.array([la.dynamics.body_poses(robot, q)[0] for q in run.q])
    z = (poses[:, :3, :3] @ corners.T + poses[:, :3, 3:])[:, 2].min(axis=1)
    rollout = Rollout(robot, integrator, run.q[-1], np.zeros(6), DT, WINDOW)
    return float(-z.min()), float(-z[-WINDOW:].min()), rollout.seconds(least=LEAST)


def mujoco_cube(dt, solref, integrator):
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{dt}" integrator="{integrator}"/>'
        f'<default><geom solref="{solref} 1" friction="0.2"/></default>'
        f'<worldbody><geom type="plane" size="5 5 1"/><body pos="0 0 {EDGE / 2 + 0.15}"><freejoint/>'
        f'<geom type="box" size="{EDGE / 2} {EDGE / 2} {EDGE / 2}" mass="1"/></body></worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * EDGE / 2
    depth = []
    for _ in range(round((FALL + WINDOW) * DT / dt)):
        mujoco.mj_step(model, data)
        mujoco.mj_kinematics(model, data)
        depth.append(-(data.xmat[1].reshape(3, 3) @ corners.T + data.xpos[1][:, None])[2].min())
    seconds = best_seconds(lambda: mujoco.mj_step(model, data, nstep=1000)) / 1000
    return float(max(depth)), float(max(depth[-round(WINDOW * DT / dt) :])), seconds


def run(progress, quick=False) -> Report:
    """Run all; nothing of it is long."""
    progress.total(5 + len(MUJOCO) + len(CONSTRAINED))
    energy = Sheet("Energy of a double pendulum, 60 s", ["method", "error / (m g l)", "[µs/step]"])
    for order in (2, 4):
        progress.next(f"pendulum, order {order}")
        error, seconds = pendulum(la.Galerkin(order=order))
        energy.rows.append([f"Galerkin {order}", error, 1e6 * seconds])
        progress.done()
    for name in MUJOCO:
        progress.next(f"pendulum, MuJoCo {name}")
        error, seconds = mujoco_pendulum(name)
        energy.rows.append([f"MuJoCo {name}", error, 1e6 * seconds])
        progress.done()
    gaps = Sheet("Gap of a loop, 60 s", ["method", "gap [m]", "[µs/step]"])
    for integrator in (la.Galerkin(order=2), la.Maximal()):
        progress.next(f"loop, {type(integrator).__name__}")
        gap, seconds = loop(integrator)
        gaps.rows.append([type(integrator).__name__, gap, 1e6 * seconds])
        progress.done()
    cubes = Sheet("A cube lands", ["method", "deepest [m]", "at rest [m]", "[µs/step]"])
    progress.next("cube")
    *depths, seconds = cube(la.Maximal())
    cubes.rows.append(["Maximal", *depths, 1e6 * seconds])
    progress.done()
    for kind, settings in CONSTRAINED.items():
        name = f"MuJoCo {kind}"
        progress.next(name)
        gap, seconds = mujoco_loop(*settings)
        gaps.rows.append([name, gap, 1e6 * seconds])
        *depths, seconds = mujoco_cube(*settings)
        cubes.rows.append([name, *depths, 1e6 * seconds])
        progress.done()
    return Report("Figures of the README", f"{NOTES} {load_note()}", [energy, gaps, cubes])
