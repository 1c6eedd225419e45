"""Derivatives of steps in which restitution acts: closed forms, and differences of steps and runs solved anew."""

import math

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import parameter, parameter_jacobian
from leastaction.mechanism import Box, MechanismBuilder, Plane, Pose, Sphere
from tests.derivatives.checks import (
    DT,
    assert_gradient,
    assert_linearized,
    assert_parameters,
    assert_relative,
)

E = 0.6
CASES = [(1, "cone", 0.0), (1, "linear", 1e-4), (2, "cone", 1e-4), (2, "linear", 0.0)]


def integrator(order, friction, smoothing):
    return la.Maximal(order=order, friction=friction, smoothing=smoothing, tolerance=1e-12)


def width(smoothing):
    """Of differences: rigid contact is solved to 1e-9 of its velocities only."""
    return 1e-5 if smoothing else 3e-5


def tolerance(friction, smoothing):
    """What rigid contact leaves of its products depends on the state, and the linearised cone has many of them."""
    return 1e-5 if smoothing or friction == "cone" else 3e-4


def falling_ball():
    """A spinning ball that hits the ground within the step, and slides there."""
    b = MechanismBuilder("ball")
    b.body("ball", mass=0.7, shapes=Sphere(0.1, name="skin", friction=0.05, restitution=E))
    b.free("ball")
    b.add_shape("world", Plane(name="floor"))
    return b.build(), [0.02, -0.01, 0.1 + 0.01, 1, 0, 0, 0], [5.0, -9.0, 2.0, 2.0, 0.7, -2.0]


def spinning_box():
    """A tilted box whose lowest corner hits the ground."""
    b = MechanismBuilder("box")
    b.body("box", mass=1.3, com=(0.01, 0, 0.02), inertia=(0.01, 0.02, 0.025), shapes=Box((0.3, 0.4, 0.2), name="skin"))
    b.free("box")
    b.add_shape("world", Plane(friction=0.1, restitution=E, name="floor"))
    turn = Pose.from_axis_angle((1 / 3, 2 / 3, 2 / 3), 0.6)
    corners = [[x, y, z] for x in (-0.15, 0.15) for y in (-0.2, 0.2) for z in (-0.1, 0.1)]
    low = min(float((turn.rotation @ c)[2]) for c in corners)
    return b.build(), [0, 0, 0.012 - low, *turn.quaternion], [1.0, -0.5, 2.0, 1.4, -0.6, -2.5]


def two_balls():
    """Balls of two sizes that meet off-centre in the air."""
    b = MechanismBuilder("two")
    b.body("one", mass=1.0, shapes=Sphere(0.1, name="skin", friction=0.04, restitution=E))
    b.free("one")
    b.body("two", mass=0.4, shapes=Sphere(0.06, name="skin"))
    b.free("two")
    q = [0, 0, 1, 1, 0, 0, 0, 0.16, 0.05, 1.02, 1, 0, 0, 0]
    return b.build(), q, [3.0, 9.0, -14.0, 2.0, 0.1, 0.0, 5.0, 20.0, -15.0, -1.5, -0.3, 0.1]


def pendulum_on_a_wall():
    """A double pendulum whose bob hits a wall."""
    b = MechanismBuilder("pendulum")
    b.body("upper", mass=0.8, com=(0, 0, -0.25), inertia=(0.02, 0.02, 0.001))
    b.revolute("shoulder", "world", "upper", axis="y", armature=0.02)
    skin = Sphere(0.05, name="skin", friction=0.3, pose=Pose((0, 0, -0.5)))
    b.body("lower", mass=0.5, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.001), shapes=skin)
    b.revolute("elbow", "upper", "lower", axis="y", position=(0, 0, -0.5))
    b.actuator("motor", "elbow")
    # The plane's normal is its z axis: here -x.
    normal = Pose((0.2, 0, 0), (math.sqrt(0.5), 0.0, -math.sqrt(0.5), 0.0))
    b.add_shape("world", Plane(restitution=E, name="wall", pose=normal))
    reach = 0.2 - 0.05 - 0.01
    shoulder = -0.1
    return b.build(), [shoulder, -shoulder - math.asin((reach + 0.5 * math.sin(shoulder)) / 0.5)], [-1.5, -2.0]


