"""Chains of 1 to 512 links on hinges from random starts: error against CPU time beside five peers."""

import numpy as np

import leastaction as la
from benchmarks.races import course, engines
from benchmarks.starts import near_neutral

LENGTHS, FEW = (1, 2, 8, 32, 128, 512), (2, 32)
ANGLE = 0.3
SEEDS, ONE = (0, 1, 2), (0,)
LONG = 100
"""From so many links on: one start, and a shorter motion."""
COUNTS, DURATION = (25, 50, 100, 200, 400, 800), 1.0
LONG_COUNTS, SHORT = (10, 20, 40, 80, 160), 0.1
OURS = {
    "Galerkin(2)": la.Galerkin(order=2),
    "Galerkin(4)": la.Galerkin(order=4),
    "Galerkin(8)": la.Galerkin(order=8),
    "Maximal(2)": la.Maximal(),
    "RungeKutta(4)": la.RungeKutta(order=4),
}
BULLET = 100
"""Links of one of Bullet's multibodies at most, rounded down; CENIC's memory allows no more either."""

NOTES = f"""Pendulums of rods of 1 m and 1 kg from rest, angles within ±{ANGLE} rad; {DURATION:g} s of motion from \
three starts; from {LONG} links on, {SHORT:g} s from one start. Reference: DOP853 with rtol = 1e-12. MuJoCo without \
contacts and constraints. PyBullet does not support multibodies of {BULLET} links or more; CENIC is not run there \
because of its memory use."""


def refined(robot, q, v, duration):
    """Where the bodies are at the end."""
    tight = la.DOP853(rtol=1e-12, atol=1e-13, max_steps=50_000)
    return engines.places(robot, la.simulate(robot, q, v, dt=duration, steps=1, integrator=tight).q[-1])


def run(progress, quick=False):
    """All lengths and contenders."""
    return chains(progress, FEW if quick else LENGTHS, quick, "revolute", OURS, "Chains on hinges", NOTES)


def chains(progress, lengths, quick, joint, methods, title, notes, most=DURATION):
    """Races of pendulums with one kind of joint, over `most` [s] at most."""
    progress.total(sum(len(sizes(n, quick)[0]) for n in lengths))
    races = course.Course(progress, course.named(methods) | course.peers(), set(methods))
    call = course.call_seconds(joint)
    for n in lengths:
        robot = la.robots.pendulum(n, joint=joint)
        counts, duration, seeds = sizes(n, quick)
        duration = min(duration, most)
        starts = [(near_neutral(robot, ANGLE, seed), np.zeros(robot.nv)) for seed in seeds]
        ends = [refined(robot, q, v, duration) for q, v in starts]
        leave = {"PyBullet", "Drake CENIC"} if n >= BULLET else set()
        races.race(f"{n} links", robot, starts, duration, counts, ends, leave=leave, call=call)
    return races.report(title, notes, ONE if quick else SEEDS)


def sizes(n, quick):
    """(numbers of steps, duration [s], seeds) of a chain of n links."""
    if quick:
        return COUNTS[:4:2], DURATION, ONE
    return (LONG_COUNTS, SHORT, ONE) if n >= LONG else (COUNTS, DURATION, SEEDS)
