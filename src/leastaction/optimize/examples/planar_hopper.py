"""A hopper in the plane: a trunk, a leg that swings at the hip and slides, and a toe that touches when it does."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.mechanism import Box, Capsule, Inertia, Mechanism, MechanismBuilder, Plane, Pose, joints
from leastaction.optimize.functions import costs
from leastaction.optimize.problem.problem import Problem
from leastaction.typing import FloatArray

GRAVITY = 9.81
LEG = 0.75
"""From hip to toe, with the slide at zero [m]."""
STANCE, FLIGHT = 0.2, 0.3
"""What a hop takes on the ground and in the air [s]."""
LANDING, LIFT = 0.70, 0.06
"""Heights of the trunk when the toe touches, and of the toe in the air above what a stretched leg has [m]."""


def hopper_robot() -> Mechanism:
    """The robot, 11.5 kg, with level ground; q is x, z and pitch of the trunk, hip and slide."""
    b = MechanismBuilder("hopper")
    b.add_shape("world", Plane())
    b.body("trunk", inertia=Inertia(10.0, (0, 0, 0), 0.5), shapes=Box((0.3, 0.2, 0.15), collision=False))
    plane = (joints.prismatic("x"), joints.prismatic("z"), joints.revolute("y"))
    b.joint("base", "composite", "world", "trunk", parts=plane)
    b.body("leg", inertia=Inertia(1.0, (0, 0, -0.25), (0.02, 0.02, 0.005)), shapes=_rod(0.25, 0.03))
    b.revolute("hip", "trunk", "leg", axis="y", limits=(-1.2, 1.2))
    b.body("shank", inertia=Inertia(0.5, (0, 0, -0.25), (0.01, 0.01, 0.002)), shapes=_rod(0.5, 0.02))
    b.prismatic("slide", "leg", "shank", axis="z", position=(0, 0, -0.25), limits=(-0.1, 0.3))
    b.actuator("hip", "hip", limits=(-60, 60))
    b.actuator("slide", "slide", limits=(-600, 600))
    b.contact("toe", "shank", (0, 0, -0.5), friction=0.8)
    return b.build()


def _rod(length: float, radius: float) -> Capsule:
    return Capsule(radius, length, pose=Pose((0.0, 0.0, -0.5 * length)), collision=False)


def _problem(steps: int, duration: float, options: dict[str, Any]) -> Problem:
    if "dt" not in options:
        options = {"duration": duration} | options
    return Problem(hopper_robot(), steps=steps, **options)


def hopper(steps: int = 20, **options: Any) -> Problem:
    """A hopper in the plane moves on by 0.3 m within 1 s; when and where its toe touches is found with the motion."""
    problem = _problem(steps, 1.0, options)
    problem.start(q=[0, 0.65, 0, 0, 0.1], v=0).finish(q=[0.3, 0.65, 0, 0, 0.1], v=0)
    return problem.minimize(costs.effort(1e-3), costs.velocity(1e-2)).contact()


def steady_hopper(steps: int = 20, **options: Any) -> Problem:
    """The hopper stands on its toe, and lands where it is thrown up: for `MPC`, two iterations each 20 ms."""
    stand = np.array([0, 0.65, 0, 0, 0.1])
    weights = 1e4 * np.array([5.0, 20.0, 20.0, 2.0, 2.0])
    problem = _problem(steps, 0.02 * steps, options)
    problem.start(q=stand, v=0).contact(early=True)
    problem.relaxation = 0.1
    return problem.minimize(
        costs.tracking(stand, weights),
        costs.velocity(1e4 * np.array([0.1, 0.1, 0.2, 0.05, 0.05])),
        costs.effort(1e-3),
        costs.terminal(stand, 0.2 * weights),
    )


def pushed_hopper(steps: int = 30, **options: Any) -> Problem:
    """The hopper hops on the spot and stands pushes: for `MPC`, three iterations each 20 ms, barrier 0.1.

    The goal at each tick is `hops` of the knots' times, see there. Where the toe is put down is up to the optimiser:
    the hip's weight is small.
    """
    problem = _problem(steps, 0.02 * steps, options)
    wanted = hops(np.linspace(0.0, problem.guess_duration, steps + 1))
    down = 0.5 * GRAVITY * FLIGHT
    problem.start(q=wanted[0], v=[0, -down, 0, 0, down]).contact(early=True)
    problem.relaxation = 0.1
    weights = 1e4 * np.array([5.0, 20.0, 20.0, 0.5, 2.0])
    return problem.minimize(
        costs.tracking(wanted, weights),
        costs.velocity(1e4 * np.array([1.0, 0.0, 0.2, 0.02, 0.0])),
        costs.effort([1.0, 0.01]),
        costs.terminal(wanted[-1], 0.2 * weights),
    ).guess(q=wanted)


def hops(t: Any, x: Any = 0.0) -> FloatArray:
    """Postures of a hopper that hops on the spot, shape (times, 5): goals for `pushed_hopper`.

    On the ground its trunk falls and rises at constant acceleration, in the air it flies; trunk and leg are upright.

    Args:
        t: times [s], shape (times,); it lands at 0, and again every 0.5 s.
        x: where [m], one number or (times,).
    """
    t = np.atleast_1d(np.asarray(t, float)) % (STANCE + FLIGHT)
    speed, flown = 0.5 * GRAVITY * FLIGHT, t - STANCE
    on_ground = LANDING - speed * t * (1.0 - t / STANCE)
    in_air = LANDING + speed * flown - 0.5 * GRAVITY * flown**2
    z = np.where(flown < 0.0, on_ground, in_air)
    lift = LIFT * np.sin(np.pi * np.clip(flown / FLIGHT, 0.0, 1.0))
    return np.stack([np.broadcast_to(x, t.shape), z, 0.0 * t, 0.0 * t, LEG - z + lift], axis=1)