def sliding_rod():
    """A tilted rod whose end slides into the ground: with all of its restitution, friction would add energy."""
    b = MechanismBuilder("rod")
    ends = [Sphere(0.02, name=name, friction=0.9, restitution=0.9, pose=Pose((0, 0, z))) for name, z in ENDS.items()]
    b.body("rod", mass=1.2, com=(0, 0, 0.02), inertia=(0.1, 0.095, 0.012), shapes=ends)
    b.free("rod")
    b.add_shape("world", Plane(name="floor"))
    turn = Pose.from_axis_angle((0, 1, 0), 0.6)
    return b.build(), [0, 0, 0.5 * math.cos(0.6) + 0.03, *turn.quaternion], [0.3, 0.0, 0.5, 3.0, 0.1, -2.0]


ENDS = {"low": -0.5, "high": 0.5}
SCENES = {
    "rod": sliding_rod,
    "ball": falling_ball,
    "box": spinning_box,
    "two balls": two_balls,
    "pendulum": pendulum_on_a_wall,
}


NAMES = {
    "ball": ["restitution:ball/skin", "friction:ball/skin", "radius:ball/skin", "mass:ball", "inertia:ball", "gravity"],
    "box": ["restitution:world/floor", "size:box/skin", "position:box/skin", "mass:box", "com:box", "inertia:box"],
    "two balls": ["restitution:one/skin", "friction:one/skin", "radius:one/skin", "radius:two/skin", "mass:two"],
    "pendulum": ["restitution:world/wall", "rotation:world/wall", "position:elbow", "mass:lower"]
    + ["com:lower", "inertia:lower", "rotation:elbow", "armature:shoulder", "position:lower/skin"],
}


def moving(scene):
    robot, q, v = SCENES[scene]()
    q = np.array(q, float)
    return robot, q, la.dynamics.mass_matrix(robot, q) @ np.array(v), np.full(robot.nu, 0.3)


def shares(scene, q, p, u, integrator):
    """Shares of restitution that the contacts of the step keep."""
    robot = SCENES[scene]()[0]
    stepper = integrator.prepare(robot, DT)
    record = stepper.record(1)
    record["q"][0], record["p"][0] = q, p
    assert stepper.advance(record, 0, 1, np.tile(u, (1, len(stepper.control_nodes), 1))) == 1
    assert stepper.contact is not None
    cones = stepper.contact.cones[: stepper.contact.now[0].count]
    return cones.bounce[(cones.source >= 0) & (cones.rest > 0.0)]


def assert_bounces(scene, q, p, u, integrator):
    """Restitution acts in the step, with all of it."""
    assert (shares(scene, q, p, u, integrator) == 1.0).any()


def test_a_share_of_restitution_is_refused():
    """Where the work of the impulses bounds restitution, the step has no derivative."""
    robot, q, p, u = moving("rod")
    found = shares("rod", q, p, u, la.Maximal())
    assert ((found > 0.0) & (found < 1.0)).any()
    with pytest.raises(la.IntegratorError, match="has no derivative"):
        la.linearize(robot, la.Maximal(), q, p, u, DT)


@pytest.mark.parametrize("order", [1, 2])
def test_a_ball_goes_up_with_a_share_of_its_speed(order):
    """Without gravity and friction d v+ / d v- = -e, d v+ / d e = -v-, and mass does not count, at any depth."""
    b = MechanismBuilder("ball", gravity=(0, 0, 0))
    b.body("ball", mass=2.0, shapes=Sphere(0.1, name="skin", friction=0.0, restitution=E))
    b.free("ball")
    b.add_shape("world", Plane(name="floor", friction=0.0))
    robot, q, p = b.build(), np.array([0, 0, 0.105, 1, 0, 0, 0]), np.array([0, 0, 0, 0, 0, -6.0])
    step = la.Maximal(order=order)
    A, _ = la.linearize(robot, step, q, p, None, DT)
    names = ["restitution:ball/skin", "mass:ball"]
    J = parameter_jacobian(robot, step, q, p, None, DT, parameters=names)
    up = 6 + 5  # momenta: wx, wy, wz, vx, vy, vz
    assert abs(A[up, up] + E) < 1e-6
    assert np.abs(np.delete(A[up], up)).max() < 1e-6
    assert abs(A[5, 5] - 1.0) < 1e-6  # what the ball bounces off is where it was: the gap is kept, then opens
    assert abs(A[5, up] + E * DT / 2.0) < 1e-8
    assert abs(J["restitution:ball/skin"][up] - 6.0) < 1e-5
    assert abs(J["mass:ball"][up]) < 1e-6
    assert abs(J["mass:ball"][5] + E * DT * 3.0 / 2.0) < 1e-8


