"""The table of recorded derivatives: of single steps by state, controls and parameters, and of whole runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import leastaction as la
from tests.recorded.recorded_cases import Arrays, derivative, joints, reduced
from tests.recorded.recorded_scenes import (
    Scene,
    curve,
    every_force,
    geared,
    loop,
    soft_limits,
    strung,
    strung_balls,
    walker,
)


def linearized(scene: Callable[[], Scene], integrator: Any, dt: float = 0.01) -> Callable[[], Arrays]:
    def measure() -> Arrays:
        robot, q, v, _ = scene()
        q = robot.neutral() if q is None else q
        if not robot.is_tree:
            q = la.dynamics.close_loops(robot, q)
        M = la.dynamics.mass_matrix(robot, q)
        p = M @ (np.zeros(robot.nv) if v is None else v)
        u = 0.1 * np.arange(1, robot.nu + 1)
        A, B = la.linearize(robot, integrator, q, p, u, dt)
        return {"A": A, "B": B}

    return measure


def landing_cube(restitution: float = 0.0) -> Scene:
    """A cube that hits the ground with a corner, 1 cm below it."""
    robot = la.robots.cube(friction=0.4, restitution=restitution)
    q = robot.normalize(np.array([0.0, 0.0, 0.0, 0.95, 0.3, 0.02, 0.1]))
    q[2] = 0.01 + 0.25 * np.abs(la.dynamics.body_poses(robot, q)[0, 2, :3]).sum()
    return robot, q, np.array([0.3, -0.4, 0.5, 0.5, 0.3, -2.0]), {}


LINEARIZED = {
    "galerkin-2-walker": (walker, joints(2)),
    "galerkin-4-walker": (walker, joints(4)),
    "galerkin-4-strung_balls": (strung_balls, joints(4)),
    "galerkin-2-geared": (geared, joints(2)),
    "galerkin-4-four_bar_chain": (loop("four_bar_chain"), joints(4)),
    "bodies-4-walker": (walker, la.Galerkin(order=4)),
    "bodies-4-strung_balls": (strung_balls, la.Galerkin(order=4)),
    "bodies-4-four_bar_chain": (loop("four_bar_chain"), la.Galerkin(order=4)),
    "midpoint-walker": (walker, la.Midpoint()),
    "maximal-1-walker": (walker, la.Maximal(order=1)),
    "maximal-2-strung_balls": (strung_balls, la.Maximal(order=2)),
    "maximal-4-strung": (strung, la.Maximal(order=4)),
    "maximal-2-four_bar_chain": (loop("four_bar_chain"), la.Maximal(order=2)),
    "maximal-1-cube": (landing_cube, la.Maximal(order=1, smoothing=1e-3)),
    "maximal-2-cube": (landing_cube, la.Maximal(order=2, smoothing=1e-3)),
    "maximal-2-linear-cube": (landing_cube, la.Maximal(order=2, smoothing=1e-3, friction="linear")),
    "maximal-2-rigid-cube": (landing_cube, la.Maximal(order=2)),
}
for name, (scene, method) in LINEARIZED.items():
    derivative(f"linearize-{name}", linearized(scene, method), tolerance=1e-6 if "cube" in name else 1e-9)


def back(scene: Callable[[], Scene], integrator: Any, steps: int = 20) -> Callable[[], Arrays]:
    """`backpropagate` of a random objective."""

    def measure() -> Arrays:
        robot, q, v, options = scene()
        out = la.simulate(robot, q, v, dt=0.01, steps=steps, integrator=integrator, progress=False, **options)
        dq, dp = np.random.default_rng(1).normal(size=(2, steps + 1, robot.nv))
        return dict(zip(("q", "p", "u"), la.derivatives.backpropagate(out, dq, dp), strict=True))

    return measure


derivative("backpropagate-galerkin-4-walker", back(walker, joints(4)), 1e-9)
derivative("backpropagate-bodies-4-walker", back(walker, la.Galerkin(order=4)), 1e-9)
derivative("backpropagate-midpoint-strung", back(strung, la.Midpoint()), 1e-9)
derivative("backpropagate-maximal-2-walker", back(walker, la.Maximal(order=2)), 1e-9)
derivative("backpropagate-maximal-2-smooth-cube", back(landing_cube, la.Maximal(order=2, smoothing=1e-3)), 1e-6)


def gradients(scene: Callable[[], Scene], integrator: Any, names: list[str]) -> Callable[[], Arrays]:
    """`adjoint` of a quadratic objective of all velocities."""

    def measure() -> Arrays:
        robot, q, v, options = scene()
        rng = np.random.default_rng(3)
        options = {key: value for key, value in options.items() if key != "controls"}
        steps = 15
        weights = rng.uniform(0.5, 1.5, size=(steps + 1, robot.nv))

        def objective(out: Any) -> tuple[Any, ...]:
            return 0.5 * float((weights * out.v**2).sum()), None, weights * out.v

        controls = rng.normal(size=(steps, robot.nu))
        options = {"q": q, "v": v, "dt": 0.01, "steps": steps, "controls": controls, **options}
        value, found = la.adjoint(robot, integrator, objective, ["q", "v", "controls", *names], **options)
        return {"value": np.array(value)} | {name.replace(":", "."): np.asarray(g) for name, g in found.items()}

    return measure


ADJOINTS = {
    "every_force": (
        every_force,
        ["gravity", "mass:l1", "com:l0", "inertia:l1", "position:j1", "rotation:j0", "stiffness:s", "damping:s"]
        + ["rest:s", "points:s", "stiffness:i", "stiffness:c", "rest:c", "points:c", "wrench:w", "stiffness:j0"]
        + ["friction:p", "stiffness:p", "damping:p", "origin:p", "points:p"],
    ),
    "strung_balls": (strung_balls, ["gravity", "mass:l0", "inertia:l1", "position:j1", "rotation:j1", "rest:s"]),
    "soft_limits": (soft_limits, ["lower:j0", "upper:j1", "limit_stiffness:j0", "limit_damping:j1"]),
    "curve": (curve, ["mass:l0", "stiffness:j0", "gravity"]),
}
for scene_name, (scene, names) in ADJOINTS.items():
    for name in ("bdf1", "bdf2", "sdirk2"):
        derivative(f"adjoint-{name}-{scene_name}", gradients(scene, reduced()[name], names), 1e-8)
for name in ("bdf1", "bdf2"):
    derivative(
        f"adjoint-{name}-geared", gradients(geared, reduced()[name], ["gravity", "mass:a", "stiffness:ja"]), 1e-9
    )


def by_parameters(
    scene: Callable[[], Scene], integrator: Any, names: list[str], dt: float = 0.01
) -> Callable[[], Arrays]:
    def measure() -> Arrays:
        robot, q, v, _ = scene()
        p = la.dynamics.mass_matrix(robot, q) @ v
        out = la.derivatives.parameter_jacobian(robot, integrator, q, p, None, dt, parameters=names)
        return {name.replace(":", ".").replace("/", "."): value for name, value in out.items()}

    return measure


CUBE = ["mass:cube", "friction:corner1", "restitution:corner1", "point:corner1", "gravity"]
ARM = ["mass:l1", "com:l0", "position:j1", "stiffness:j0", "damping:j1", "stiffness:s", "gravity"]
for order in (1, 2):
    method = la.Maximal(order=order, smoothing=1e-3)
    derivative(f"parameters-maximal-{order}-cube", by_parameters(lambda: landing_cube(0.3), method, CUBE), 1e-6)
    derivative(f"parameters-maximal-{order}-strung", by_parameters(strung, la.Maximal(order=order), ARM), 1e-6)
