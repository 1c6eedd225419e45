"""Staggered projections: laws of dry friction in joints and contacts, and BISP against SP."""

import math

import numpy as np
import pytest

import leastaction as la
from leastaction.redmax import Bearing, StaggeredProjections
from leastaction.redmax.linear_implicit.contact.bearings import Bearings
from tests.redmax.scenes_with_contact import block_on_incline, flywheel, slider_on_incline

pytest.importorskip("daqp")
pytest.importorskip("piqp")


@pytest.mark.parametrize(("angle", "friction"), [(0.2, 0.5), (0.45, 0.5), (0.6, 0.5), (0.8, 0.2)])
def test_block_on_incline(angle, friction):
    """It rests where tan(angle) < friction; else it falls with g (sin - friction cos)."""
    robot, q = block_on_incline(angle, friction)
    run = la.simulate(robot, q=q, dt=1e-3, steps=200, integrator=StaggeredProjections())
    speed = max(0.0, 9.81 * (math.sin(angle) - friction * math.cos(angle)) * 0.2)
    assert np.linalg.norm(run.v[-1, 3:]) == pytest.approx(speed, rel=1e-6, abs=1e-8)
    assert np.abs(run.v[-1, :3]).max() < 1e-6
    assert np.diff(run.energy).max() < 1e-10


def test_sliding_block_comes_to_rest():
    """A block thrown along the ground stops after v / (mu g) and stays."""
    robot, q = block_on_incline(0.0, 0.4)
    v = np.array([0, 0, 0, 1.0, 0, 0])
    run = la.simulate(robot, q=q, v=v, dt=1e-3, steps=400, integrator=StaggeredProjections())
    stop = int(np.argmax(np.abs(run.v[:, 3]) < 1e-6))
    assert run.t[stop] == pytest.approx(1.0 / (0.4 * 9.81), abs=2e-3)
    assert np.abs(run.v[stop:]).max() < 1e-6
    assert run.q[-1, 0] == pytest.approx(1.0 / (2 * 0.4 * 9.81), rel=5e-3)


@pytest.mark.parametrize(("angle", "friction"), [(0.2, 0.3), (0.5, 0.3)])
def test_slider_with_a_bearing(angle, friction):
    """The same law for a prismatic joint, whose load is the weight across the rail."""
    robot = slider_on_incline(angle)
    method = StaggeredProjections(bearings=(Bearing("rail", friction),))
    run = la.simulate(robot, dt=1e-3, steps=200, integrator=method)
    speed = max(0.0, 9.81 * (math.sin(angle) - friction * math.cos(angle)) * 0.2)
    assert abs(run.v[-1, 0]) == pytest.approx(speed, rel=1e-6, abs=1e-9)


def test_driving_force_is_no_load():
    """A force along the rail moves the slider and presses it against nothing."""
    robot = slider_on_incline(0.0)
    method = StaggeredProjections(bearings=(Bearing("rail", 0.3),))
    run = la.simulate(robot, dt=1e-3, steps=200, integrator=method, controls=[20.0])
    assert run.v[-1, 0] == pytest.approx((20.0 / 3.0 - 0.3 * 9.81) * 0.2, rel=1e-6)


def test_flywheel_is_braked_by_its_weight():
    """Friction of a pin: 4/pi mu r F within 4 %, whatever the direction of the load."""
    mass, moment, mu, radius = 4.0, 0.5, 0.3, 0.05
    method = StaggeredProjections(bearings=(Bearing("axle", mu, radius=radius),))
    run = la.simulate(flywheel(mass, moment), v=[5.0], dt=1e-3, steps=500, integrator=method)
    torque = -moment * np.diff(run.v[:, 0]) / 1e-3
    theory = 4.0 / math.pi * mu * radius * mass * 9.81
    assert np.abs(torque / theory - 1.0).max() < 0.055
    assert torque.mean() == pytest.approx(theory, rel=0.02)


