"""Problems to begin with, by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leastaction import robots
from leastaction.dynamics import body_poses
from leastaction.dynamics import center_of_mass as com_of
from leastaction.errors import ProblemError
from leastaction.mechanism import Inertia, Joint, Mechanism, MechanismBuilder, Pose
from leastaction.mechanism._check import suggestion
from leastaction.optimize.constraints.feet import foot, phase
from leastaction.optimize.examples.legged_robots import (
    littledog,
    spring_flamingo,
    spring_flamingo_stride,
    spring_flamingo_walk,
)
from leastaction.optimize.examples.planar_hopper import hopper, pushed_hopper, steady_hopper
from leastaction.optimize.examples.standing_postures import balanced
from leastaction.optimize.functions import costs, motion_constraints
from leastaction.optimize.problem.problem import Problem

__all__ = [
    "Example",
    "acrobot",
    "arm",
    "atlas",
    "balance",
    "cart_pole",
    "catalogue",
    "double_pendulum",
    "get",
    "hopper",
    "littledog",
    "nao",
    "pushed_hopper",
    "satellite",
    "spring_flamingo",
    "spring_flamingo_stride",
    "spring_flamingo_walk",
    "steady_arm",
    "steady_hopper",
]


def _problem(robot: Mechanism, steps: int, duration: float, options: dict[str, Any]) -> Problem:
    if "dt" not in options:
        options = {"duration": duration} | options
    return Problem(robot, steps=steps, **options)


def cart_pole(steps: int = 60, **options: Any) -> Problem:
    """A cart-pole swings up within 2 s, with at most 20 N, on 4 m of rail."""
    problem = _problem(robots.cart_pole(), steps, 2.0, options)
    problem.start(q=[0, 0], v=[0, 0]).finish(q=[0, math.pi], v=[0, 0])
    return problem.bounds(u=(-20, 20), q={"rail": (-2, 2)}).minimize(costs.effort())


def acrobot(steps: int = 60, **options: Any) -> Problem:
    """An acrobot swings up within 3 s, driven at the elbow with at most 30 N m."""
    problem = _problem(robots.acrobot(), steps, 3.0, options)
    problem.start(q=[0, 0], v=[0, 0]).finish(q=[math.pi, 0], v=[0, 0])
    return problem.bounds(u=(-30, 30)).minimize(costs.effort())


def double_pendulum(steps: int = 80, **options: Any) -> Problem:
    """A double pendulum with two motors swings up within 2 s, with at most 20 N m at each joint."""
    problem = _problem(robots.double_pendulum(), steps, 2.0, options)
    problem.start(q=[0, 0], v=[0, 0]).finish(q=[math.pi, 0], v=[0, 0])
    return problem.bounds(u=(-20, 20)).minimize(costs.effort())


def arm(steps: int = 50, **options: Any) -> Problem:
    """An arm with three joints moves from rest to rest within 5 s without gravity, with the least effort.

    After Villanueva 2025, Table 3, which gives the time and the cost but neither the robot nor its postures.
    """
    b = MechanismBuilder("arm", gravity=(0.0, 0.0, 0.0))
    for name, mass in (("column", 2.0), ("upper", 1.0), ("fore", 1.0)):
        b.body(name, inertia=Inertia(mass, (0, 0, 0.25), (0.021 * mass, 0.021 * mass, 0.004 * mass)))
    b.revolute("yaw", "world", "column", axis="z")
    b.revolute("shoulder", "column", "upper", axis="y", position=(0, 0, 0.4))
    b.revolute("elbow", "upper", "fore", axis="y", position=(0, 0, 0.5))
    problem = _problem(b.build(), steps, 5.0, options)
    return problem.start(q=[0, 0.5, 1.0], v=0).finish(q=[1.5, 1.2, 0.5], v=0).minimize(costs.effort())


def satellite(steps: int = 30, **options: Any) -> Problem:
    """A free body turns over and moves on within 2 s, with the least effort: no orientation is singular."""
    robot = robots.free_body()
    goal = robot.integrate(robot.neutral(), [0.5, 2.5, 0.4, 1.0, 0.0, 0.5])
    problem = _problem(robot, steps, 2.0, options)
    return problem.start(q=robot.neutral(), v=0).finish(q=goal, v=0).minimize(costs.effort())


def nao(steps: int = 50, **options: Any) -> Problem:
    """NAO on its left foot lifts its right leg and its arms within 2 s and keeps its centre of mass above the foot.

    After Villanueva 2025, Section 5.3: the cost is that of Eq. 80, the momentum about the centre of mass and the
    differences of q; the paper does not give the postures.
    """
    robot = standing_on(robots.nao(), "l_ankle")
    start, finish = (robot.neutral() for _ in range(2))
    bent = {"HipPitch": -0.4, "KneePitch": 0.8, "AnklePitch": -0.4}
    sides = {"RShoulderPitch": 1.4, "LShoulderPitch": 1.4, "RElbowRoll": 0.5, "LElbowRoll": -0.5}
    sides |= {"LHipRoll": 0.24, "RHipRoll": 0.1, "LAnkleRoll": -0.1}
    for name, value in (
        *((f"{side}{name}", value) for side in "LR" for name, value in bent.items()),
        *sides.items(),
    ):
        start[robot.coordinate_index(name)] = value
    finish[:] = start
    moved = {"RHipPitch": -0.9, "RKneePitch": 1.2, "RShoulderPitch": 0.2, "LShoulderPitch": 0.2, "LShoulderRoll": 0.4}
    for name, value in moved.items():
        finish[robot.coordinate_index(name)] = value
    problem = _problem(robot, steps, 2.0, options)
    problem.start(q=start, v=0).finish(q=finish, v=0)
    problem.minimize(costs.momentum(), costs.differences())
    middle = 0.5 * (com_of(robot, start) + com_of(robot, finish))
    reach = np.array([0.04, 0.03, np.inf])
    return problem.subject_to(motion_constraints.center_of_mass(middle - reach, middle + reach))


def balance(steps: int = 50, **options: Any) -> Problem:
    """A cart-pole stands upright, with at most 20 N, on 4 m of rail: for `MPC`, at steps of 20 ms."""
    up = [0.0, math.pi]
    problem = _problem(robots.cart_pole(), steps, 0.02 * steps, options)
    problem.start(q=up, v=0).bounds(u=(-20, 20), q={"rail": (-2, 2)})
    return problem.minimize(
        costs.tracking(up, [1, 10]), costs.velocity(0.1), costs.effort(1e-3), costs.terminal(up, [10, 100])
    )


def steady_arm(steps: int = 30, **options: Any) -> Problem:
    """An arm with seven joints holds a bent posture against its weight: for `MPC`, at steps of 20 ms."""
    robot = robots.serial_arm(7)
    bent = np.array([0.3, 0.5, 0.2, 0.9, -0.3, 0.6, 0.0])
    problem = _problem(robot, steps, 0.02 * steps, options)
    problem.start(q=bent, v=0)
    return problem.minimize(
        costs.tracking(bent, 20.0), costs.velocity(0.3), costs.effort(1e-5), costs.terminal(bent, 20.0)
    )


def atlas(steps: int = 40, **options: Any) -> Problem:
    """Atlas, balancing on its right foot, reaches a ball with its left hand within 1.3 s; use the Gauss-Newton Hessian.

    After Fan 2018, Section 6.3, which gives the time and that the wrench on the foot is that of a flat foot: friction
    cone, centre of pressure within the sole. Where the ball is, and the costs (effort, velocities, the posture at the
    end), are ours.
    """
    robot = robots.atlas().replace(contacts=())
    sole, lifted = (0.0426, -0.0017, -0.07645), {"l_leg_hpy": -0.7, "l_leg_kny": 1.2}
    q = robots.home(robot)
    for name, angle in lifted.items():
        q[robot.coordinate_index(name)] = angle
    place = (body_poses(robot, q)[robot.body_index("r_foot")] @ [*sole, 1.0])[:3]
    start = balanced(robot, q, "r_foot", place[:2])
    problem = _problem(robot, steps, 1.3, options)
    problem.start(q=start, v=0).finish(v=0)
    problem.phases(phase(steps, foot("r_foot", point=sole, size=(0.12, 0.055), friction=0.6, at=place)))
    problem.minimize(costs.effort(1e-5), costs.velocity(), costs.terminal(start))
    return problem.subject_to(motion_constraints.position("l_hand", (0.5, 0.3, 0.75), at=-1))


@dataclass(frozen=True)
class Example:
    """A problem by name."""

    name: str
    make: Callable[..., Problem]

    @property
    def text(self) -> str:
        """What it is, in one line."""
        return (self.make.__doc__ or "").splitlines()[0]


def catalogue() -> list[Example]:
    """All examples."""
    makers = (
        cart_pole,
        acrobot,
        double_pendulum,
        arm,
        satellite,
        nao,
        atlas,
        spring_flamingo,
        spring_flamingo_stride,
        spring_flamingo_walk,
        littledog,
        hopper,
    )
    return [Example(make.__name__, make) for make in makers]


def get(name: str, **options: Any) -> Problem:
    """The example of that name; options are its `steps` and those of `Problem`."""
    known = {example.name: example for example in catalogue()}
    if name not in known:
        hint = suggestion(name, list(known)) or f"; there are {', '.join(known)}"
        raise ProblemError(f"unknown problem {name!r}{hint}")
    return known[name].make(**options)


def standing_on(robot: Mechanism, body: str) -> Mechanism:
    """The same robot with one of its bodies fixed to the world where it is at q = 0, and no other tie to the world.

    Joints between that body and the old base are turned round; their coordinates keep their meaning. For robots with
    joints of single axes.
    """
    around: dict[str, list[Joint]] = {}
    for joint in robot.joints:
        if joint.parent != "world":
            around.setdefault(joint.parent, []).append(joint)
            around.setdefault(joint.child, []).append(joint)
    pose = Pose.from_matrix(body_poses(robot, robot.neutral())[robot.body_index(body)])
    joints, order, waiting = [Joint(f"{body}_ground", "fixed", "world", body, pose=pose)], [body], [body]
    while waiting:
        parent = waiting.pop()
        for joint in reversed(around.get(parent, [])):
            child = joint.child if joint.parent == parent else joint.parent
            if child not in order:
                order.append(child)
                waiting.append(child)
                joints.append(joint if joint.parent == parent else _turned(joint))
    bodies = {b.name: b for b in robot.bodies}
    names = {joint.child: joint for joint in joints}
    order = _depth_first(order, names)
    return robot.replace(
        bodies=tuple(bodies[name] for name in order), joints=tuple(names[name] for name in order), contacts=()
    )


def _depth_first(order: list[str], joints: dict[str, Joint]) -> list[str]:
    """Parents before children, each subtree in one piece."""
    out: list[str] = []

    def visit(name: str) -> None:
        out.append(name)
        for other in order:
            if joints[other].parent == name:
                visit(other)

    visit(order[0])
    return out


def _turned(joint: Joint) -> Joint:
    """The joint seen from its child."""
    if any(p.nv != 1 for p in joint.primitives):
        raise ProblemError(f"joint {joint.name!r} cannot be turned round: it has more than a single axis")
    primitives = tuple(replace(p, axis=tuple(-x for x in p.axis)) for p in reversed(joint.primitives))
    return replace(
        joint,
        parent=joint.child,
        child=joint.parent,
        primitives=primitives,
        pose=joint.child_pose.inverse(),
        child_pose=joint.pose.inverse(),
    )


def __dir__() -> list[str]:
    return [*__all__]
