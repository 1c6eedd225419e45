"""Families with motors, servos and prescribed motions: paddles, presses, grasps."""

import math

import numpy as np

from benchmarks.corpus.scene import Scene, random_surface
from leastaction.mechanism import Box, MechanismBuilder, Plane, Pose, Sphere


def paddle(rng) -> Scene:
    """A paddle that a motor turns as given, among balls in a corner."""
    b, q = MechanismBuilder("paddle"), []
    b.body("paddle", mass=1.0, com=(0.2, 0, 0), inertia=0.01, shapes=Box((0.4, 0.05, 0.2), pose=Pose((0.2, 0, 0.1))))
    b.revolute("motor", "world", "paddle", axis="z")
    b.prescribe("motor")
    for i in range(4):
        b.body(f"b{i}", mass=float(10.0 ** rng.uniform(-1, 1)), shapes=Sphere(0.06, **random_surface(rng)))
        b.free(f"b{i}")
        q += [0.3 * math.cos(1.2 * i + 1), 0.3 * math.sin(1.2 * i + 1), 0.1, 1, 0, 0, 0]
    b.add_shape("world", Plane())
    robot = b.build()
    speed = float(rng.uniform(1.0, 8.0))
    return Scene(robot, np.array([0.0, *q]), np.zeros(robot.nv), 0.005, 150, {"motor": lambda t: speed * t})


def motor_presses(rng) -> Scene:
    """An arm of two links that a motor of constant torque presses on a wall."""
    b = MechanismBuilder("motor_press", gravity=(0, 0, 0))
    b.add_shape("world", Box((0.1, 2, 2), pose=Pose((0.7, 0, 0)), friction=float(rng.choice([0.0, 0.5]))))
    for i, parent in enumerate(("world", "l0")):
        skin = [Sphere(0.05, pose=Pose((0.4, 0, 0)))] if i else []
        b.body(f"l{i}", mass=1.0, com=(0.2, 0, 0), inertia=(1e-3, 2e-2, 2e-2), shapes=skin)
        place, stiffness = ((0.4, 0, 0), 20.0) if i else ((0, 0, 0), 0.0)
        b.revolute(f"j{i}", parent, f"l{i}", axis="y", position=place, limits=(-2, 2), stiffness=stiffness, damping=0.5)
    b.actuator("motor", "j0")
    torque = -float(rng.choice([10.0, 100.0]))
    q = np.array([float(rng.uniform(0.9, 1.4)), float(rng.uniform(-0.5, 0.5))])
    return Scene(b.build(), q, np.zeros(2), 0.01, 150, controls=np.array([torque]))


def gripper(offset=(0.0, 0.0, 0.0), turn=(1.0, 0.0, 0.0, 0.0), mass=0.5, friction=0.8, kp=400.0) -> Scene:
    """A box between two servo-driven fingers; by default mirror symmetric."""
    b = MechanismBuilder("gripper")
    for i, side in enumerate((-1, 1)):
        b.body(f"finger{i}", mass=0.2, shapes=Box((0.02, 0.05, 0.05), friction=friction))
        b.prismatic(f"slide{i}", "world", f"finger{i}", axis="-x" if side > 0 else "x", position=(0.08 * side, 0, 0))
        b.position_servo(f"servo{i}", f"slide{i}", kp=kp, kv=10.0)
    b.body("box", mass=mass, shapes=Box((0.1, 0.1, 0.1), friction=friction))
    b.free("box")
    robot = b.build()
    q = np.array([0.015, 0.015, *offset, *turn])
    return Scene(robot, q, np.zeros(robot.nv), 0.005, 200, controls=np.array([0.06, 0.06]))


def grasps(rng) -> Scene:
    """A box that two servo-driven fingers hold against gravity, half of them mirror symmetric."""
    options = {"mass": float(rng.uniform(0.1, 2.0)), "friction": float(rng.uniform(0.3, 1.0))}
    options["kp"] = float(10.0 ** rng.uniform(2, 4))
    if rng.random() < 0.5:
        return gripper(**options)
    turn = Pose.from_axis_angle("xyz"[int(rng.integers(3))], float(rng.uniform(-0.05, 0.05))).quaternion
    return gripper(tuple(rng.uniform(-0.002, 0.002, 3)), turn, **options)


def three_fingers(rng) -> Scene:
    """Three fingers on slides that servos press on each other."""
    b, friction = MechanismBuilder("three_fingers"), float(rng.uniform(0.0, 1.0))
    symmetric = rng.random() < 0.5
    for i in range(3):
        angle = 2.0 * math.pi / 3.0 * i + (0.0 if symmetric else float(rng.uniform(-0.2, 0.2)))
        tip = Sphere(0.03, pose=Pose((0, 0, -0.2)), friction=friction)
        b.body(f"slider{i}", mass=0.2)
        b.body(f"finger{i}", mass=0.3, com=(0, 0, -0.1), inertia=(1e-3, 1e-3, 1e-4), shapes=tip)
        place = Pose.from_axis_angle("z", angle + math.pi, (0.1 * math.cos(angle), 0.1 * math.sin(angle), 0))
        b.prismatic(f"slide{i}", "world", f"slider{i}", axis="x", pose=place)
        b.revolute(f"j{i}", f"slider{i}", f"finger{i}", axis="y", stiffness=5.0, damping=0.05)
        b.position_servo(f"servo{i}", f"slide{i}", kp=float(10.0 ** rng.uniform(2, 4)), kv=5.0)
    robot = b.build()
    return Scene(robot, np.zeros(6), np.zeros(6), 0.005, 150, controls=np.full(3, 0.09))


FAMILIES = (paddle, motor_presses, grasps, three_fingers)
