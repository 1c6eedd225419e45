"""Friction: sticking and sliding against closed forms, rolling, and dry friction in joints."""

import math

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Cylinder, MechanismBuilder, Plane, Pose
from leastaction.mechanism.joints import prismatic
from tests.maximal.scenes import G, cubes, placed

MU = 0.5
LYING = Pose((0, 0, 0), (math.sqrt(0.5), math.sqrt(0.5), 0, 0))


def slide_down(slope, dt, duration=1.0, **settings):
    """How far a cube at rest on a slope gets [m]."""
    robot = cubes(friction=MU, slope=slope)
    down, up = np.array([math.cos(slope), 0, -math.sin(slope)]), np.array([math.sin(slope), 0, math.cos(slope)])
    q = placed(robot, 0.25 * up, angle=slope)
    run = la.simulate(robot, q, dt=dt, duration=duration, integrator=la.Maximal(**settings))
    return (run.q[-1, :3] - q[:3]) @ down


@pytest.mark.parametrize("friction", ["cone", "linear"])
@pytest.mark.parametrize("order", [1, 2])
def test_cube_sticks_below_the_angle_of_friction(order, friction):
    for part, creep in ((0.5, 2e-7), (0.9, 5e-6), (0.99, 1e-4 if friction == "linear" else 1e-5)):
        assert abs(slide_down(part * math.atan(MU), 0.01, order=order, friction=friction)) < creep


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("part", [1.1, 1.5])
def test_cube_slides_above_the_angle_of_friction(part, order):
    """With g (sin - mu cos): exactly in order 2, whose first step starts with the momentum at rest."""
    slope = part * math.atan(MU)
    a = G * (math.sin(slope) - MU * math.cos(slope))
    for dt in (0.02, 0.01):
        error = slide_down(slope, dt, order=order) - 0.5 * a
        # Order 1 reads its velocities at the end of a step: half a step times the speed ahead. The rest is what
        # the tolerance of the complementarity lets friction miss of its bound while the cube starts to slip.
        assert error == pytest.approx(0.5 * a * dt if order == 1 else 0.0, abs=5e-6)


@pytest.mark.parametrize("friction", ["cone", "linear"])
def test_sliding_distance(friction):
    """v^2 / (2 mu g), and then rest."""
    robot = cubes(friction=MU)
    v = np.array([0, 0, 0, 2.0, 0, 0])
    for dt in (0.01, 0.0025):
        integrator = la.Maximal(friction=friction)
        run = la.simulate(robot, placed(robot, (0, 0, 0.25)), v, dt=dt, duration=0.8, integrator=integrator)
        assert run.q[-1, 0] == pytest.approx(4.0 / (2 * MU * G), abs=2.0 * dt**2)
        np.testing.assert_allclose(run.v[-1], 0.0, atol=1e-5)
        assert np.diff(run.energy).max() < 1e-8


@pytest.mark.parametrize("order", [1, 2])
def test_last_velocity_is_that_of_a_longer_run(order):
    """The contacts' impulses at the last time belong to the step after, which is not there."""
    slope, integrator = 1.5 * math.atan(MU), la.Maximal(order=order)
    robot = cubes(friction=MU, slope=slope)
    q = placed(robot, 0.25 * np.array([math.sin(slope), 0, math.cos(slope)]), angle=slope)
    long = la.simulate(robot, q, dt=0.01, steps=20, integrator=integrator)
    for n in (1, 2, 10):
        short = la.simulate(robot, q, dt=0.01, steps=n, integrator=integrator)
        np.testing.assert_allclose(short.v[-1], long.v[n], atol=1e-6)
        np.testing.assert_array_equal(short.stored["contacts"][:, 0], long.stored["contacts"][: 4 * n, 0])


@pytest.mark.parametrize("order", [1, 2])
def test_runs_of_one_step_each_do_what_one_run_does(order):
    """Friction acts fully, though each of them starts anew from positions and velocities."""
    robot, integrator = cubes(friction=MU), la.Maximal(order=order)
    q, v = placed(robot, (0, 0, 0.25)), np.array([0, 0, 0, 2.0, 0, 0])
    whole = la.simulate(robot, q, v, dt=0.01, steps=20, integrator=integrator)
    for _ in range(20):
        step = la.simulate(robot, q, v, dt=0.01, steps=1, integrator=integrator)
        q, v = step.q[-1], step.v[-1]
    np.testing.assert_allclose(v, whole.v[-1], atol=1e-6)
    np.testing.assert_allclose(q, whole.q[-1], atol=1e-6)


def thrown(angle, spin, **settings):
    """Where a cube thrown flat over the ground at an angle to its edges comes to rest: (x, y)."""
    robot = cubes(friction=MU)
    v = np.array([0, 0, spin, 2.0 * math.cos(angle), 2.0 * math.sin(angle), 0])
    q = placed(robot, (0, 0, 0.25))
    return la.simulate(robot, q, v, dt=0.01, duration=1.2, integrator=la.Maximal(**settings)).q[-1, :2]


