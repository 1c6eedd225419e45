"""Short runs of every integrator whose numbers are kept in `data/recorded_runs.npz`.

    python -m tests.recorded_runs                # largest difference of every case from the record
    python -m tests.recorded_runs bdf cube       # of the cases with these words in their names
    python -m tests.recorded_runs --write        # make the record anew; with words: only those cases of it

Each case is an entry of `CASES`: a name, a function that gives named arrays, and how exactly they are expected again.
Runs are kept at steps 1, 10, 30 and 100 (or their last), together with how much a small change of gravity has grown by
then: round-off grows alike, so that is how far runs of the same method may differ.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np

import leastaction as la
from leastaction.mechanism import Box, Capsule, HeightField, Plane, Pose, Sphere

FILE = Path(__file__).parent / "data" / "recorded_runs.npz"
MOMENTS = (1, 10, 30, 100)
"""Steps whose states are kept."""
CHANGE = 1e-9
"""Change of gravity, relative to 9.81 m/s^2, whose effect is measured."""

KINDS = {"floats": np.float64, "counts": np.uint16}
"""Types of the numbers in the file."""

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """What is recorded under one name.

    Attributes:
        measure: gives the arrays; takes a change of gravity [m/s^2], shape (3,).
        tolerance: relative difference to expect without growth.
        slow: whether the test of it is.
        steady: iteration counts are the same to a few; False where round-off decides about them.
        steps: whether the rows of the arrays are states of a run.
    """

    measure: Callable[[np.ndarray], Arrays]
    tolerance: float = 1e-12
    slow: bool = False
    steady: bool = True
    steps: bool = False


CASES: dict[str, Case] = {}


def run(
    name: str, scene: Callable[[], tuple[Any, ...]], integrator: Any, dt: float = 0.01, steps: int = 100, **more: Any
) -> None:
    """Add a run to the cases; a scene gives (robot, q, v) and options of `simulate`."""
    settings = {key: more.pop(key) for key in ("tolerance", "slow", "steady") if key in more}

    def measure(change: np.ndarray) -> Arrays:
        robot, q, v, options = scene()
        if change.any():
            robot = robot.replace(gravity=tuple(np.array(robot.gravity) + change))
        method = integrator() if callable(integrator) else integrator
        out = la.simulate(robot, q, v, dt=dt, steps=steps, integrator=method, progress=False, **(options | more))
        rows = sorted({min(k, steps) for k in MOMENTS})
        fields = {"q": out.q[rows]} | {key: out.stored[key][rows] for key in ("p", "v") if key in out.stored}
        if "iterations" in out.stored:
            fields["iterations"] = np.asarray(out.stored["iterations"]).astype(np.uint16)
        return fields

    _add(name, Case(measure, **settings, steps=True))


def derivative(name: str, measure: Callable[[], Arrays], tolerance: float = 1e-10, slow: bool = False) -> None:
    """Add derivatives, or other plain arrays, to the cases."""
    _add(name, Case(lambda _: measure(), tolerance, slow))


def _add(name: str, case: Case) -> None:
    assert name not in CASES, name
    CASES[name] = case


# ------------------------------------------------------------------ scenes


def chain(kind: str, links: int = 2, *extras: Callable[[Any], None], **properties: Any) -> la.Mechanism:
    """Links on joints of one kind, at offsets that no axis passes through."""
    b = la.MechanismBuilder(f"{kind} chain")
    for k in range(links):
        b.body(f"l{k}", mass=1.0 + 0.3 * k, com=(0.05, 0.02, -0.3), inertia=(0.05, 0.06, 0.02))
        parent, position = ("world", (0, 0, 0)) if k == 0 else (f"l{k - 1}", (0.05, 0, -0.6))
        b.joint(f"j{k}", kind, parent, f"l{k}", position=position, **properties)
    for extra in extras:
        extra(b)
    return b.build()


def springs(b: Any) -> None:
    """Forces that every integrator knows."""
    b.spring("s", ("world", (0.5, 0.1, 0)), ("l1", (0, 0.1, -0.3)), stiffness=30.0, rest_length=0.5, damping=1.0)
    via = [("world", (1, 0, 0)), ("l0", (0.1, 0.1, -0.2)), ("l1", (0, 0, -0.3))]
    b.cable("c", via, stiffness=20.0, rest_length=0.3, damping=0.3)
    b.wrench("w", "l1", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), point=(0.1, 0, 0))
    b.wrench("wl", "l0", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6), frame="body")


def isotropic(b: Any) -> None:
    """An isotropic spring and a cable that may push."""
    b.spring("i", ("world", (0.2, 0.1, -0.5)), ("l1", (0, 0.1, -0.3)), stiffness=10.0, damping=0.5, isotropic=True)
    via = [("world", (-1, 0, 0)), ("l0", (0.1, 0.1, -0.2)), ("l1", (0, 0, -0.3))]
    b.cable("push", via, stiffness=20.0, rest_length=0.3, damping=0.3, clip=False)


def penalty(b: Any) -> None:
    """Points that a tilted plane pushes back."""
    points = [(0.1, 0.1, -0.6), (-0.1, 0.1, -0.6), (0, -0.1, -0.6)]
    law = {"stiffness": 200.0, "damping": 3.0, "friction": 0.4, "stiction": 0.5}
    b.penalty_contact("p", "l1", points, origin=(0, 0, -0.95), normal=(0, 0.6, 0.8), **law)


def drives(b: Any) -> None:
    """A thruster and a geared motor."""
    b.thruster("th", "l1", (0.1, 0.2, 0.3, 1, 2, 3))
    b.actuator("a0", b.build().velocity_names[0], gear=2.0)


def tail(b: Any) -> None:
    """A further link on the first one."""
    b.body("t", mass=0.5, com=(0, 0, -0.2), inertia=0.02)
    b.revolute("jt", "l0", "t", axis="x", position=(0.1, 0, -0.2))


def moving(robot: la.Mechanism, seed: int = 7, size: float = 0.4, **options: Any) -> tuple[Any, ...]:
    """A random state, loops closed."""
    rng = np.random.default_rng(seed)
    q = robot.integrate(robot.neutral(), size * rng.normal(size=robot.nv))
    v = 1.5 * rng.normal(size=robot.nv)
    if not robot.is_tree:
        q = la.dynamics.close_loops(robot, robot.integrate(robot.neutral(), 0.1 * size * rng.normal(size=robot.nv)))
        A = la.dynamics.loop_jacobian(robot, q)[1]
        v -= np.linalg.pinv(A) @ (A @ v)
    return robot, q, v, options


def waves(robot: la.Mechanism) -> Callable[[float], np.ndarray]:
    """Controls that change with time."""
    phases = np.arange(robot.nu)
    return lambda t: np.sin(7.0 * t + phases)


def home(name: str, **parameters: Any) -> tuple[Any, ...]:
    """A robot of the zoo where it starts."""
    robot = la.robots.get(name, **parameters)
    entry = next(e for e in la.robots.catalogue() if e.name == name)
    return robot, entry.home(robot), entry.home_velocity(robot), {}


def walker() -> tuple[Any, ...]:
    """A free trunk with two legs of two joints, a ball-jointed head, springs in joints, motors and their inertia."""
    b = la.MechanismBuilder("walker")
    b.body("trunk", mass=4.0, com=(0.02, 0, 0.1), inertia=(0.1, 0.12, 0.08))
    b.free("trunk", name="base")
    for side, y in (("left", 0.1), ("right", -0.1)):
        b.body(f"{side}_thigh", mass=1.0, com=(0, 0.01, -0.15), inertia=(0.02, 0.02, 0.005))
        b.revolute(f"{side}_hip", "trunk", f"{side}_thigh", axis="y", position=(0, y, 0), stiffness=5.0, damping=0.1)
        b.body(f"{side}_shin", mass=0.6, com=(0.01, 0, -0.15), inertia=(0.01, 0.01, 0.002))
        b.revolute(f"{side}_knee", f"{side}_thigh", f"{side}_shin", axis="y", position=(0, 0, -0.3), armature=0.01)
        b.actuator(f"{side}_hip_motor", f"{side}_hip", gear=2.0)
        b.actuator(f"{side}_knee_motor", f"{side}_knee")
    b.body("head", mass=0.8, com=(0, 0, 0.1), inertia=0.01)
    b.spherical("neck", "trunk", "head", position=(0, 0, 0.3), stiffness=4.0, damping=0.05)
    robot = b.build()
    return moving(robot, controls=waves(robot))


def strung(armature: float = 0.05) -> tuple[Any, ...]:
    """Hinges with springs and dampers in them, a spring, a cable, wrenches, a thruster and a motor."""
    elastic = {"stiffness": 2.0, "damping": 0.1, "rest": 0.2, "armature": armature}
    robot = chain("revolute", 3, springs, drives, axis="y", **elastic)
    return moving(robot, controls=waves(robot))


def strung_balls() -> tuple[Any, ...]:
    """The same on ball joints."""
    robot = chain("spherical", 2, springs, drives, stiffness=3.0, damping=0.2)
    return moving(robot, controls=waves(robot))


def universal() -> tuple[Any, ...]:
    return moving(chain("universal", 3))


def mixed() -> tuple[Any, ...]:
    """Joints of several kinds in one chain."""
    b = la.MechanismBuilder("mixed")
    kinds: Any = (("cylindrical", {"axis": "y"}), ("screw", {"axis": "x", "pitch": 0.2}), ("planar", {"axis": "y"}))
    parent = "world"
    for kind, properties in (*kinds, ("translational", {}), ("prismatic", {"axis": "x"})):
        b.body(kind, mass=1.0, com=(0.05, 0.02, -0.3), inertia=(0.05, 0.06, 0.02))
        b.joint(f"j_{kind}", kind, parent, kind, position=(0.05, 0, -0.3), stiffness=20.0, damping=0.5, **properties)
        parent = kind
    return moving(b.build())


def geared() -> tuple[Any, ...]:
    """A coupling between two joints."""
    b = la.MechanismBuilder("geared")
    b.body("a", mass=1.0, com=(0.1, 0, -0.3), inertia=0.05)
    b.revolute("ja", "world", "a", axis="y", stiffness=1.0)
    b.body("c", mass=0.8, com=(0, 0.1, -0.2), inertia=0.04)
    b.revolute("jc", "a", "c", axis="x", position=(0.1, 0, -0.5), damping=0.1)
    b.coupling("g", "jc", "ja", ratio=0.7, offset=0.1)
    return moving(b.build())


def loop(name: str, **parameters: Any) -> Callable[[], tuple[Any, ...]]:
    def scene() -> tuple[Any, ...]:
        robot, q, v, _ = home(name, **parameters)
        return robot, q, v, {"project": True}

    return scene


def zoo(name: str, **parameters: Any) -> Callable[[], tuple[Any, ...]]:
    return lambda: home(name, **parameters)


def thrown_cube(**surface: Any) -> Callable[[], tuple[Any, ...]]:
    def scene() -> tuple[Any, ...]:
        robot = la.robots.cube(friction=0.4, **surface)
        q = robot.normalize(np.array([0.0, 0.0, 0.45, 0.9, 0.2, 0.1, 0.3]))
        return robot, q, np.array([1.0, -2.0, 0.5, 1.5, 0.3, -1.0]), {}

    return scene


def dropped_a1() -> tuple[Any, ...]:
    """Held by springs in its joints, from 2 cm above the ground."""
    robot = la.robots.unitree_a1(ground=True)
    q = la.robots.home(robot)
    q[2] += 0.02
    stance = q[7:].copy()
    return robot, q, None, {"controller": lambda t, q, v: 40.0 * (stance - q[7:]) - 1.0 * v[6:]}


def pile() -> tuple[Any, ...]:
    """Boxes, a ball and a rod thrown onto each other."""
    b = la.MechanismBuilder("pile")
    shapes = (Box((0.3, 0.3, 0.2), friction=0.5), Sphere(0.12, friction=0.3), Box((0.2, 0.15, 0.1), friction=0.8))
    shapes = (*shapes, Capsule(0.06, 0.3, friction=0.4))
    q = []
    rng = np.random.default_rng(5)
    for k, shape in enumerate(shapes):
        b.body(f"b{k}", mass=(2.0, 1.0, 0.5, 0.8)[k], shapes=shape)
        b.free(f"b{k}")
        turn = rng.normal(size=4)
        q += [*rng.uniform(-0.05, 0.05, 2), 0.25 + 0.4 * k, *(turn / np.linalg.norm(turn))]
    b.add_shape("world", Plane(friction=0.6))
    v = np.tile([0.3, -0.5, 0.2, 0.0, 0.0, -1.0], len(shapes))
    return b.build(), np.array(q), v, {}


def on_hills(shape: Any = None) -> Callable[[], tuple[Any, ...]]:
    def scene() -> tuple[Any, ...]:
        x = np.linspace(-2, 2, 21)
        heights = 0.15 * np.sin(3 * x[:, None]) * np.cos(2 * x) + 0.1 * (x[:, None] ** 2 + x**2)
        b = la.MechanismBuilder("tossed")
        b.body("body", mass=1.0, shapes=shape or Box((0.3, 0.2, 0.15)))
        b.free("body")
        b.add_shape("world", HeightField(heights, 0.2, friction=0.6))
        robot = b.build()
        q = robot.normalize(np.array([0.2, -0.3, 0.35, 0.8, 0.3, -0.2, 0.4]))
        return robot, q, np.array([1.0, -0.5, 0.7, 0.5, 0.2, -0.5]), {}

    return scene


def limited() -> tuple[Any, ...]:
    """Hinges that run against rigid limits."""
    return chain("revolute", 2, axis="y", limits=(-0.3, 0.25)), np.array([0.2, -0.25]), np.array([1.0, -2.0]), {}


def dry() -> tuple[Any, ...]:
    """Dry friction in hinges, which stop one after the other."""
    return chain("revolute", 2, axis="y", friction=1.5), np.array([0.5, -0.2]), np.array([1.0, -1.0]), {}


def rough_loop() -> tuple[Any, ...]:
    """A loop with dry friction, limits and a spring in its joints."""
    b = la.MechanismBuilder.from_mechanism(la.robots.three_link_loop())
    robot = b.build()
    b.spring("s", ("world", (0.1, 0.0, 0.5)), robot.joints[0].child, stiffness=20.0, rest_length=0.2, damping=0.5)
    robot = b.build()
    return robot, la.robots.home("three_link_loop"), None, {"project": True}


def block(angle: float = 0.3, restitution: float = 0.0, height: float = 0.0) -> Callable[[], tuple[Any, ...]]:
    """A box with four contact points on a slope."""

    def scene() -> tuple[Any, ...]:
        b = la.MechanismBuilder("block")
        b.body("box", mass=2.0, inertia=(0.01, 0.02, 0.025))
        b.free("box")
        for k, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
            b.contact(f"foot{k}", "box", (0.1 * x, 0.1 * y, -0.05), friction=0.2, restitution=restitution)
        turn = (math.cos(angle / 2), 0.0, math.sin(angle / 2), 0.0)
        b.add_shape("world", Plane(pose=Pose((0, 0, 0), turn)))
        normal = np.array([math.sin(angle), 0.0, math.cos(angle)])
        return b.build(), np.array([*((0.05 + height) * normal), *turn]), np.array([0, 0, 0, 0.5, 0.1, 0]), {}

    return scene


def soft_limits() -> tuple[Any, ...]:
    stop = {"lower": -0.1, "upper": 0.1, "limit_stiffness": 50.0, "limit_damping": 0.1}
    return moving(chain("revolute", 2, axis="y", **stop))


def every_force() -> tuple[Any, ...]:
    robot = chain("revolute", 2, springs, isotropic, penalty, drives, axis="x", stiffness=1.0, damping=0.1)
    return moving(robot, controls=waves(robot))


def penalties_on_balls() -> tuple[Any, ...]:
    return moving(chain("spherical", 2, penalty, isotropic))


def curve() -> tuple[Any, ...]:
    angles = 2.0 * np.pi * np.arange(6) / 6
    ring = [Pose.from_axis_angle("z", a, (np.cos(a), np.sin(a), 0.2 * np.sin(2 * a))) for a in angles]
    robot = chain("spline_curve", 1, tail, frames=ring, damping=0.1, stiffness=0.5)
    return robot, np.array([2.9, 0.3]), np.array([3.0, -1.0]), {}


def surface() -> tuple[Any, ...]:
    sheet = 0.2 * np.random.default_rng(0).normal(size=(6, 4, 4))
    sheet[0] += np.linspace(-1, 1, 4)[:, None]
    sheet[1] += np.linspace(-1, 1, 4)
    robot = chain("spline_surface", 1, tail, controls=sheet)
    return robot, np.array([0.4, 0.6, 0.3]), np.array([0.3, -0.4, 1.0]), {}


def wheel() -> tuple[Any, ...]:
    """A disc that rolls, with an arm on it."""
    b = la.MechanismBuilder("wheel")
    b.body("disc", mass=2.0, inertia=(0.1, 0.2, 0.1))
    b.free("disc", name="f")
    b.rolling("r", "disc", radius=0.3, axis="y")
    b.body("arm", mass=0.5, com=(0, 0, -0.2), inertia=0.02)
    b.revolute("j", "disc", "arm", axis="y", position=(0.05, 0.1, 0.02), stiffness=1.0, damping=0.05)
    robot = b.build()
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[2], q[-1], v[-1] = 0.3, 0.4, 1.0
    return robot, q, v, {"project": True}


def driven_chain() -> tuple[Any, ...]:
    return la.robots.pendulum(links=3), np.array([0.3, 0.0, 0.2]), np.array([0.0, 1.0, 0.0]), {}


def carousel() -> tuple[Any, ...]:
    b = la.MechanismBuilder("carousel")
    b.body("disc", mass=1.0, inertia=0.1)
    b.revolute("axle", "world", "disc", axis="z")
    b.body("rod", mass=1.0, com=(0, 0, -0.3), inertia=(0.05, 0.05, 0.01))
    b.spherical("ball", "disc", "rod", position=(0.5, 0, 0))
    return b.build(), None, np.array([0.0, 1.0, 7.0, 0.5]), {}


@numba.njit
def drag(x, xd, f):
    """Quadratic drag, the second point pulled to the first."""
    for k in range(3):
        f[0, k] = -0.3 * xd[0, k] * (1.0 + xd[0, k] * xd[0, k]) - 2.0 * (x[0, k] - x[1, k])
        f[1, k] = -0.1 * xd[1, k] + 2.0 * (x[0, k] - x[1, k])


def dragged() -> la.forces.PointForce:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return la.forces.PointForce("drag", (("l1", (0.1, 0, -0.2)), ("l0", (0, 0.1, 0))), drag)


# ------------------------------------------------------------------ Galerkin and Midpoint

for order in (2, 4, 6):
    for solver in ("recursive", "sparse", "dense", "simplified", *(("quasi",) if order == 2 else ())):
        run(f"galerkin-{order}-{solver}-walker", walker, la.Galerkin(order=order, solver=solver))
    run(f"galerkin-{order}-strung", strung, la.Galerkin(order=order))
    run(f"galerkin-{order}-heavy_top", zoo("heavy_top"), la.Galerkin(order=order), dt=2e-3)
    run(f"galerkin-{order}-four_bar_chain", loop("four_bar_chain"), la.Galerkin(order=order))
run("galerkin-2-quasi-strung", strung, la.Galerkin(order=2, solver="quasi"))
run("galerkin-4-simplified-strung_balls", strung_balls, la.Galerkin(order=4, solver="simplified"))
run("galerkin-4-strung_balls", strung_balls, la.Galerkin(order=4))
run("galerkin-4-mixed", mixed, la.Galerkin(order=4))
run("galerkin-4-universal", universal, la.Galerkin(order=4))
run("galerkin-2-atlas", lambda: moving(la.robots.atlas(), size=0.2), la.Galerkin(order=2), dt=5e-3, steps=40)
run("galerkin-4-free_body", zoo("free_body"), la.Galerkin(order=4))
run("galerkin-2-bricard", loop("bricard"), la.Galerkin(order=2))
run("galerkin-4-andrews", loop("andrews_squeezer"), la.Galerkin(order=4), dt=1e-4, steps=30)
run("galerkin-4-geared", geared, la.Galerkin(order=4))
run("galerkin-2-wheel", wheel, la.Galerkin(order=2))
run("galerkin-2-governor", loop("flyball_governor"), la.Galerkin(order=2), dt=1e-3)
run("galerkin-2-minitaur", lambda: moving(la.robots.minitaur()), la.Galerkin(order=2), dt=5e-3, steps=30)
for name, scene in (("walker", walker), ("strung", strung), ("strung_balls", strung_balls), ("mixed", mixed)):
    run(f"midpoint-{name}", scene, la.Midpoint())

# ------------------------------------------------------------------ Maximal

for order in (1, 2, 4, 6):
    run(f"maximal-{order}-walker", walker, la.Maximal(order=order))
    run(f"maximal-{order}-strung", strung, la.Maximal(order=order))
    run(f"maximal-{order}-four_bar_chain", loop("four_bar_chain"), la.Maximal(order=order))
run("maximal-2-strung_balls", strung_balls, la.Maximal(order=2))
run("maximal-2-heavy_top", zoo("heavy_top"), la.Maximal(order=2), dt=2e-3)
run("maximal-2-mixed", mixed, la.Maximal(order=2))
run("maximal-2-bricard", loop("bricard"), la.Maximal(order=2))
run("maximal-2-geared", geared, la.Maximal(order=2))
for order in (1, 2):
    for friction in ("cone", "linear"):
        method = la.Maximal(order=order, friction=friction)
        run(f"maximal-{order}-{friction}-cube", thrown_cube(), method, tolerance=1e-10)
    method = la.Maximal(order=order)
    run(f"maximal-{order}-bouncing_cube", thrown_cube(restitution=0.5), method, tolerance=1e-10)
    run(f"maximal-{order}-smooth-cube", thrown_cube(), la.Maximal(order=order, smoothing=1e-3), tolerance=1e-10)
    run(f"maximal-{order}-a1", dropped_a1, method, dt=5e-3, steps=60, tolerance=1e-10)
    run(f"maximal-{order}-pile", pile, method, steps=60, tolerance=1e-10)
    run(f"maximal-{order}-hills", on_hills(), method, dt=5e-3, tolerance=1e-10)
    run(f"maximal-{order}-limits", limited, method, tolerance=1e-10)
    run(f"maximal-{order}-dry_friction", dry, method, tolerance=1e-10)
run("maximal-2-linear-pile", pile, la.Maximal(friction="linear", n_directions=6), steps=40, tolerance=1e-10)
run("maximal-2-smooth-hills", on_hills(Sphere(0.1)), la.Maximal(smoothing=1e-4), dt=5e-3, tolerance=1e-10)
run("maximal-2-cold-cube", thrown_cube(), la.Maximal(warm_start=False), tolerance=1e-10)
run("maximal-1-sphere_chain", zoo("sphere_chain"), la.Maximal(order=1), steps=60, tolerance=1e-10)
run("maximal-2-rough_loop", rough_loop, la.Maximal(), tolerance=1e-10)

# ------------------------------------------------------------------ BDF, SDIRK2 and LinearlyImplicitEuler

EXACT = 1e-12
"""Newton tolerance of the implicit runs, said here so that another default does not change them."""


def reduced(chart: str = "euler", **more: Any) -> dict[str, Any]:
    return {
        "bdf1": la.BDF(order=1, tolerance=EXACT, chart=chart, **more),
        "bdf2": la.BDF(order=2, tolerance=EXACT, chart=chart, **more),
        "sdirk2": la.SDIRK2(tolerance=EXACT, chart=chart, **more),
        "linear_euler": la.LinearlyImplicitEuler(chart=chart, **more),
    }


TREES = {
    "walker": walker,
    "strung_balls": strung_balls,
    "every_force": every_force,
    "penalties_on_balls": penalties_on_balls,
    "soft_limits": soft_limits,
    "mixed": mixed,
    "curve": curve,
    "surface": surface,
}
for scene_name, scene in TREES.items():
    for name, method in reduced().items():
        run(f"{name}-{scene_name}", scene, method, dt=5e-3, steps=30 if scene_name == "surface" else 100)
for name, method in reduced("exponential").items():
    run(f"{name}-exponential-walker", walker, method)
for name in ("bdf1", "bdf2", "linear_euler"):  # SDIRK2 is about to treat loops otherwise
    run(f"{name}-three_link_loop", loop("three_link_loop"), reduced()[name], dt=5e-3)
    run(f"{name}-bricard", loop("bricard"), reduced()[name], dt=5e-3)
    run(f"{name}-geared", geared, reduced()[name], dt=5e-3)
run("bdf2-wheel", wheel, reduced()["bdf2"], dt=5e-3)
for name in ("bdf1", "bdf2", "sdirk2", "linear_euler"):
    run(f"{name}-user_force", universal, lambda name=name: reduced(forces=(dragged(),))[name], dt=5e-3)


def swing(order: int) -> Callable[[], Any]:
    motion = la.redmax.PrescribedMotion("joint2", math.cos, math.sin)
    return lambda: la.BDF(order=order, tolerance=EXACT, constraints=(motion,))


def spin(order: int, chart: str) -> Callable[[], Any]:
    motion = la.redmax.PrescribedMotion("axle", lambda t: 6.0 * t, lambda t: 3.0 * t * t)
    return lambda: la.BDF(order=order, tolerance=EXACT, chart=chart, constraints=(motion,))


for order in (1, 2):
    run(f"bdf{order}-driven-pendulum", driven_chain, swing(order), dt=5e-3)
    run(f"bdf{order}-driven-carousel", carousel, spin(order, "euler"), dt=3e-3)
run("bdf2-driven-exponential-carousel", carousel, spin(2, "exponential"), dt=3e-3)

# ------------------------------------------------------------------ linearly implicit Euler with constraints

QP = 1e-9
"""Contacts and limits come from iterative solvers of quadratic programs."""

run("constrained_euler-strung", strung, la.ConstrainedEuler(), dt=5e-3)
run("constrained_euler-walker", walker, la.ConstrainedEuler(), dt=5e-3, steps=50)
run("constrained_euler-every_force", every_force, la.ConstrainedEuler(), dt=5e-3)
run("constrained_euler-pcg-strung", strung, la.ConstrainedEuler(solver="pcg"), dt=5e-3, tolerance=QP)
run("constrained_euler-three_link_loop", loop("three_link_loop"), la.ConstrainedEuler(), dt=5e-3)
run(
    "constrained_euler-projected-three_link_loop",
    loop("three_link_loop"),
    la.ConstrainedEuler(stabilization="post"),
    dt=5e-3,
)
run("constrained_euler-geared", geared, la.ConstrainedEuler(), dt=5e-3)
run("constrained_euler-eliminated-geared", geared, la.ConstrainedEuler(couplings="eliminate"), dt=5e-3)
run("constrained_euler-limits", limited, la.ConstrainedEuler(), dt=5e-3, tolerance=QP)
run("constrained_euler-bouncing-block", block(0.0, 0.5, 0.02), la.ConstrainedEuler(), dt=2e-3, tolerance=QP)
run("constrained_euler-single_qp-block", block(), la.ConstrainedEuler(friction="single_qp"), dt=2e-3, tolerance=QP)
run(
    "constrained_euler-driven-pendulum",
    driven_chain,
    lambda: la.ConstrainedEuler((la.redmax.PrescribedMotion("joint2", lambda t: -math.sin(t)),)),
    dt=5e-3,
)
run("maximal_euler-pendulum", zoo("pendulum", links=3), la.MaximalEuler(), dt=2e-3)
run("maximal_euler-strung", lambda: strung(armature=0.0), la.MaximalEuler(), dt=2e-3, steps=50)
run("maximal_euler-block", block(), la.MaximalEuler(friction="single_qp"), dt=2e-3, steps=30, tolerance=QP)


def bearings(joints: tuple[str, ...], friction: float = 0.3) -> tuple[Any, ...]:
    return tuple(la.redmax.Bearing(name, friction, radius=0.05) for name in joints)


def hanging() -> tuple[Any, ...]:
    return la.robots.pendulum(links=4), np.array([0.9, 0.3, -0.2, 0.4]), None, {}


JOINTS = tuple(f"joint{k}" for k in range(1, 5))
run("staggered-block", block(), la.StaggeredProjections(), dt=2e-3, steps=50, tolerance=1e-6, steady=False)
run("staggered-limits", limited, la.StaggeredProjections(), dt=5e-3, steps=50, tolerance=1e-6, steady=False)
run("staggered-dry_friction", dry, la.StaggeredProjections(), dt=5e-3, steps=50, tolerance=1e-6, steady=False)
run(
    "staggered-bisp-pendulum",
    hanging,
    lambda: la.StaggeredProjections(bearings=bearings(JOINTS)),
    dt=1e-3,
    steps=50,
    tolerance=1e-6,
    steady=False,
)
run(
    "staggered-sp-pendulum",
    hanging,
    lambda: la.StaggeredProjections(bearings(JOINTS), "sp", tolerance=1e-5, max_iterations=5000),
    dt=1e-3,
    steps=10,
    tolerance=1e-4,
    steady=False,
    slow=True,
)

# ------------------------------------------------------------------ explicit methods and collocation

PLAIN = {
    "runge_kutta_4": la.RungeKutta(order=4),
    "heun": la.Heun(),
    "explicit_euler": la.ExplicitEuler(),
    "semi_implicit_euler": la.SemiImplicitEuler(),
    "hermite_simpson": la.HermiteSimpson(),
    "implicit_trapezoidal": la.ImplicitTrapezoidal(),
}
for name, method in PLAIN.items():
    for scene_name, scene in (("walker", walker), ("strung_balls", strung_balls)):
        run(f"{name}-{scene_name}", scene, method, dt=5e-3)
    if not name.startswith(("hermite", "implicit")):
        run(f"{name}-every_force", every_force, method, dt=2e-3)
        run(f"{name}-soft_limits", soft_limits, method, dt=2e-3)
run("dop853-walker", walker, la.DOP853(), steps=10, tolerance=1e-10)
run("dop853-every_force", every_force, la.DOP853(), steps=10, tolerance=1e-10)

# ------------------------------------------------------------------ derivatives


def linearized(scene: Callable[[], tuple[Any, ...]], integrator: Any, dt: float = 0.01) -> Callable[[], Arrays]:
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


def landing_cube() -> tuple[Any, ...]:
    """A cube that hits the ground with a corner, 1 cm below it."""
    robot = la.robots.cube(friction=0.4)
    q = robot.normalize(np.array([0.0, 0.0, 0.0, 0.95, 0.3, 0.02, 0.1]))
    q[2] = 0.01 + 0.25 * np.abs(la.dynamics.body_poses(robot, q)[0, 2, :3]).sum()
    return robot, q, np.array([0.3, -0.4, 0.5, 0.5, 0.3, -2.0]), {}


LINEARIZED = {
    "galerkin-2-walker": (walker, la.Galerkin(order=2)),
    "galerkin-4-walker": (walker, la.Galerkin(order=4)),
    "galerkin-4-strung_balls": (strung_balls, la.Galerkin(order=4)),
    "galerkin-2-geared": (geared, la.Galerkin(order=2)),
    "galerkin-4-four_bar_chain": (loop("four_bar_chain"), la.Galerkin(order=4)),
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
    derivative(f"linearize-{name}", linearized(scene, method), tolerance=1e-7 if "cube" in name else 1e-10)


def back(scene: Callable[[], tuple[Any, ...]], integrator: Any, steps: int = 20) -> Callable[[], Arrays]:
    """`backpropagate` of a random objective."""

    def measure() -> Arrays:
        robot, q, v, options = scene()
        out = la.simulate(robot, q, v, dt=0.01, steps=steps, integrator=integrator, progress=False, **options)
        dq, dp = np.random.default_rng(1).normal(size=(2, steps + 1, robot.nv))
        return dict(zip(("q", "p", "u"), la.derivatives.backpropagate(out, dq, dp), strict=True))

    return measure


derivative("backpropagate-galerkin-4-walker", back(walker, la.Galerkin(order=4)))
derivative("backpropagate-midpoint-strung", back(strung, la.Midpoint()))
derivative("backpropagate-maximal-2-walker", back(walker, la.Maximal(order=2)))
derivative("backpropagate-maximal-2-smooth-cube", back(landing_cube, la.Maximal(order=2, smoothing=1e-3)), 1e-6)


def gradients(scene: Callable[[], tuple[Any, ...]], integrator: Any, names: list[str]) -> Callable[[], Arrays]:
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
        derivative(f"adjoint-{name}-{scene_name}", gradients(scene, reduced()[name], names), 1e-9)
for name in ("bdf1", "bdf2"):
    derivative(
        f"adjoint-{name}-geared", gradients(geared, reduced()[name], ["gravity", "mass:a", "stiffness:ja"]), 1e-9
    )


def by_parameters(
    scene: Callable[[], tuple[Any, ...]], integrator: Any, names: list[str], dt: float = 0.01
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
    derivative(f"parameters-maximal-{order}-cube", by_parameters(landing_cube, method, CUBE), 1e-6)
    derivative(f"parameters-maximal-{order}-strung", by_parameters(strung, la.Maximal(order=order), ARM), 1e-6)


# ------------------------------------------------------------------ writing and comparing


def measured(name: str, change: float = 0.0) -> Arrays:
    """The arrays of a case, gravity changed by a share of 9.81 m/s^2."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what an integrator leaves out of a scene is no matter here
        return CASES[name].measure(9.81 * change * np.array([0.6, -0.3, 0.7]))