@pytest.mark.parametrize("friction", ["cone", "linear"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("scene", NAMES)
def test_smoothed_step(scene, order, friction):
    robot, q, p, u = moving(scene)
    assert_bounces(scene, q, p, u, integrator(order, friction, 1e-4))
    assert_linearized(robot, integrator(order, friction, 1e-4), q, p, u, 1e-5, 1e-5)


@pytest.mark.parametrize("friction", ["cone", "linear"])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("scene", NAMES)
def test_rigid_step(scene, order, friction):
    """Against the limit of smoothed steps, which are solved to round-off, and against differences.

    What is left of kappa in a rigid step depends on the state, too; differences see that, the derivative does not.
    """
    robot, q, p, u = moving(scene)
    assert_bounces(scene, q, p, u, integrator(order, friction, 0.0))
    if friction == "cone":
        assert_linearized(robot, integrator(order, friction, 0.0), q, p, u, 1e-4, width(0.0), assert_relative)
    kappa = 1e-5
    rigid, once, twice = (
        np.hstack(la.linearize(robot, integrator(order, friction, k), q, p, u, DT)) for k in (0.0, kappa, 2 * kappa)
    )
    assert_relative(rigid, 2.0 * once - twice, tolerance(friction, 0.0))


@pytest.mark.parametrize(("order", "friction", "smoothing"), CASES[:3])
@pytest.mark.parametrize("scene", NAMES)
def test_parameters(scene, order, friction, smoothing):
    """Differences of rigid steps see what is left of kappa, too (`test_rigid_step`)."""
    robot, q, p, u = moving(scene)
    bound = 1e-5 if smoothing else 1e-4
    assert_parameters(robot, integrator(order, friction, smoothing), q, p, u, NAMES[scene], bound, width(smoothing))


def test_where_the_wall_is_does_not_count():
    """A step that ends with the gap it began with, and what restitution adds, does not know where the wall is."""
    robot, q, p, u = moving("pendulum")
    J = parameter_jacobian(
        robot, la.Maximal(), q, p, u, DT, parameters=["position:world/wall", "restitution:world/wall"]
    )
    assert np.abs(J["position:world/wall"]).max() < 1e-9 * np.abs(J["restitution:world/wall"]).max()


def test_names_of_shapes():
    robot = moving("ball")[0]
    assert parameter(robot, "radius:ball/0") == parameter(robot, "radius:ball/skin") == 0.1
    for name, message in (
        ("radius:ball/hat", "unknown shape 'ball/hat'; there is ball/skin"),
        ("size:ball/skin", "says no size"),
        ("restitution:world/floor", "says no restitution"),
    ):
        with pytest.raises(la.MechanismError, match=message):
            parameter(robot, name)


@pytest.mark.parametrize(("order", "friction", "smoothing"), CASES)
@pytest.mark.parametrize("scene", NAMES)
def test_runs_through_a_bounce(scene, order, friction, smoothing):
    """The approach velocity is that of the step before, which is not the first: it depends on all that went before."""
    robot, q, p, u = moving(scene)
    v = np.linalg.solve(la.dynamics.mass_matrix(robot, q), p)
    q = robot.integrate(q, -1.3 * DT * v)
    step, bound = integrator(order, friction, smoothing), tolerance(friction, smoothing)
    bound *= 3.0 if scene == "box" and not smoothing else 1.0  # four corners leave more of their products
    assert_gradient(robot, step, q, p, np.tile(u, (3, 1)), bound, width(smoothing))
