"""Spheres, capsules and boxes on the ground and on each other, by quadratic programs and staggered projections."""

import math

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Box, Capsule, Plane, Pose, Sphere
from leastaction.redmax import Bearing, ConstrainedEuler, MaximalEuler, StaggeredProjections

pytest.importorskip("daqp")
pytest.importorskip("piqp")

G = 9.81
TURN = Pose.from_axis_angle("x", math.pi / 2)


def on_incline(shape, angle, ground, mass=2.0, friction=0.5):
    """A free body with one shape, just touching a slope that falls along +x; gives (robot, q)."""
    b = la.MechanismBuilder("slope")
    b.body("thing", mass=mass, shapes=[shape])
    b.free("thing")
    turn = (math.cos(angle / 2), 0.0, math.sin(angle / 2), 0.0)
    slope = Plane if ground == "plane" else lambda **k: Box((4.0, 4.0, 1.0), **k)
    normal = np.array([math.sin(angle), 0.0, math.cos(angle)])
    origin = (0, 0, 0) if ground == "plane" else tuple(-0.5 * normal)
    b.add_shape("world", slope(pose=Pose(origin, turn), friction=friction))
    return b.build(), np.array([*(0.1 * normal), *turn])


@pytest.mark.parametrize("ground", ["plane", "box"])
@pytest.mark.parametrize(("angle", "friction"), [(0.2, 0.5), (0.6, 0.5)])
def test_box_on_incline(angle, friction, ground):
    """It rests where tan(angle) < friction; else it falls with g (sin - friction cos)."""
    robot, q = on_incline(Box((0.4, 0.3, 0.2), friction=friction), angle, ground, friction=friction)
    run = la.simulate(robot, q=q, dt=1e-3, steps=150, integrator=StaggeredProjections())
    speed = max(0.0, G * (math.sin(angle) - friction * math.cos(angle)) * 0.15)
    assert np.linalg.norm(run.v[-1, 3:]) == pytest.approx(speed, rel=1e-5, abs=1e-7)
    assert np.abs(run.v[-1, :3]).max() < 1e-5
    assert np.diff(run.energy).max() < 1e-9
    log = run.stored["contacts"]
    force = log[log[:, 0] == 149, 6:9].sum(axis=0)
    c, s = math.cos(angle), math.sin(angle)
    assert force[2] == pytest.approx(2.0 * G * (1.0 if speed == 0.0 else c * (c + friction * s)), rel=1e-5)


@pytest.mark.parametrize("shape", [Sphere(0.1), Capsule(0.1, 0.3, pose=TURN)], ids=["sphere", "capsule"])
@pytest.mark.parametrize("ground", ["plane", "box"])
def test_round_things_roll(shape, ground):
    """Without slip the centre falls with g sin / (1 + I / m r^2)."""
    angle = 0.3
    robot, q = on_incline(shape, angle, ground, friction=0.8)
    run = la.simulate(robot, q=q, dt=1e-3, steps=150, integrator=StaggeredProjections())
    I = la.dynamics.mass_matrix(robot, q)[1, 1]
    speed = G * math.sin(angle) * 0.15 / (1.0 + I / (2.0 * 0.01))
    assert np.linalg.norm(run.v[-1, 3:]) == pytest.approx(speed, rel=2e-3)
    assert abs(run.v[-1, 1]) == pytest.approx(speed / 0.1, rel=2e-3)
    assert np.diff(run.energy).max() < 1e-9


@pytest.mark.parametrize("method", [ConstrainedEuler(self_collision=True), MaximalEuler(self_collision=True)])
def test_elastic_balls_swap_velocities(method):
    b = la.MechanismBuilder("billiards", gravity=(0, 0, 0))
    for name in ("one", "two"):
        b.body(name, mass=1.0, shapes=[Sphere(0.1, friction=0.0, restitution=1.0)])
        b.free(name)
    robot = b.build()
    q, v = robot.neutral(), np.zeros(12)
    q[robot.coordinate_index("two_free.x")] = 0.3
    v[3] = 1.0
    run = la.simulate(robot, q=q, v=v, dt=1e-3, steps=300, integrator=method)
    assert run.v[-1, 3] == pytest.approx(0.0, abs=1e-8)
    assert run.v[-1, 9] == pytest.approx(1.0, abs=1e-8)
    assert (run.stored["contacts"][:, 1:3] == [0, 1]).all()
    apart = la.simulate(robot, q=q, v=v, dt=1e-3, steps=300, integrator=ConstrainedEuler())
    assert apart.v[-1, 3] == 1.0