def differences(new: Arrays, old: Arrays) -> np.ndarray:
    """Largest difference relative to the size of each field, by recorded step; one number for plain arrays."""
    rows = []
    for key, values in old.items():
        if key in ("growth", "iterations"):
            continue
        assert new[key].shape == values.shape, f"{key}: shape {new[key].shape}, recorded {values.shape}"
        scale = float(np.abs(values).max(initial=0.0)) or 1.0
        apart = np.where(np.isfinite(new[key]), np.abs(new[key] - values), np.inf) / scale
        rows.append(
            apart.reshape(len(values), -1).max(axis=1, initial=0.0) if "growth" in old else apart.max(initial=0.0)
        )
    return np.max(rows, axis=0)


def recorded() -> dict[str, Arrays]:
    """The record: case, field, numbers."""
    out: dict[str, Arrays] = {}
    with np.load(FILE) as file:
        numbers = {kind: file[kind] for kind in KINDS}
        layout = json.loads(str(file["layout"]))
    at = dict.fromkeys(KINDS, 0)
    for name, field, kind, shape in layout:
        first = at[kind]
        at[kind] += math.prod(shape)
        out.setdefault(name, {})[field] = numbers[kind][first : at[kind]].reshape(shape)
    return out


def _save(record: dict[str, Arrays]) -> None:
    """All numbers in one array of each kind: a file of many small arrays would be mostly headers."""
    layout: list[Any] = []
    numbers: dict[str, list[np.ndarray]] = {kind: [] for kind in KINDS}
    for name in CASES:
        for field, values in record.get(name, {}).items():
            kind = "counts" if field == "iterations" else "floats"
            layout.append((name, field, kind, values.shape))
            numbers[kind].append(values.ravel())
    arrays: Any = {kind: np.concatenate(numbers[kind]).astype(KINDS[kind]) for kind in KINDS}
    FILE.parent.mkdir(exist_ok=True)
    np.savez_compressed(FILE, layout=np.array(json.dumps(layout)), **arrays)


