"""Derivatives of a step with contacts of all sorts between bodies, by states, controls and all parameters."""

from dataclasses import replace

import numpy as np
import pytest

import leastaction as la
from benchmarks.corpus.gradients import DT, LANDINGS, STEPS, checked, grasp
from leastaction.derivatives import reach
from leastaction.mechanism import Box, Capsule, Cylinder, MechanismBuilder, Plane, Pose, Sphere
from tests.derivatives.checks import assert_gradient, assert_linearized, assert_parameters
from tests.maximal.scenes import cubes, placed


def pile():
    """A box with a capsule on a hinge on the ground, a ball and a cylinder on a hinge; all nearly touch and slide."""
    b = MechanismBuilder("pile")
    b.body("base", mass=1.2, com=(0.01, 0, 0), inertia=(0.02, 0.03, 0.04), shapes=Box((0.4, 0.3, 0.2), name="skin"))
    b.free("base")
    b.body("leg", mass=0.4, inertia=(0.004, 0.004, 0.001), com=(0.0, 0, -0.1))
    b.add_shape("leg", Capsule(0.04, 0.2, name="skin", friction=0.7, pose=Pose((0, 0, -0.1))))
    b.revolute("hip", "base", "leg", axis="y", position=(0.25, 0, 0.12), damping=0.1, stiffness=3.0)
    b.body("ball", mass=0.3, shapes=Sphere(0.08, name="skin", friction=0.6))
    b.free("ball")
    b.body("wheel", mass=0.2, inertia=(0.001, 0.002, 0.001))
    wheel = Pose.from_axis_angle((1, 0, 0), np.pi / 2)
    b.add_shape("wheel", Cylinder(0.05, 0.04, name="rim", pose=wheel))
    b.revolute("axle", "base", "wheel", axis="y", position=(-0.3, 0, -0.05))
    b.actuator("knee", "hip")
    b.add_shape("world", Plane(friction=0.4, name="floor"))
    robot = b.build()
    q = robot.neutral()
    for name, value in (("base_free.z", 0.1015), ("hip", -0.47), ("ball_free.x", 0.02), ("ball_free.z", 0.2825)):
        q[robot.coordinate_names.index(name)] = value
    v = np.array([0.1, 0.05, 0.3, 0.4, 0.2, -0.1, 0.2, 1.0, 0.3, -0.5, 0.2, 0.3, 0.1, -0.6])
    return robot, q, la.dynamics.mass_matrix(robot, q) @ v, np.full(robot.nu, 0.5)


NAMES = ["mass:base", "com:base", "inertia:ball", "position:hip", "rotation:hip", "stiffness:hip", "position:axle"]
NAMES += ["friction:leg/skin", "friction:world/floor", "friction:ball/skin", "gravity", "position:world/floor"]
NAMES += ["radius:leg/skin", "length:leg/skin", "position:leg/skin", "rotation:leg/skin", "radius:ball/skin"]
NAMES += ["size:base/skin", "position:base/skin", "rotation:base/skin", "radius:wheel/rim", "rotation:world/floor"]


@pytest.mark.filterwarnings("ignore:.*pass through each other")
@pytest.mark.parametrize("friction", ["cone", "linear"])
@pytest.mark.parametrize("order", [1, 2])
def test_pile(order, friction):
    robot, q, p, u = pile()
    integrator = la.Maximal(order=order, friction=friction, smoothing=1e-3)
    contacts = la.simulate(robot, q, p=p, controls=u, dt=0.01, steps=1, integrator=integrator).stored["contacts"]
    assert (
        len({(int(a), int(b)) for a, b in contacts[:, 1:3]}) == 8
    )  # ground with all; smoothing acts between four pairs of bodies
    assert_linearized(robot, integrator, q, p, u, 1e-5, 1e-5)
    if order == 2:
        assert_parameters(robot, integrator, q, p, u, NAMES, 1e-5, 1e-5)
    assert_gradient(robot, integrator, q, p, np.tile(u, (2, 1)), 1e-5, 1e-5)


@pytest.mark.parametrize("order", [1, 2])
def test_box_on_a_turned_box(order):
    """Where the outlines of two faces cross is a matter of both poses, and of both sizes."""
    robot = cubes(2, friction=0.3)
    q = placed(robot, (0, 0, 0.2505), (0.1, 0.07, 0.7515))
    q = robot.integrate(q, np.array([0, 0, 0, 0, 0, 0, 0.003, 0.002, 0.5, 0, 0, 0]))
    p = la.dynamics.mass_matrix(robot, q) @ np.array([0, 0, 0, 0.1, 0, -0.05, 0.1, 0.2, 0.3, 0.3, 0.2, -0.1])
    integrator = la.Maximal(order=order, smoothing=1e-4)
    u = np.zeros(robot.nu)
    assert_linearized(robot, integrator, q, p, u, 1e-5, 1e-6)
    assert_parameters(robot, integrator, q, p, u, ["size:c0/0", "size:c1/0", "mass:c1", "rotation:c0/0"], 1e-5, 1e-5)
    assert_gradient(robot, integrator, q, p, np.tile(u, (2, 1)), 1e-5, 1e-6)


@pytest.mark.parametrize("seed", [0, 3, 5, 6, 22])
def test_gradients_are_those_of_the_solution_that_the_run_took(seed):
    """Boxes that fingers wedge have several: other guesses lead to others, up to 4e-4 m away."""
    rng = np.random.default_rng([seed, *b"grasps"])
    scene = replace(grasp(rng), dt=DT, steps=STEPS)
    case = checked(scene, "v", rng, la.Maximal())
    assert case.status == "smooth"
    assert case.error < 1e-4


@pytest.mark.parametrize(
    ("name", "by", "seed"), [("stacks", "v", 3), ("stacks", "v", 15), ("two links", "controls", 24)]
)
def test_gradients_of_what_creeps_at_its_bound_of_friction(name, by, seed):
    """Its steps are solved by modes, in both phases, and not left on the central path: 2e-4 to 2e-3 off there."""
    rng = np.random.default_rng([seed, *name.encode()])
    scene = replace(LANDINGS[name](rng), dt=DT, steps=STEPS)
    case = checked(scene, by, rng, la.Maximal())
    assert case.status == "smooth"
    assert case.error < 1e-5


def test_derivatives_by_parameters_of_contacts_that_a_solution_found_are_refused_by_name():
    """Where a box falls askew on another, edges cross that were far apart: their points move over both bodies."""
    rng = np.random.default_rng([7, *b"stacks"])
    case, objective = LANDINGS["stacks"](rng), reach("b1", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    options = {"q": case.q, "v": case.v, "dt": DT, "steps": 8}
    with pytest.raises(
        la.IntegratorError, match=r"step 7 of the run found contacts.*by parameters.*leastaction\.Minimal"
    ):
        la.adjoint(case.robot, la.Maximal(), objective, ("gravity",), **options)