def test_exact_cone_has_no_preferred_direction():
    """Straight on in every direction; four directions push the cube off its way by more than ten degrees."""
    for angle in (0.2, math.pi / 8, 1.0):
        x, y = thrown(angle, 0.0)
        assert math.atan2(y, x) == pytest.approx(angle, abs=1e-6)
        assert math.hypot(x, y) == pytest.approx(4.0 / (2 * MU * G), abs=1e-3)
    bias = []
    for n in (4, 8, 16):
        x, y = thrown(math.pi / 8, 0.0, friction="linear", n_directions=n)
        bias.append(max(abs(math.atan2(y, x) - math.pi / 8), abs(math.hypot(x, y) * 2 * MU * G / 4.0 - 1)))
    assert bias[0] > 0.2
    assert bias[1] < 0.5 * bias[0]
    assert bias[2] < 0.5 * bias[1]


def test_spinning_cube_stays_where_it_is():
    """A cube that spins about the vertical, and nothing else: no sideways drift with the exact cone."""
    robot = cubes(friction=MU)
    v = np.array([0, 0, 8.0, 0, 0, 0])
    run = la.simulate(robot, placed(robot, (0, 0, 0.25)), v, dt=0.01, duration=1.0, integrator=la.Maximal())
    np.testing.assert_allclose(run.q[:, :2], 0.0, atol=1e-9)
    assert abs(run.v[-1, 2]) < 1e-5
    assert np.diff(run.energy).max() < 1e-9


def test_spinning_and_sliding_cube_turns_about_a_mirror():
    """The mirror image of a throw is the throw of the mirror image."""
    a, b = thrown(0.4, 6.0), thrown(-0.4, -6.0)
    np.testing.assert_allclose(a, b * [1, -1], atol=1e-7)


def test_driven_wheel_on_an_axle_rolls():
    """A cart of one wheel on a slider: the torque on the axle moves it by the friction of the wheel alone."""
    b = MechanismBuilder("cart")
    b.body("cart", mass=2.0, inertia=0.1)
    b.joint("base", "composite", "world", "cart", parts=(prismatic("x"), prismatic("z")))
    b.body("wheel", mass=1.0, shapes=Cylinder(0.2, 0.05, pose=LYING))
    b.revolute("axle", "cart", "wheel", axis="y")
    b.add_shape("world", Plane(friction=0.8))
    b.actuator("motor", "axle")
    robot = b.build()
    run = la.simulate(robot, [0.0, 0.2, 0.0], dt=0.01, duration=1.0, integrator=la.Maximal(), controls=[0.5])
    x, height, turned = run.q.T
    # (m + I / r^2) a = torque / r
    inertia = robot.bodies[robot.body_index("wheel")].inertia.moments[3]
    a = 0.5 / 0.2 / (3.0 + inertia / 0.04)
    assert x[-1] == pytest.approx(0.5 * a, rel=0.02)
    np.testing.assert_allclose(turned * 0.2, x, atol=1e-4)
    np.testing.assert_allclose(height, 0.2, atol=1e-6)


def test_dry_friction_is_of_second_order_and_runs_can_be_taken_up():
    """A wheel that friction slows down: v(1) = 3 - 0.2 / 0.1, q(1) = 3 - 0.5 * 0.2 / 0.1."""
    b = MechanismBuilder("wheel")
    b.body("wheel", mass=1.0, inertia=0.1)
    b.revolute("axle", "world", "wheel", axis="z", friction=0.2)
    robot, errors = b.build(), []
    for dt in (0.02, 0.01):
        options = {"dt": dt, "integrator": la.Maximal(order=2)}
        run = la.simulate(robot, v=[3.0], duration=1.0, **options)
        assert run.v[-1, 0] == pytest.approx(1.0, abs=1e-5)
        rest = la.simulate(robot, run.q[10], p=run.p[10], steps=run.steps - 10, **options)
        assert rest.q[-1, 0] == pytest.approx(run.q[-1, 0], abs=1e-7)
        errors.append(abs(run.q[-1, 0] - 2.0))
    assert errors[1] < 0.3 * errors[0] < 1e-3


def test_pendulum_with_dry_friction_stops_where_friction_can_hold_it():
    b = MechanismBuilder("dry")
    b.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 1e-3))
    b.revolute("pivot", "world", "rod", axis="y", friction=1.0)
    robot = b.build()
    run = la.simulate(robot, [1.2], dt=0.01, duration=5.0, integrator=la.Maximal())
    assert np.ptp(run.q[-50:]) < 1e-6
    assert 0.01 < abs(run.q[-1, 0]) < math.asin(1.0 / (0.5 * G))
    np.testing.assert_allclose(run.v[-50:], 0.0, atol=1e-6)
    with pytest.warns(la.LeastActionWarning, match="'pivot', does not act with Galerkin"):
        la.simulate(robot, [1.2], steps=1, integrator=la.Galerkin())
