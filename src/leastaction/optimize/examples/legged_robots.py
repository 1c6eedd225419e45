"""Robots that walk and jump, with contacts that are found with the motion (Fan 2018, Section 6)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from leastaction import robots
from leastaction.mechanism import Box, Mechanism, Pose
from leastaction.optimize.constraints.contact_implicit import contact_reaction, touch, touches
from leastaction.optimize.constraints.reactions import evaluate
from leastaction.optimize.constraints.terrain import flat, gaps
from leastaction.optimize.functions import costs, motion_constraints
from leastaction.optimize.problem.problem import Problem
from leastaction.typing import FloatArray

SHIN = 0.42
"""Length of Spring Flamingo's upper and lower legs [m]."""
SOLE = 0.04
"""Height of its ankles above its soles [m]."""
HEEL, TOE = 0.0575, -0.1725
"""Ends of the soles along x of the feet [m]; the robot faces -x."""
JOINTS = {"hip": (-0.8, 1.8), "knee": (-2.4, -0.05), "ankle": (-1.0, 1.0)}
"""Limits of the joints [rad]."""


def spring_flamingo(steps: int = 80, **options: Any) -> Problem:
    """Spring Flamingo walks, jumps over an obstacle 0.16 m high and walks on, 1.44 m in 1.6 s; no contact is scheduled.

    After Fan 2018, Section 6.1: passive springs at the ankles, 0.26 m/s at the start, 0.9 m/s on average. The obstacle
    is a half cylinder that soles stay clear of at all knots; half way both soles are as high as it. The first guess
    stands with bent knees and is moved on at constant speed, with a hump. Where the obstacle is, the start, the limits
    and the costs (effort, velocities) are ours.
    """
    robot, distance = robots.spring_flamingo(ground=True), 1.44
    problem = flamingo_problem(robot, steps, 1.6, options)
    start = flamingo_posture(robot, 0.8, 0.15, -0.15)
    finish = start.copy()
    finish[0] = -distance
    v = speed_on_feet(robot, start, [-0.26, 0.0, 0.0])
    problem.start(q=start, v=v).finish(q=finish, v=v)
    for side, y in (("r", -0.12), ("l", 0.12)):
        foot, center = f"{side}_foot", (-0.5 * distance - 0.05, y, 0.0)
        for x in (HEEL, 0.5 * (HEEL + TOE), TOE):
            # The margin makes up for the sole between these points.
            problem.subject_to(motion_constraints.clearance(foot, center, 0.16, point=(x, 0.0, -SOLE), margin=0.012))
        for x in (HEEL, TOE):
            above = [-np.inf, -np.inf, 0.16]
            problem.subject_to(motion_constraints.position(foot, lower=above, point=(x, 0.0, -SOLE), at=steps // 2))
    t = np.linspace(0.0, 1.0, steps + 1)
    q = np.tile(start, (steps + 1, 1))
    q[:, 0] = -distance * t
    q[:, 1] += 0.25 * np.clip(1.0 - ((t - 0.5) / 0.2) ** 2, 0.0, None)
    return problem.guess(q=q, u=[0, 10, 0, 10])


def flamingo_problem(
    robot: Mechanism, steps: int, duration: float, options: dict[str, Any], effort: float = 1e-3, velocity: float = 0.3
) -> Problem:
    """Limits, contacts and costs with these weights."""
    if "dt" not in options:
        options = {"duration": duration} | options
    problem = Problem(robot, steps=steps, **options)
    legs = {f"{side}_{name}": pair for side in "rl" for name, pair in JOINTS.items()}
    problem.bounds(q={robot.coordinate_names[2]: (-0.4, 0.4), **legs}, u=(-80, 80))
    problem.bounds(v=dict.fromkeys(legs, (-15.0, 15.0)))
    return problem.minimize(costs.effort(effort), costs.velocity(velocity)).contact()


def flamingo_posture(
    robot: Mechanism, height: float, right: float, left: float, lifts: tuple[float, float] = (0.0, 0.0)
) -> FloatArray:
    """Spring Flamingo with level soles: hips so high, ankles so far ahead of them, soles lifted so far [m]."""
    q = robot.neutral()
    q[1] = height
    for side, ahead, lift in (("r", right, lifts[0]), ("l", left, lifts[1])):
        down = height - SOLE - lift
        interior = math.acos(min(math.hypot(ahead, down) / (2.0 * SHIN), 1.0))
        hip, knee = math.atan2(ahead, down) + interior, -2.0 * interior
        for name, angle in (("hip", hip), ("knee", knee), ("ankle", -hip - knee)):
            q[robot.coordinate_index(f"{side}_{name}")] = angle
    return q


def speed_on_feet(robot: Mechanism, q: FloatArray, wanted: Any) -> FloatArray:
    """The velocity nearest to `wanted`, of the first degrees of freedom, with which no contact point moves, (nv,)."""
    from leastaction.dynamics.workspace import Workspace

    rows = [
        evaluate(Workspace(robot), r.rows[:3], np.zeros(0), q[None], False)[1][0]
        for r in (contact_reaction(robot, t, flat(), np.arange(2), False) for t in touches(robot, ()))
    ]
    J = np.concatenate(rows)
    free = np.eye(robot.nv) - np.linalg.pinv(J) @ J
    n = len(wanted)
    return free @ np.linalg.pinv(free[:n]) @ np.asarray(wanted, float)


def spring_flamingo_stride(steps: int = 40, **options: Any) -> Problem:
    """Spring Flamingo goes at 0.9 m/s: a stride of 0.72 m in 0.8 s that repeats; no contact is scheduled.

    What comes out is a slow run: one foot after the other, with flights between. The first guess moves on at constant
    speed while the legs swing about a standing posture, one against the other.
    """
    robot, stride = robots.spring_flamingo(ground=True), 0.72
    problem = flamingo_problem(robot, steps, 0.8, options)
    ahead = robot.coordinate_names[0]
    problem.start(q={ahead: 0.0}).periodic({ahead: -stride})
    t = np.linspace(0.0, 1.0, steps + 1)
    swing = 0.18 * np.cos(2.0 * np.pi * t)
    q = np.array([flamingo_posture(robot, 0.82, x, -x) for x in swing])
    q[:, 0] = -stride * t
    return problem.guess(q=q, u=[0, 10, 0, 10])


def spring_flamingo_walk(steps: int = 40, **options: Any) -> Problem:
    """Spring Flamingo walks at 0.9 m/s: a stride of 0.9 m in 1 s that repeats; no contact is scheduled.

    The first guess moves on at constant speed and height while each foot is put down ahead, goes back as fast as the
    body comes on, and is lifted by 0.2 m on its way ahead again, its sole level all the time. Hips and knees that are
    away from it cost something, which makes the robot lift its feet: without that it drags its toes. When heels and
    toes touch is found with the motion.
    """
    robot, stride = robots.spring_flamingo(ground=True), 0.9
    problem = flamingo_problem(robot, steps, 1.0, options, effort=1e-2, velocity=0.05)
    ahead = robot.coordinate_names[0]
    problem.start(q={ahead: 0.0}).periodic({ahead: -stride})
    q = walking(robot, steps, stride, height=0.82, lift=0.2, down=0.6)
    problem.minimize(costs.tracking(q, [0.0, 0.0, 0.0, *(2 * [10.0, 10.0, 0.0])]))
    return problem.guess(q=q, u=[0, 10, 0, 10])


def walking(robot: Mechanism, steps: int, stride: float, height: float, lift: float, down: float) -> FloatArray:
    """Spring Flamingo put from posture to posture over a stride, shape (steps + 1, nq).

    Args:
        stride: way of two steps [m].
        height: of the hips [m].
        lift: of a sole at most [m].
        down: share of a stride for which each foot stands.
    """
    out = []
    for t in np.linspace(0.0, 1.0, steps + 1):
        reach, lifts = [], []
        for phase in (t % 1.0, (t + 0.5) % 1.0):
            swing = max(phase - down, 0.0) / (1.0 - down)
            behind = phase / down if phase < down else 0.5 + 0.5 * math.cos(math.pi * swing)
            reach.append(stride * down * (0.5 - behind))
            lifts.append(lift * math.sin(math.pi * swing))
        q = flamingo_posture(robot, height, *reach, lifts=(lifts[0], lifts[1]))
        q[0] = -stride * t
        out.append(q)
    return np.array(out)


FOOT = 0.0103
"""Radius of LittleDog's feet [m]."""
GAPS = ((0.12, 0.17), (0.30, 0.35))
"""From where to where along x there is no ground [m]."""
EDGE = 0.02
"""How far from a gap its feet are put down [m]."""
TROT = {"front_left": 0.0, "front_right": 0.5, "back_left": 0.5, "back_right": 0.0}
"""Shares of a period by which legs of the first guess are ahead."""


def littledog(steps: int = 60, **options: Any) -> Problem:
    """LittleDog crosses two gaps of 5 cm, half a metre in 2 s, from rest to rest; no contact is scheduled.

    After Fan 2018, Section 6.2, at the average speed given there, 0.25 m/s; the gaps, the limits and the costs (effort,
    velocities, and joints that are away from the first guess, which makes it lift its feet) are ours. Feet may push
    wherever there is ground, 2 cm from an edge, and never get below it. The first guess trots on the spot while it is
    moved on at constant speed: neither do its feet stand still, nor does it know of the gaps.
    """
    robot, distance, period = littledog_on_platforms(), 0.5, 0.5
    if "dt" not in options:
        options = {"duration": 2.0} | options
    problem = Problem(robot, steps=steps, **options)
    start = robots.home(robots.littledog())
    finish = start.copy()
    finish[0] = distance
    problem.start(q=start, v=0).finish(q=finish, v=0).bounds(u=(-6, 6))
    joints = [f"{leg}_{name}" for leg in TROT for name in ("hip_roll", "hip_pitch", "knee")]
    problem.bounds(v=dict.fromkeys(joints, (-12.0, 12.0)))
    problem.subject_to(motion_constraints.position("body", lower=[-np.inf, -0.05, 0.11], upper=[np.inf, 0.05, 0.2]))
    problem.subject_to(motion_constraints.pose("body", np.eye(3), tolerance=0.3))
    # Balls that do not roll are points at the height of their middles.
    feet = [touch(c.body, point=c.point, friction=c.friction) for c in robot.contacts]
    problem.contact(*feet, ground=gaps(GAPS, height=FOOT, depth=0.2, width=2.0 * EDGE))
    t = np.linspace(0.0, problem.guess_duration, steps + 1)
    q = np.tile(start, (steps + 1, 1))
    q[:, 0] = distance * t / t[-1]
    eased = np.minimum(1.0, np.minimum(t, t[-1] - t) / 0.2)
    for leg, ahead in TROT.items():
        phase, side = 2.0 * np.pi * (t / period + ahead), 1.0 if leg.startswith("front") else -1.0
        lift = eased * np.clip(-np.sin(phase), 0.0, None)
        reach = 0.5 * distance / t[-1] * period * eased * np.cos(phase)
        q[:, robot.coordinate_index(f"{leg}_hip_pitch")] += 0.4 * side * lift - reach / 0.15
        q[:, robot.coordinate_index(f"{leg}_knee")] -= 0.8 * side * lift
    for each in feet:  # over gaps too
        problem.subject_to(
            motion_constraints.position(each.body, lower=[-np.inf, -np.inf, FOOT - 1e-4], point=each.point)
        )
    joints_only = np.r_[np.zeros(6), np.full(12, 6.0)]
    problem.minimize(costs.effort(), costs.velocity(0.02), costs.tracking(q, joints_only))
    return problem.guess(q=q)


def littledog_on_platforms() -> Mechanism:
    """LittleDog on blocks with `GAPS` between them."""
    b = robots.littledog().edit()
    edges = [-0.5, *(x for gap in GAPS for x in gap), 1.0]
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        middle = Pose((0.5 * (first + last), 0.0, -0.05))
        b.add_shape("world", Box((last - first, 0.5, 0.1), pose=middle, friction=0.8, color=(0.8, 0.8, 0.78, 1.0)))
    return b.build()
