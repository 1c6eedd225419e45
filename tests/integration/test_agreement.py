"""One mechanism, three ways to write its motion: `minimal/`, `maximal/` and `redmax/` meet as dt goes to zero.

Of any two integrators the difference at the end of a run shrinks with the order of the coarser one. A reference of
high order in joint coordinates (of `minimal/`) tells all of them at once; that it is right is checked by forward
dynamics, whose oracle is Pinocchio, or, where loops leave no forward dynamics, by the energy.
"""

import functools
import itertools

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Pose, joints

DURATION = 0.3
STEPS = (60, 120, 240)
COARSE = (15, 30, 60)
"""For order 4, which would else be exact to round-off."""
METHODS = {
    "Galerkin 2": (la.Galerkin(order=2), 2),
    "Galerkin 4": (la.Galerkin(order=4), 4),
    "Maximal": (la.Maximal(), 2),
    "BDF1": (la.BDF(order=1), 1),
    "BDF2": (la.BDF(order=2), 2),
    "SDIRK2": (la.SDIRK2(), 2),
}
LOOPS = ("four-bar linkage", "slider-crank", "gears")
REFERENCE = la.Galerkin(order=4)
REFERENCE_STEPS = 1200


def link(b, name, parent, kind, position=(0.05, 0.0, -0.5), mass=1.0, **joint):
    """A link that no axis of symmetry makes easy."""
    b.body(name, mass=mass, com=(0.05, 0.02, -0.25), inertia=(0.05, 0.06, 0.02))
    b.joint(f"j_{name}", kind, parent, name, position=(0, 0, 0) if parent == "world" else position, **joint)


def chain(*kinds, **joint):
    b = la.MechanismBuilder("chain")
    for k, kind in enumerate(kinds):
        kind, axis = kind if isinstance(kind, tuple) else (kind, None)
        link(b, f"l{k}", f"l{k - 1}" if k else "world", kind, axis=axis, mass=1.0 + 0.2 * k, **joint)
    return b


def branching():
    b = la.MechanismBuilder("tree")
    link(b, "trunk", "world", "revolute", axis="y")
    link(b, "left", "trunk", "revolute", (0.1, 0.2, -0.5), axis="x")
    link(b, "right", "trunk", "revolute", (0.1, -0.2, -0.5), axis="y", mass=0.7)
    link(b, "toe", "left", "revolute", axis="z", mass=0.5)
    return b.build()


def floating():
    b = la.MechanismBuilder("floating base")
    link(b, "base", "world", "free", mass=3.0)
    link(b, "thigh", "base", "revolute", axis="x")
    link(b, "arm", "base", "universal", (0.0, 0.2, 0.1), mass=0.6)
    return b.build()


def screw_on_plane():
    b = la.MechanismBuilder("screw on a plane")
    link(b, "sled", "world", "planar", axis="y")
    link(b, "nut", "sled", "screw", axis="x", pitch=0.3)
    return b.build()


def with_point_springs():
    b = chain(("revolute", "y"), ("revolute", "x"), "spherical")
    ends = ("world", (0.6, 0.2, 0.1)), ("l1", (0.0, 0.1, -0.4))
    b.spring("spring", *ends, stiffness=60.0, rest_length=0.3, damping=2.0)
    b.cable(
        "cable",
        [("world", (-0.5, 0.3, 0.2)), ("l0", (0.1, 0.1, -0.2)), ("l2", (0.0, 0.05, -0.3))],
        stiffness=40.0,
        rest_length=0.5,
        damping=0.5,
    )
    return b.build()


def gears():
    b = chain(("revolute", "y"), ("revolute", "y"), ("revolute", "x"))
    b.coupling("gear", "j_l1", "j_l0", ratio=-0.7, offset=0.2)
    return b.build()


def with_motors_and_wrench():
    b = chain(("revolute", "y"), ("prismatic", "x"), ("revolute", "z"), armature=0.05)
    b.wrench("wind", "l2", (0.1, 0.0, 0.2, 1.0, -0.5, 0.3), point=(0.1, 0.0, -0.2))
    return b.build()


def slider_crank():
    """A loop whose equations bend, unlike those of a parallelogram."""
    b = la.MechanismBuilder("slider-crank")
    b.body("slider", mass=1.0, com=(0, 0, 0.05), inertia=0.02)
    b.body("rod", mass=0.5, com=(0.3, 0, 0), inertia=(0.001, 0.02, 0.02))
    b.body("crank", mass=0.7, com=(0.1, 0, 0), inertia=(0.001, 0.01, 0.01))
    b.prismatic("rail", "world", "slider", axis="x", position=(1.9, 0, 0))
    b.revolute("pin", "slider", "rod", axis="y", pose=Pose.from_axis_angle("y", 0.2))
    b.revolute("axle", "world", "crank", axis="y", pose=Pose.from_axis_angle("y", 2.5, (3.0, 0, 0)))
    parts = (joints.prismatic("y"), joints.spherical())
    knee = {"position": (0.3, 0, 0), "child_pose": Pose((-0.8, 0, 0)), "loop": True}
    b.joint("knee", "composite", "crank", "rod", parts=parts, **knee)
    return b.build()


