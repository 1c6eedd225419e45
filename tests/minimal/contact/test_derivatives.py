"""Derivatives of `Grounded` by states, controls and parameters, against central differences of steps solved anew."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Box, MechanismBuilder, Plane, Pose, Sphere
from tests.contact.test_bounce_derivatives import falling_ball, spinning_box
from tests.derivatives.checks import DT, assert_gradient, assert_linearized, assert_parameters

RIGID = la.Grounded(tolerance=1e-13)

pytestmark = pytest.mark.filterwarnings("ignore:.*overlap at the start")


def leg():
    """A floating base with a leg on a foot, a stiff damper in the hip, a limit and dry friction in the knee."""
    b = MechanismBuilder("leg")
    b.body("base", mass=1.2, com=(0.01, 0, 0.02), inertia=(0.02, 0.03, 0.04))
    b.free("base")
    b.body("thigh", mass=0.4, inertia=(0.004, 0.004, 0.001), com=(0.0, 0, -0.1))
    b.revolute("hip", "base", "thigh", axis="y", position=(0.05, 0, 0.0), damping=8.0, stiffness=3.0, armature=0.01)
    b.body("shin", mass=0.3, inertia=(0.003, 0.003, 0.001), com=(0.0, 0, -0.1))
    b.add_shape("shin", Sphere(0.03, name="foot", friction=0.5, pose=Pose((0, 0, -0.2))))
    b.revolute("knee", "thigh", "shin", axis="y", position=(0, 0, -0.2), limits=(-2.0, -0.6), friction=0.05)
    b.actuator("knee", "knee")
    b.thruster("push", "base", (0.1, -0.2, 0.3, 1.0, 0.5, -0.2))
    b.wrench("lift", "thigh", (0.02, 0.01, -0.03, 0.2, -0.1, 3.0), point=(0.02, 0.01, -0.1))
    b.wrench("jet", "shin", (0.01, 0.02, 0.01, 0.3, 0.1, -0.2), point=(0.01, 0.02, -0.05), frame="body")
    b.add_shape("world", Plane(friction=0.4, name="floor"))
    return b.build()


def state(kind):
    """(q, p) of the leg that stands, lands, slides, or reaches the limit of its knee."""
    robot, v = leg(), np.zeros(8)
    q = robot.neutral()
    q[7:] = 0.4, -0.8
    q[2] = 0.2 * np.cos(0.4) + 0.2 * np.cos(0.4) + 0.03
    if kind == "lands":
        q[2] += 0.004
        v[:] = 0.2, -0.1, 0.3, 0.3, 0.1, -1.0, 0.5, -0.4
    elif kind == "slides":
        v[:] = 0.1, 0.2, 0.1, 1.5, 0.4, 0.0, 0.3, 0.1
    elif kind == "stretches":
        q[8], v[7] = -0.605, 2.0
    return robot, q, la.dynamics.mass_matrix(robot, q) @ v


@pytest.mark.parametrize("kind", ["stands", "lands", "slides", "stretches"])
def test_a_leg(kind):
    robot, q, p = state(kind)
    u = np.array([0.3, 0.4])
    assert_linearized(robot, RIGID, q, p, u, 1e-5, 1e-6)


def test_shifts_along_the_ground_change_no_momentum():
    """Atlas on eight corners of its soles, whose loads a tiny compliance alone determines."""
    b = MechanismBuilder.from_mechanism(la.robots.atlas())
    b.add_shape("world", Plane(friction=0.5))
    robot = b.build()
    run = la.simulate(robot, la.robots.on_ground(robot, robot.home()), dt=0.005, steps=10, integrator=RIGID)
    A, _ = la.linearize(robot, RIGID, run.q[-1], run.p[-1], np.zeros(robot.nu), 0.005)
    R = la.dynamics.body_poses(robot, run.q[-1])[0][:3, :3]
    n = robot.nv
    moved = A[:, 3:6] @ R.T[:, :2]
    assert np.abs(moved[n:]).max() < 1e-8 * np.abs(A).max()


def test_a_run_of_a_leg():
    robot, q, p = state("lands")
    assert_gradient(robot, RIGID, q, p, np.full((3, 2), 0.3), 1e-5, 1e-6)


def bumper(restitution=0.0):
    """A ball that hits a tilted box from above while both turn, and the box the ground."""
    b = MechanismBuilder("bumper")
    b.body("box", mass=1.3, com=(0.01, 0, 0.02), inertia=(0.01, 0.02, 0.025))
    b.add_shape("box", Box((0.3, 0.4, 0.2), name="skin", friction=0.3))
    b.free("box")
    b.body("ball", mass=0.7, shapes=Sphere(0.1, name="skin", friction=0.2, restitution=restitution))
    b.free("ball")
    b.add_shape("world", Plane(friction=0.4, name="floor"))
    robot, turn = b.build(), Pose.from_axis_angle((1 / 3, 2 / 3, 2 / 3), 0.4)
    corners = [turn.rotation @ [x, y, -0.1] for x in (-0.15, 0.15) for y in (-0.2, 0.2)]
    height = 0.008 - min(corner[2] for corner in corners)
    ball = turn.rotation @ np.array([0.02, 0.03, 0.206])
    q = np.array([0, 0, height, *turn.quaternion, ball[0], ball[1], height + ball[2], 1, 0, 0, 0])
    v = np.array([1.0, -0.5, 2.0, 1.4, -0.6, -1.5, 2.0, -3.0, 1.0, 0.3, 0.2, -3.0])
    return robot, q, la.dynamics.mass_matrix(robot, q) @ v


def test_bodies_that_hit_each_other():
    robot, q, p = bumper()
    run = la.simulate(robot, q, p=p, dt=0.01, steps=1, integrator=RIGID)
    assert len(run.stored["contacts"]) == 2
    assert_linearized(robot, RIGID, q, p, np.zeros(robot.nu), 1e-5, 1e-6)


@pytest.mark.parametrize(
    ("case", "surface"), [(falling_ball, "ball/skin"), (spinning_box, "world/floor"), (bumper, "ball/skin")]
)
def test_bounces(case, surface):
    if case is bumper:
        robot, q, p = bumper(0.6)
    else:
        robot, q, v = case()
        q = np.array(q)
        p = la.dynamics.mass_matrix(robot, q) @ v
        assert_linearized(robot, RIGID, q, p, np.zeros(robot.nu), 1e-5, 1e-6)
    assert_parameters(robot, RIGID, q, p, np.zeros(robot.nu), [f"restitution:{surface}"], 1e-5, 1e-5)


def test_a_run_through_a_bounce():
    """Restitution looks at the velocities of the step before, which are those between its ends."""
    robot, q, v = falling_ball()
    p, q = la.dynamics.mass_matrix(robot, q) @ v, robot.integrate(q, -1.3 * DT * np.array(v))
    assert_gradient(robot, RIGID, q, p, np.zeros((3, robot.nu)), 1e-5, 1e-6)


NAMES = ["mass:shin", "com:base", "position:knee", "damping:hip", "friction:shin/foot", "radius:shin/foot", "gravity"]
NAMES += ["friction:knee", "position:world/floor", "rotation:world/floor"]


def test_a_leg_by_parameters():
    robot, q, p = state("slides")
    assert_parameters(robot, RIGID, q, p, np.array([0.3, 0.4]), NAMES, 1e-5, 2e-6)


def test_a_contact_point_goes_with_its_shape():
    """Points stand for shapes on the ground, so derivatives are those of the shape without a point."""
    robot, q, p = state("slides")
    b = robot.edit()
    b.contact("foot", "shin", (0.0, 0.0, -0.2), radius=0.03, friction=0.5)
    names = ["friction:shin/foot", "radius:shin/foot", "position:shin/foot"]
    found, wanted = (
        la.derivatives.parameter_jacobian(m, RIGID, q, p, [0.3, 0.4], dt=0.01, parameters=names)
        for m in (b.build(), robot)
    )
    for name in names:
        assert np.abs(wanted[name]).max() > 1e-3
        np.testing.assert_allclose(found[name], wanted[name], rtol=1e-6, atol=1e-9)
