"""What is measured of a run: energy gains of steps, penetration, joint gaps, flips, limits, iterations, time."""

import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import leastaction as la
from benchmarks.corpus.scene import Scene
from benchmarks.division import has_substeps
from leastaction.dynamics.loops import violation
from leastaction.mechanism import Box, Capsule, Cylinder, Ellipsoid, Mechanism, Mesh, Plane, Sphere
from leastaction.mechanism.drives.servos import feedback_energy

FLIP, FINE = 2.0, 64
"""A joint without a spring flips where it turns in a step by FLIP [rad] more than its rates at both ends explain, and
otherwise than in FINE steps from there: rates of chains that spin fast change their signs within a step and back."""


def measured(scene: Scene, integrator: Any = None) -> dict:
    """Simulate a scene; by default with `Maximal`.

    Returns:
        `refused` or `failure`, the message of the error where there was one. Of the steps up to there: `gains`, the
        energy gains of all steps, and `gain`, the highest energy above that of the start, both relative to the largest
        kinetic energy and without the work of motors; `depth`, the deepest penetration [m]; `open`, the largest joint
        gap [m or rad]; `flips`; `beyond`, the largest excess of a limit [rad or m]; `iterations` of all steps;
        `divided`, the number of steps with substeps; `seconds` of CPU time.
    """
    failure, began = "", time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run = simulated(scene, integrator)
        except la.ConvergenceError as error:
            run, failure = error.trajectory, str(error)
        except la.IntegratorError as error:
            return {"refused": str(error)}
    seconds = time.process_time() - began
    energy = balance(scene, run)
    kinetic = max(float(run.kinetic_energy.max()), 1e-12)
    gaps = run.stored["contacts"][:, 9] if "contacts" in run.stored else np.zeros(0)
    return {
        "refused": "",
        "failure": failure,
        "gains": np.diff(energy) / kinetic,
        "gain": float((energy - energy[0]).max()) / kinetic,
        "depth": max(0.0, -float(gaps.min(initial=0.0)), depth(run)),
        "open": joint_gap(run),
        "flips": flips(scene, run, integrator),
        "beyond": beyond(run),
        "iterations": np.asarray(run.iterations[1:], int),
        "divided": int(has_substeps(run.stored, run.steps + 1).sum()),
        "seconds": seconds,
    }


def simulated(scene: Scene, integrator: Any = None) -> Any:
    """The run of a scene."""
    return la.simulate(
        scene.robot,
        scene.q,
        scene.v,
        dt=scene.dt,
        steps=scene.steps,
        integrator=integrator or la.Maximal(),
        motions=scene.motions,
        progress=False,
        controls=scene.controls,
    )


def balance(scene: Scene, run: Any) -> np.ndarray:
    """Energy minus the work of motors and prescribed motions [J], shape (steps + 1,).

    Constant controls of joints with one axis have a potential, and so have servos; their work is exact.
    """
    energy = run.energy - run.stored.get("work", 0.0)
    if scene.controls is None:
        return energy
    robot = run.mechanism
    force = robot.generalized_forces(scene.controls)
    energy = energy + feedback_energy(robot, run.q)
    for group in robot.coordinate_groups:
        if force[group.iv : group.iv + group.nv].any():
            energy = energy - force[group.iv] * (run.q[:, group.iq] - run.q[0, group.iq])
    return energy


def depth(run: Any) -> float:
    """How far the robot gets below the ground z = 0 [m], from the poses alone; 0 where there is none."""
    robot, poses, deepest = run.mechanism, run.com_poses, 0.0
    if not any(isinstance(shape, Plane) for shape in robot.ground):
        return 0.0
    rotations = Rotation.from_quat(poses[..., [4, 5, 6, 3]].reshape(-1, 4)).as_matrix()
    up = rotations.reshape(*poses.shape[:2], 3, 3)[:, :, 2]  # the vertical in the bodies' directions
    origins = poses[..., 2] - np.einsum("tbc,bc->tb", up, np.array([body.inertia.com for body in robot.bodies]))
    for point in robot.contacts:
        i = robot.body_index(point.body)
        heights = up[:, i] @ np.asarray(point.point) + origins[:, i] - point.radius
        deepest = max(deepest, -heights.min())
    for i, body in enumerate(robot.bodies):
        for shape in body.shapes:
            if shape.collision:
                T = shape.pose.matrix
                heights = up[:, i] @ T[:3, 3] + origins[:, i]
                deepest = max(deepest, (below(shape, up[:, i] @ T[:3, :3]) - heights).max())
    return float(deepest)