MECHANISMS = {
    "hinges": lambda: chain(("revolute", "y"), ("revolute", "x"), ("revolute", (0.6, 0.0, 0.8))).build(),
    "branching": branching,
    "slider and pendulum": lambda: chain(("prismatic", "x"), ("revolute", "y"), ("prismatic", "z")).build(),
    "balls": lambda: chain("spherical", "spherical").build(),
    "universal joints": lambda: chain("universal", "universal").build(),
    "floating base": floating,
    "screw on a plane": screw_on_plane,
    "cylindrical and translational": lambda: chain(("cylindrical", "y"), "translational").build(),
    "joint springs and dampers": lambda: chain(
        ("revolute", "y"), "spherical", ("revolute", "x"), stiffness=8.0, damping=0.3
    ).build(),
    "springs and cable": with_point_springs,
    "armatures and wrench": with_motors_and_wrench,
    "four-bar linkage": lambda: la.robots.four_bar(),
    "slider-crank": slider_crank,
    "gears": gears,
}


def start(robot, seed=5):
    """A state in motion; loops and couplings hold."""
    rng = np.random.default_rng(seed)
    q = robot.integrate(robot.neutral(), 0.4 * rng.normal(size=robot.nv))
    v = 1.2 * rng.normal(size=robot.nv)
    if not robot.is_tree:
        home = la.robots.home(robot) if robot.name == "four_bar" else q
        home = robot.neutral() if robot.name == "slider-crank" else home
        q = la.dynamics.close_loops(robot, home)
        A = la.dynamics.loop_jacobian(robot, q)[1]
        v -= np.linalg.pinv(A) @ (A @ v)
    return q, v


def simulate(robot, integrator, steps, state):
    return la.simulate(robot, *state, dt=DURATION / steps, steps=steps, integrator=integrator)


@functools.cache
def reference(name):
    robot = MECHANISMS[name]()
    state = start(robot)
    run = simulate(robot, REFERENCE, REFERENCE_STEPS, state)
    return robot, state, (run.q[-1], run.v[-1])


def distance(robot, one, two):
    return np.abs(np.concatenate([robot.difference(one[0], two[0]), one[1] - two[1]])).max()


@pytest.mark.parametrize("name", MECHANISMS)
def test_formulations_agree(name):
    """By slope over three steps: the error falls with the order of the method; so does any difference of two."""
    robot, state, end = reference(name)
    ends = {label: [] for label in METHODS}
    orders = {label: order for label, (_, order) in METHODS.items()}
    for label, (method, _) in METHODS.items():
        order = orders[label]
        for n in COARSE if order == 4 else STEPS:
            run = simulate(robot, method, n, state)
            ends[label].append((run.q[-1], run.v[-1]))
        errors = np.array([distance(robot, end, x) for x in ends[label]])
        slopes = np.log2(errors[:-1] / errors[1:])
        assert slopes == pytest.approx(order, abs=0.15), label
    for one, two in itertools.combinations(METHODS, 2):
        order = min(orders[one], orders[two])
        apart = [distance(robot, *pair) for pair in zip(ends[one], ends[two], strict=True)]
        assert np.log2(apart[1] / apart[2]) > order - 0.15, (one, two)


@pytest.mark.parametrize("name", [n for n in MECHANISMS if n not in LOOPS])
def test_the_reference_is_the_motion_of_forward_dynamics(name):
    """Explicit Runge-Kutta steps of forward dynamics, which Pinocchio checks elsewhere, end in the same state."""
    robot, state, end = reference(name)
    run = simulate(robot, la.RungeKutta(order=4), 1200, state)
    assert distance(robot, end, (run.q[-1], run.v[-1])) < 1e-8


@pytest.mark.parametrize("name", LOOPS)
def test_the_reference_keeps_energy_and_constraints(name):
    """A loop or gear does no work: one degree of freedom is left (two with the gears' third link)."""
    robot, state, end = reference(name)
    energy = la.dynamics.kinetic_energy(robot, *state) + la.dynamics.potential_energy(robot, state[0])
    last = la.dynamics.kinetic_energy(robot, *end) + la.dynamics.potential_energy(robot, end[0])
    assert last == pytest.approx(energy, abs=1e-8)
    h, A = la.dynamics.loop_jacobian(robot, end[0])
    assert np.abs(h).max() < 1e-12
    assert np.abs(A @ end[1]).max() < 1e-10
