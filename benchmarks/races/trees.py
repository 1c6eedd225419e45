"""A free humanoid and a fixed NAO, thrown: error against CPU time beside five peers."""

from dataclasses import replace

import leastaction as la
from benchmarks.races import chains, course
from benchmarks.starts import thrown

COUNTS, DURATION = (10, 20, 40, 80, 160, 320), 0.5
SEEDS, SPEED = (0, 1, 2), 2.0
ROBOTS = {
    "humanoid, free": la.robots.humanoid_tree,
    "NAO, fixed": lambda: la.robots.nao(floating=False).replace(contacts=(), actuators=()),
}

NOTES = f"""Postures within ±15 degrees of neutral, joint velocities within ±{SPEED:g} rad/s, {DURATION:g} s without \
contacts, limits and friction. Reference: DOP853 with rtol = 1e-12."""


def run(progress, quick=False):
    """Both robots and all contenders."""
    counts, seeds = (COUNTS[1:4:2], SEEDS[:1]) if quick else (COUNTS, SEEDS)
    progress.total(len(counts) * len(ROBOTS))
    races = course.Course(progress, course.named(chains.OURS) | course.peers(), set(chains.OURS))
    call = course.call_seconds()
    for name, make in ROBOTS.items():
        robot = bare(make())
        starts = [thrown(robot, SPEED, seed) for seed in seeds]
        ends = [chains.refined(robot, q, v, DURATION) for q, v in starts]
        races.race(name, robot, starts, DURATION, counts, ends, call=call)
    return races.report("Trees", NOTES, seeds)


def bare(robot):
    """Without limits, springs, dampers and friction of joints, which engines treat each in their way."""
    free = {"lower": -float("inf"), "upper": float("inf")} | dict.fromkeys(("damping", "friction", "stiffness"), 0.0)
    joints = tuple(
        joint if joint.nv != 1 else replace(joint, **{key: (x,) for key, x in free.items()}) for joint in robot.joints
    )
    return robot.replace(joints=joints)