def test_dry_friction_of_joints():
    """A constant friction F brakes a slider by F / m, then holds it."""
    robot = slider_on_incline(0.0, friction=6.0)
    run = la.simulate(robot, v=[0.3], dt=1e-3, steps=300, integrator=StaggeredProjections())
    assert run.v[100, 0] == pytest.approx(0.3 - 2.0 * 0.1, rel=1e-6)
    assert np.abs(run.v[160:]).max() < 1e-9
    held = la.simulate(robot, dt=1e-3, steps=50, integrator=StaggeredProjections(), controls=[5.9])
    assert np.abs(held.v).max() < 1e-9
    assert held.stored["joint_friction"][-1, 0] == pytest.approx(-5.9, rel=1e-6)


def chain_with_bearings(links, friction=0.3, length=1.0):
    robot = la.robots.pendulum(links=links, length=length)
    return robot, tuple(Bearing(name, friction, radius=0.05) for name in robot.joint_names)


def test_chain_loses_energy_and_comes_to_rest():
    robot, bearings = chain_with_bearings(4, friction=1.0, length=0.25)
    method = StaggeredProjections(bearings=bearings)
    run = la.simulate(robot, q=[0.9, 0.3, -0.2, 0.4], dt=2e-3, steps=1500, integrator=method)
    assert np.diff(run.energy).max() < 1e-9
    assert np.abs(run.v[-1]).max() < 1e-6
    # It need not hang straight: friction holds it where it stopped.
    assert np.abs(run.q[-1]).max() > 1e-3


def both(robot, q, bearings, steps=20):
    """Runs by BISP and by SP."""
    return [
        la.simulate(robot, q=q, dt=1e-3, steps=steps, integrator=StaggeredProjections(bearings, method))
        for method in ("bisp", "sp")
    ]


def finger(friction, height, load, radius):
    """A finger of two links with bearings over a floor that its tip touches."""
    b = la.robots.pendulum(links=2, length=0.5).edit()
    b.contact("tip", "link2", (0, 0, -0.5), friction=friction)
    b.add_shape("world", la.mechanism.Plane(pose=(0, 0, -height)))
    robot = b.build()
    return robot, tuple(Bearing(name, load, radius=radius) for name in robot.joint_names)


@pytest.mark.parametrize("method", ["bisp", "sp"])
@pytest.mark.parametrize(("scene", "q"), [
    ((0.2, 0.66, 0.5, 0.05), (1.09, 0.12)),
    ((0.8, 0.84, 0.5, 0.05), (0.45, 0.57)),
    ((0.2, 0.74, 0.5, 0.02), (-0.9, -1.23)),
    ((0.5, 0.93, 0.2, 0.05), (-0.12, 0.77)),
])  # fmt: skip
def test_a_sliding_finger_comes_to_rest(scene, q, method):
    """Joints that stick hold what the floor pushes out: the staggered iteration alone takes hundreds of turns."""
    robot, bearings = finger(*scene)
    run = la.simulate(robot, q=q, dt=0.01, steps=300, integrator=StaggeredProjections(bearings, method))
    normal, across = run.stored["normal_forces"][:, 0], run.stored["friction_forces"][:, 0]
    touched = int(np.argmax(normal > 0.0))
    assert normal.max() > 10.0
    assert np.abs(run.v[-20:]).max() < 1e-6
    assert np.diff(run.energy)[touched + 3 :].max() < 1e-8
    assert (np.abs(across) - scene[0] * normal[:, None]).max() < 1e-5
    assert run.iterations.max() <= 40


def test_sp_and_bisp_find_the_same_motion():
    robot, bearings = chain_with_bearings(4)
    bisp, sp = both(robot, np.array([0.9, 0.3, -0.2, 0.4]), bearings)
    free = la.simulate(robot, q=bisp.q[0], dt=1e-3, steps=20, integrator=la.ConstrainedEuler())
    effect = np.abs(bisp.v[-1] - free.v[-1]).max()
    assert np.abs(bisp.v[-1] - sp.v[-1]).max() < 1e-3 * effect
    assert bisp.iterations.max() < sp.iterations.max()