def allowed(name: str, old: Arrays) -> Any:
    """Tolerance by recorded step: that of the case, grown as a change of gravity grows."""
    return CASES[name].tolerance * np.maximum(1.0, old.get("growth", np.zeros(())))


def _write(names: list[str]) -> None:
    record = recorded() if FILE.exists() else {}
    for name in names:
        new = measured(name)
        if CASES[name].steps:
            probe = {**new, "growth": np.zeros(len(new["q"]))}
            new["growth"] = differences(measured(name, CHANGE), probe) / CHANGE
        record[name] = new
        print(f"{name:45s} growth {np.array2string(np.asarray(new.get('growth', 0.0)), precision=1)}", flush=True)
    _save(record)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only cases with one of these in their names")
    parser.add_argument("--write", action="store_true", help="record instead of comparing")
    parser.add_argument("--list", action="store_true", help="only name the cases")
    options = parser.parse_args()
    names = [name for name in CASES if not options.words or any(word in name for word in options.words)]
    if options.list:
        print("\n".join(names))
    elif options.write:
        _write(names)
    else:
        record = recorded()
        for name in names:
            apart, bound = differences(measured(name), record[name]), allowed(name, record[name])
            verdict = "" if np.all(apart <= bound) else "  <-- differs"
            print(f"{name:45s} {np.max(apart):.1e} of {np.max(bound):.1e}{verdict}", flush=True)


if __name__ == "__main__":
    main()
