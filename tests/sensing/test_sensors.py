"""Sensors against closed forms, and what they refuse."""

import copy
import dataclasses
import pickle
import warnings

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import MechanismError
from leastaction.mechanism import Box, Capsule, Cylinder, Ellipsoid, HeightField, Mesh, Plane, Pose, Sensor, Sphere
from leastaction.sensing.rays import NONE, along, shape_records


def distance(shape, origin, direction):
    """Distance [m] to a shape along a ray in the shape's own frame, from inside to its skin; `NONE` where it misses."""
    records, triangles = shape_records([(-1, shape)])
    return along(records[0], triangles, tuple(map(float, origin)), tuple(map(float, direction)))


def pendulum():
    """A point mass of 2 kg on a rod of 0.5 m, with everything that can be measured."""
    b = la.MechanismBuilder("pendulum")
    b.body("bob", mass=2.0, com=(0.0, 0.0, -0.5), inertia=(1e-9, 1e-9, 1e-9))
    b.joint("pivot", "revolute", "world", "bob", axis="y")
    b.frame("tip", "bob", (0.0, 0.0, -0.5))
    for kind in ("accelerometer", "gyro", "velocimeter", "position", "range"):
        b.sensor(kind, kind, "tip")
    b.sensor("pull", "force", "bob")
    b.sensor("angle", "joint_position", "pivot")
    b.sensor("rate", "joint_velocity", "pivot", cutoff=0.5)
    return b.build().replace(ground=(Plane(pose=Pose((0.0, 0.0, -2.0))),))


@pytest.mark.filterwarnings("ignore::leastaction.errors.LeastActionWarning")
def test_a_pendulum_feels_its_tension_and_nothing_else():
    robot = pendulum()
    run = la.simulate(robot, [1.0], dt=0.01, steps=60, integrator=la.Galerkin(order=4))
    q, v, s = run.q[:, 0], run.v[:, 0], run.sensors
    tension = 2.0 * (0.5 * v**2 + 9.81 * np.cos(q))
    assert np.allclose(s["pull"], np.stack([0 * q, 0 * q, tension], axis=1), atol=1e-6)
    assert np.allclose(s["accelerometer"][:, 2], tension / 2.0, atol=1e-6)
    assert np.allclose(s["accelerometer"][:, :2], 0.0, atol=1e-6)
    assert np.allclose(s["gyro"], np.stack([0 * q, v, 0 * q], axis=1))
    assert np.allclose(s["velocimeter"], np.stack([-0.5 * v, 0 * q, 0 * q], axis=1))
    assert np.allclose(s["position"], np.stack([-0.5 * np.sin(q), 0 * q, -0.5 * np.cos(q)], axis=1))
    assert np.allclose(s["angle"][:, 0], q)
    assert np.allclose(s["rate"][:, 0], np.clip(v, -0.5, 0.5))
    assert (s["range"] == -1.0).all()  # z of the tip points up


@pytest.mark.parametrize("limits", [None, (-50.0, 50.0)])
def test_joints_transmit_what_drives_them_and_not_what_pushes_bodies(limits):
    """At rest a servo holds the weight less what a thruster carries, whether its force has a range or not."""
    b = la.MechanismBuilder("arm")
    b.body("arm", mass=2.0, com=(0.5, 0.0, 0.0), inertia=0.1)
    b.joint("pivot", "revolute", "world", "arm", axis="y")
    b.position_servo("servo", "pivot", kp=1e3, force_limits=limits)
    b.thruster("jet", "arm", (0.0, -0.5, 0.0, 0.0, 0.0, 1.0))
    for kind in ("force", "torque", "joint_force"):
        b.sensor(kind, kind, "pivot" if kind == "joint_force" else "arm")
    robot = b.build()
    weight, thrust = 2.0 * 9.81, 5.0
    load = 0.5 * (weight - thrust)  # about the pivot
    sim = la.Simulator(robot, la.Maximal(), dt=1e-6)
    sim.step([-load / 1e3, thrust])
    s = sim.sensors
    assert np.allclose(s["force"], [0.0, 0.0, weight - thrust], atol=1e-6)
    assert np.allclose(s["torque"], [0.0, -load, 0.0], atol=1e-6)
    assert np.allclose(s["joint_force"], -load, atol=1e-6)


def test_rays_meet_shapes_where_geometry_says():
    o, d = np.array([-3.0, 0.2, 0.1]), np.array([1.0, 0.0, 0.0])
    assert np.isclose(distance(Sphere(1.0), o, d), 3.0 - np.sqrt(1.0 - 0.05))
    assert np.isclose(distance(Box((1.0, 1.0, 1.0)), o, d), 2.5)
    assert np.isclose(distance(Cylinder(1.0, 1.0), o, d), 3.0 - np.sqrt(0.96))
    assert np.isclose(distance(Capsule(1.0, 1.0), o, d), 3.0 - np.sqrt(0.96))
    assert np.isclose(distance(Ellipsoid((2.0, 1.0, 0.5)), o, d), 3.0 - 2.0 * np.sqrt(1.0 - 0.04 - 0.04))
    assert np.isclose(distance(Ellipsoid((2.0, 1.0, 0.5)), np.zeros(3), d), 2.0)  # from inside
    assert distance(Ellipsoid((2.0, 0.1, 0.5)), o, d) == NONE
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert distance(Capsule(0.05, 1.0), o, d) == NONE
    assert distance(Plane(), o, d) == NONE
    down = np.array([0.0, 0.0, -1.0])
    top = np.array([0.3, 0.2, 5.0])
    assert np.isclose(distance(Plane(), top, down), 5.0)
    assert np.isclose(distance(Cylinder(1.0, 1.0), top, down), 4.5)
    assert np.isclose(distance(Capsule(1.0, 1.0), top, down), 4.5 - np.sqrt(1.0 - 0.13))
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    assert np.isclose(distance(Mesh(corners), top, down), 4.0)
    field = HeightField(np.array([[0.0, 0.0], [1.0, 1.0]]), 2.0)
    assert np.isclose(distance(field, top, down), 5.0 - 0.65)
    assert distance(Sphere(1.0), o, -d) == NONE
    assert distance(Box((1.0, 1.0, 1.0)), o + [0.0, 1.0, 0.0], d) == NONE
    assert np.isclose(distance(Sphere(1.0), np.zeros(3), d), 1.0)  # from inside