def below(shape, z: np.ndarray) -> np.ndarray:
    """How far a shape reaches below its origin, for the world's vertical in its frame, shape (times, 3)."""
    if isinstance(shape, Sphere):
        return np.full(len(z), shape.radius)
    if isinstance(shape, Capsule):
        return shape.radius + 0.5 * shape.length * np.abs(z[:, 2])
    if isinstance(shape, Cylinder):
        return 0.5 * shape.length * np.abs(z[:, 2]) + shape.radius * np.hypot(z[:, 0], z[:, 1])
    if isinstance(shape, Box):
        return 0.5 * np.abs(z) @ np.asarray(shape.size)
    if isinstance(shape, Ellipsoid):
        return np.linalg.norm(z * np.asarray(shape.radii), axis=1)
    if isinstance(shape, Mesh):
        return -(z @ shape.vertices.T).min(axis=1)
    raise TypeError(f"unknown shape {shape.kind}")


def joint_gap(run: Any) -> float:
    """Largest violation of a joint, loop or coupling [m or rad]."""
    if "violation" in run.stored:
        return float(run.stored["violation"].max())
    robot = run.mechanism
    return float(np.abs(violation(robot, run.q)).max(initial=0.0)) if robot.loops or robot.couplings else 0.0


def single_axes(robot: Mechanism) -> tuple[list[int], list[int]]:
    """Indices in q and in v of the coordinates of joints and motions with one axis."""
    groups = [group for group in robot.coordinate_groups if group.nv == 1]
    return [group.iq for group in groups], [group.iv for group in groups]


def bounds(robot: Mechanism) -> tuple[np.ndarray, np.ndarray]:
    """Limits of all coordinates of velocity, shape (nv,) each."""
    lower, upper = (np.concatenate([getattr(joint, side) for joint in robot.joints]) for side in ("lower", "upper"))
    return lower, upper


def beyond(run: Any) -> float:
    """How far a joint gets beyond its limits [rad or m]."""
    (iq, iv), (lower, upper) = single_axes(run.mechanism), bounds(run.mechanism)
    q = run.q[:, iq]
    return float(max((lower[iv] - q).max(initial=0.0), (q - upper[iv]).max(initial=0.0)))


def flips(scene: Scene, run: Any, integrator: Any = None) -> int:
    """How often a joint flips, see `FLIP`; springs and prescribed motions may do that."""
    if run.mechanism.springs or run.mechanism.tendons or scene.motions:
        return 0
    stiffness = np.concatenate([joint.stiffness for joint in run.mechanism.joints])
    pairs = [(i, k) for i, k in zip(*single_axes(run.mechanism), strict=True) if stiffness[k] == 0.0]
    iq, iv = [i for i, _ in pairs], [k for _, k in pairs]
    turned, rate = np.diff(run.q[:, iq], axis=0), run.v[:, iv]
    dt = np.diff(run.t)[:, None]
    fastest, slowest = np.maximum(rate[:-1], rate[1:]), np.minimum(rate[:-1], rate[1:])
    odd = np.maximum(turned - dt * fastest, dt * slowest - turned) > FLIP
    count = 0
    for k in np.flatnonzero(odd.any(axis=1)):
        start = replace(scene, q=run.q[k], v=run.v[k], dt=scene.dt / FINE, steps=FINE)
        fine = simulated(start, integrator).q[:, iq]
        count += int((odd[k] & (np.abs(turned[k] - (fine[-1] - fine[0])) > FLIP)).sum())
    return count