def stack():
    b = la.MechanismBuilder("stack")
    q = []
    for k, (side, x) in enumerate(((0.3, 0.0), (0.2, 0.03))):
        b.body(f"box{k}", mass=1.0 + k, shapes=[Box((side,) * 3, friction=0.6)])
        b.free(f"box{k}")
        q += [x, 0.0, 0.15 if k == 0 else 0.4 + 1e-3, 1, 0, 0, 0]
    b.add_shape("world", Plane(friction=0.6))
    return b.build(), np.array(q)


def test_stack_of_boxes_rests():
    """The lower box carries both weights, and the energy never grows."""
    robot, q = stack()
    run = la.simulate(robot, q=q, dt=2e-3, steps=150, integrator=StaggeredProjections(self_collision=True))
    assert np.diff(run.energy).max() < 1e-9
    assert np.abs(run.v[-1]).max() < 1e-6
    log = run.stored["contacts"][run.stored["contacts"][:, 0] == 149]
    assert log[log[:, 1] == -1, 8].sum() == pytest.approx(3.0 * G, rel=1e-5)
    assert log[log[:, 1] == 0, 8].sum() == pytest.approx(2.0 * G, rel=1e-5)
    assert run.q[-1, 9] == pytest.approx(0.4, abs=1e-4)


def test_it_agrees_with_complementarity():
    """A falling capsule ends where `Maximal`, which solves for exact cones, puts it, to the order of the step."""
    b = la.MechanismBuilder("capsule")
    b.body("capsule", mass=1.0, shapes=[Capsule(0.05, 0.3, friction=0.4)])
    b.free("capsule")
    b.add_shape("world", Plane(friction=0.4))
    robot = b.build()
    q = np.array([0, 0, 0.3, *Pose.from_axis_angle("y", 1.2).quaternion])
    ends = []
    for method in (StaggeredProjections(), la.Maximal()):
        run = la.simulate(robot, q=q, v=[0, 0, 0, 0, 0, 0], dt=5e-4, steps=800, integrator=method)
        assert (np.diff(run.energy) < 1e-3 * np.ptp(run.energy)).all()
        ends.append(run.q[-1])
    assert np.abs(ends[0] - ends[1]).max() < 5e-3


def test_arm_with_bearings_pushes_on_the_ground():
    """Friction of joints and of the ground: the energy never grows, and all comes to rest."""
    b = la.MechanismBuilder("arm")
    for k in range(3):
        b.body(f"link{k}", mass=1.0, com=(0.2, 0, 0), inertia=(0.002, 0.014, 0.014))
        position = (0, 0, 0.3) if k == 0 else (0.4, 0, 0)
        b.revolute(f"joint{k}", "world" if k == 0 else f"link{k - 1}", f"link{k}", axis="y", position=position)
    b.add_shape("link2", Sphere(0.05, pose=Pose((0.4, 0, 0)), friction=0.5))
    b.add_shape("world", Plane(friction=0.5))
    robot = b.build()
    bearings = tuple(Bearing(name, 1.0, radius=0.06) for name in robot.joint_names)
    # Pushing out what has sunk in would do work.
    method = StaggeredProjections(bearings, stabilization="none")
    run = la.simulate(robot, q=[0.2, -0.1, 0.1], dt=2e-3, steps=700, integrator=method)
    assert len(run.stored["contacts"]) > 50
    assert np.diff(run.energy).max() < 1e-8 * np.ptp(run.energy)
    assert np.abs(run.v[-1]).max() < 1e-4


def test_ellipsoids_lie_on_height_fields():
    b = la.MechanismBuilder("egg")
    b.body("egg", mass=1.0, shapes=[la.mechanism.Ellipsoid((0.1, 0.2, 0.1))])
    b.free("egg")
    b.add_shape("world", la.mechanism.HeightField(np.zeros((5, 5)), 0.1, pose=Pose((0, 0, -1.0))))
    q = np.array([0.02, 0.03, -0.9, 1.0, 0.0, 0.0, 0.0])
    run = la.simulate(b.build(), q, dt=0.01, steps=50, integrator=ConstrainedEuler())
    np.testing.assert_allclose(run.q[-1], q, atol=1e-6)