def test_sp_and_bisp_on_ball_joints_and_contact():
    b = la.MechanismBuilder("arm")
    b.body("base", mass=2.0, inertia=(0.05, 0.05, 0.05))
    b.free("base")
    b.body("arm", mass=1.0, com=(0.3, 0, 0.1), inertia=(0.02, 0.03, 0.04))
    b.spherical("ball", "base", "arm")
    for k, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1))):
        b.contact(f"foot{k}", "base", (0.2 * x, 0.2 * y, -0.05), friction=0.6)
    b.add_shape("world", la.mechanism.Plane())
    robot = b.build()
    q = robot.neutral()
    q[2] = 0.05
    bisp, sp = both(robot, q, (Bearing("ball", 0.4, radius=0.1),))
    free = la.simulate(robot, q=q, dt=1e-3, steps=20, integrator=StaggeredProjections())
    effect = np.abs(bisp.v[-1] - free.v[-1]).max()
    assert np.abs(bisp.v[-1] - sp.v[-1]).max() < 1e-3 * effect
    assert bisp.energy[-1] < free.energy[-1] - 1e-4
    assert np.diff(bisp.energy).max() < 1e-9


def test_ball_is_braked_by_its_load():
    """A ball that carries F and spins across it is braked by mu r F."""
    b = la.MechanismBuilder("globe")
    b.body("globe", mass=2.0, inertia=(0.1, 0.1, 0.1))
    b.spherical("socket", "world", "globe")
    robot = b.build()
    method = StaggeredProjections(bearings=(Bearing("socket", 0.2, radius=0.05),))
    run = la.simulate(robot, v=[0.0, 0.0, 3.0], dt=1e-3, steps=5, integrator=method)
    assert np.allclose(run.v[-1], [0.0, 0.0, 3.0], atol=1e-9)  # no slip where the load is
    run = la.simulate(robot, v=[1.0, 0.0, 0.0], dt=1e-3, steps=5, integrator=method)
    assert run.v[-1, 0] == pytest.approx(1.0 - 5e-3 * 0.2 * 0.05 * 2.0 * 9.81 / 0.1, rel=1e-3)


def test_loops_with_bearings_lose_energy():
    """External constraints (2.11.1): the wrench of the closed loop is part of the load of the joints."""
    robot = la.robots.three_link_loop()
    q = la.dynamics.loops.close_loops(robot, la.robots.home(robot))
    bearings = tuple(Bearing(name, 0.5, radius=0.05) for name in robot.joint_names)
    run = la.simulate(robot, q=q, dt=1e-3, steps=300, integrator=StaggeredProjections(bearings=bearings))
    free = la.simulate(robot, q=q, dt=1e-3, steps=300, integrator=StaggeredProjections())
    assert np.diff(run.energy).max() < 1e-9
    assert run.energy[-1] < free.energy[-1] - 1e-2


def test_load_of_a_bearing_carries_the_reaction():
    """Impulses of the contacts add up to the wrench of the joint (2.125), and are smaller than any other that do."""
    robot, bearings = chain_with_bearings(2)
    table = Bearings(robot, bearings)
    points, normals, _ = table.contacts[0]
    N = np.concatenate([np.cross(points, normals), normals], axis=1)
    F = np.array([0.3, -0.2, 0.0, 5.0, -1.0, 2.0])
    alpha = table._solve[0][: len(N)] @ F
    assert np.allclose(N.T @ alpha, F, atol=1e-6)
    assert np.allclose(alpha, np.linalg.lstsq(N.T, F, rcond=None)[0], atol=1e-6)


def test_refusals():
    robot = la.robots.pendulum(links=2)
    with pytest.raises(la.MechanismError, match="unknown joint"):
        la.simulate(robot, steps=1, integrator=StaggeredProjections(bearings=(Bearing("knee", 0.1),)))
    twice = (Bearing(robot.joint_names[0], 0.1), Bearing(robot.joint_names[0], 0.1))
    with pytest.raises(la.IntegratorError, match="two bearings"):
        la.simulate(robot, steps=1, integrator=StaggeredProjections(bearings=twice))
    with pytest.raises(la.IntegratorError, match="bearing on every joint"):
        la.simulate(robot, steps=1, integrator=StaggeredProjections(method="sp"))
    loop = la.robots.three_link_loop()
    with pytest.raises(la.IntegratorError, match="closes a loop"):
        la.simulate(loop, steps=1, integrator=StaggeredProjections(bearings=(Bearing(loop.loops[0].name, 0.1),)))
    with pytest.raises(la.MechanismError, match="radius"):
        Bearing("axle", 0.1, radius=0.0)