def test_loops_feel_the_accelerations_that_they_have():
    robot = la.robots.four_bar()
    b = robot.edit()
    b.sensor("imu", "accelerometer", robot.body_names[1])
    robot = b.build()
    q = la.dynamics.close_loops(robot, robot.home())
    run = la.simulate(robot, q, dt=1e-3, steps=40, integrator=la.Galerkin(order=4))
    # By differences of the velocity of the body's origin, less gravity.
    poses = [la.kinematics.frame_pose(robot, row, robot.body_names[1]) for row in run.q]
    x = np.array([X[:3, 3] for X in poses])
    felt = (x[21] - 2.0 * x[20] + x[19]) / 1e-6 - np.array(robot.gravity)
    assert np.allclose(run.sensors["imu"][20], poses[20][:3, :3].T @ felt, atol=1e-4)
    b.sensor("load", "force", robot.body_names[1])
    with pytest.raises(MechanismError, match="forces in joints are known of trees alone"):
        la.simulate(b.build(), q, dt=1e-3, steps=1, integrator=la.Galerkin(order=4)).sensors  # noqa: B018


def test_wrong_sensors_are_refused_by_name(tmp_path):
    robot = pendulum()
    with pytest.raises(MechanismError, match=r"sensor 's': unknown kind 'gyroo'.*gyro"):
        Sensor("s", "gyroo", "tip")
    with pytest.raises(MechanismError, match="sensor 's': a gyro is not seen from another frame"):
        Sensor("s", "gyro", "tip", reference="bob")
    with pytest.raises(MechanismError, match="sensor 's': zone must be"):
        Sensor("s", "touch", "tip", zone=Plane())
    with pytest.raises(MechanismError, match="sensor 's': unknown frame or body 'top'"):
        robot.replace(sensors=(Sensor("s", "gyro", "top"),))
    with pytest.raises(MechanismError, match="sensor 's': unknown coordinate"):
        robot.replace(sensors=(Sensor("s", "joint_position", "elbow"),))
    run = la.simulate(robot.replace(ground=()), [0.3], dt=0.01, steps=3, integrator=la.Galerkin(order=4))
    again = la.Trajectory.load(run.save(tmp_path / "run"))
    assert all((again.sensors[name] == values).all() for name, values in run.sensors.items())


@pytest.mark.parametrize("integrator", [la.Maximal(), la.Maximal(order=1), la.Grounded()])
def test_what_rests_feels_its_whole_weight_from_the_first_state_on(integrator):
    b = la.robots.cube(friction=0.5).edit()
    name = b.bodies[0].name
    b.sensor("imu", "accelerometer", name)
    b.sensor("touch", "touch", name)
    cube = b.build()
    q, weight = la.robots.on_ground(cube, cube.home()), 9.81 * cube.total_mass
    first = la.simulate(cube, q, dt=0.01, steps=4, integrator=integrator)
    again = la.simulate(cube, first.q[-1], p=first.p[-1], dt=0.01, steps=4, integrator=integrator)
    for run in (first, again, first[2:]):
        assert np.allclose(run.sensors["touch"][:, 0], weight, rtol=1e-5)
        assert np.allclose(run.sensors["imu"], [0.0, 0.0, 9.81], atol=1e-4)
    sim = la.Simulator(cube, integrator, dt=0.01)
    sim.reset(q)
    for _ in range(3):
        sim.step()
        assert np.allclose(sim.sensors["touch"], weight, rtol=1e-5)


def test_sensors_of_a_state_that_was_brought_back_are_those_of_then():
    b = la.robots.cube(friction=0.5).edit()
    name = b.bodies[0].name
    b.body("flap", mass=0.1, inertia=1e-3)
    b.revolute("hinge", name, "flap", axis="y")
    b.position_servo("servo", "hinge", kp=1.0, kv=0.1)
    b.sensor("imu", "accelerometer", name)
    b.sensor("touch", "touch", name)
    b.sensor("torque", "joint_force", "hinge")
    robot = b.build()
    sim = la.Simulator(robot, la.Maximal(), dt=0.01, pushable=[name])
    sim.reset(la.robots.on_ground(robot, robot.home()))
    for u in (0.1, 0.3):
        sim.push(name, force=(0.0, 0.0, -2.0))
        sim.step([u])
    then, kept, contacts = sim.sensors, sim.state(), sim.contacts
    assert then["touch"][0] > 10.0
    sim.step([-0.5])
    sim.set_state(kept)
    for other in (sim, copy.deepcopy(sim), pickle.loads(pickle.dumps(sim))):
        assert np.array_equal(other.contacts, contacts)
        assert all(np.array_equal(other.sensors[key], then[key]) for key in then)
    plain = la.Simulator(robot, la.Maximal(), dt=0.01)  # takes the state, without the pushes
    plain.set_state(kept)
    assert np.array_equal(plain.sensors["torque"], then["torque"])
    for wrong in (dataclasses.replace(kept, u=np.zeros(3)), dataclasses.replace(kept, contacts=np.zeros((2, 3)))):
        with pytest.raises(la.IntegratorError, match="set_state"):
            sim.set_state(wrong)
