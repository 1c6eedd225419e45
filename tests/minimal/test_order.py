"""Order of convergence, by slope: against exact motions, and against an adaptive method for every joint."""

import json
from pathlib import Path

import numpy as np
import pytest

import leastaction as la
from tests.minimal.helpers import METHODS, assert_order, number
from tests.oracles.random_trees import KINDS, random_state, random_tree

EXACT = Path(__file__).parents[1] / "data" / "exact"

# Two numbers of steps a second: large enough for the asymptotic slope, small enough to stay above round-off.
LINKS = {2: (100, 200), 4: (40, 80), 6: (40, 60), 8: (25, 40)}
POINTS = LINKS | {"bodies 8": (20, 30)}  # with 40 steps round-off shows in p
BODIES = {2: (100, 200), 4: (20, 40), 6: (15, 30), 8: (10, 15)}


def relative(states):
    """Angles against the vertical -> angles against the link before."""
    n = states.shape[1] // 2
    D = np.eye(n) - np.eye(n, k=-1)
    return states[:, :n] @ D.T, states[:, n:] @ D.T


def universal(states):
    """Point on a sphere -> angles about x and then y of the string that hangs along -z."""
    x, y, z, vx, vy, vz = states.T
    a, b = np.arctan2(y, -z), -np.arcsin(x)
    q = np.stack([a, b], axis=-1)
    return q, np.stack([(y * vz - z * vy) / (y * y + z * z), -vx / np.cos(b)], axis=-1)


def attitude(states):
    return states[:, :4], states[:, 4:]


def resting(states):
    """Free body whose centre stays at the origin."""
    zero = np.zeros((len(states), 3))
    return np.hstack([zero, states[:, :4]]), np.hstack([states[:, 4:], zero])


CASES = {
    "double_pendulum_point": (lambda: la.robots.pendulum(2, shape="point"), relative, POINTS),
    "double_pendulum_rod": (lambda: la.robots.pendulum(2, shape="rod"), relative, LINKS),
    "triple_pendulum_point": (lambda: la.robots.pendulum(3, shape="point"), relative, POINTS),
    "triple_pendulum_rod": (lambda: la.robots.pendulum(3, shape="rod"), relative, LINKS),
    "spherical_pendulum_point": (
        lambda: la.robots.pendulum(1, joint="universal", shape="point"),
        universal,
        LINKS | {"bodies 8": (10, 20)},
    ),
    "heavy_body_spherical_joint": (
        lambda: la.robots.heavy_top(com=(0, 0, -0.5), moments=(0.1, 0.2, 0.3)),
        attitude,
        BODIES,
    ),
    "free_body_generic": (lambda: la.robots.free_body(moments=(0.7, 1.1, 1.6)), resting, BODIES),
    "dzhanibekov": (lambda: la.robots.free_body(moments=(1, 2, 3)), resting, BODIES | {8: (15, 20)}),
}


def exact_states(name):
    return np.array(json.loads((EXACT / f"{name}.json").read_text())["state"])


@pytest.mark.parametrize("order", [*METHODS, "bodies 8"])
@pytest.mark.parametrize("name", CASES)
def test_order_against_exact_motions(name, order):
    """Errors of q, v and p at 0.2, 0.4 ... 1 s fall as dt^order."""
    build, convert, counts = CASES[name]
    within = 0.2 if order == "bodies 8" else 0.15
    assert_order(build(), order, convert(exact_states(name)), 1.0, counts.get(order, counts[number(order)]), within)


@pytest.mark.parametrize("order", METHODS)
def test_order_of_a_thrown_body(order):
    """A free joint away from the centre of mass, under gravity: that centre flies along a parabola."""
    states = exact_states("free_body_generic")
    c, g, start, speed = np.array([0.3, -0.2, 0.5]), np.array([0.5, -1.0, -9.81]), (1, 2, 3), (2, -1, 4)
    b = la.MechanismBuilder("thrown", gravity=g)
    b.body("stone", mass=2.0, com=c, inertia=(0.7, 1.1, 1.6))
    b.free("stone", position=(0.4, 0.1, -0.3), rotation=(0.5, 0.5, -0.5, 0.5))
    robot = b.build()
    joint = np.array(robot.joints[0].pose.rotation)
    q, v = [], []
    for t, x in zip(np.linspace(0.0, 1.0, len(states)), states, strict=True):
        # The exact attitude is that of the body in the joint's frame, so gravity is turned into it.
        R = la.dynamics.body_poses(la.robots.free_body(), np.r_[0, 0, 0, x[:4]])[0][:3, :3]
        center = np.array(start) + np.array(speed) * t + 0.5 * (joint.T @ g) * t**2
        rate = R.T @ (np.array(speed) + (joint.T @ g) * t)
        q.append(np.r_[center - R @ c, x[:4]])
        v.append(np.r_[x[4:], rate - np.cross(x[4:], c)])
    assert_order(robot, order, (np.array(q), np.array(v)), 1.0, BODIES[number(order)])


TREES = [kind for kind in KINDS if kind != "fixed"]


@pytest.mark.parametrize("kind", TREES)
def test_order_for_every_joint(kind):
    """Three bodies on joints of one kind with springs, dampers and drives, against DOP853."""
    robot = random_tree(11, 3, (kind, kind, "revolute"), branching=0.3, stiffness=3.0, damping=0.2)
    q, v = random_state(robot, 3)
    exact = la.simulate(robot, q, v, dt=0.1, steps=2, integrator=la.DOP853(rtol=1e-13, atol=1e-14))
    # Joints without rotations move so smoothly, and free ones so fast, that order 6 needs other steps.
    smooth = kind in ("revolute", "prismatic", "planar_fixed_orientation", "translational")
    sixth = (2, 4) if smooth else (16, 32) if kind == "free" else (8, 16)
    for order, pair in {"midpoint": (80, 160), 2: (80, 160), 4: (16, 32), 6: sixth, "bodies 4": (16, 32)}.items():
        assert_order(robot, order, (exact.q, exact.v), 0.2, pair)


ARMATURES = {"spherical": (0.1, 0.2, 0.3), "free": (0.1, 0.2, 0.3, 0.5, 0.5, 0.5)}


@pytest.mark.parametrize("order", METHODS)
@pytest.mark.parametrize("kind", ARMATURES)
def test_order_with_armatures_of_balls(kind, order):
    """An armature is inertia in the child's frame: its momentum turns with the child, here as in DOP853."""
    b = la.MechanismBuilder("wheel")
    b.body("wheel", mass=1.0, com=(0.1, 0.0, -0.2), inertia=(0.1, 0.2, 0.25))
    b.joint("joint", kind, "world", "wheel", armature=ARMATURES[kind])
    robot = b.build()
    q, v = random_state(robot, 2, speed=3.0)
    exact = la.simulate(robot, q, v, dt=0.1, steps=2, integrator=la.DOP853(rtol=1e-13, atol=1e-14))
    counts = {2: (40, 80), 4: (8, 16), 6: (4, 8), 8: (2, 4)}[number(order)]
    assert_order(robot, order, (exact.q, exact.v), 0.2, counts)
