"""The integrator of a run that names none is the one that the robot needs, and that is said once."""

import numpy as np
import pytest

import leastaction as la
from leastaction.integration import default
from leastaction.mechanism import Box, Plane, Sphere
from tests.redmax.robots import ROBOTS


def link(**joint):
    b = la.MechanismBuilder("link")
    b.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    b.revolute("hinge", "world", "rod", axis="y", **joint)
    return b


def two_balls(*, tied):
    """Two balls on hinges of their own, or the second on the first; each with a shape."""
    b = la.MechanismBuilder("balls")
    for k, parent in enumerate(("world", "ball0" if tied else "world")):
        b.body(f"ball{k}", mass=1.0, com=(0, 0, -1), inertia=(0.1, 0.1, 0.1))
        b.revolute(f"hinge{k}", parent, f"ball{k}", axis="y", position=(0.6 * k, 0, 0))
        b.add_shape(f"ball{k}", Sphere(0.2))
    return b.build()


def boxes(robot, count):
    """A robot with loose boxes about it."""
    b = robot.edit()
    for k in range(count):
        b.body(f"box{k}", mass=1.0, shapes=Box((0.1, 0.1, 0.1)))
        b.free(f"box{k}")
    return b.build()


def sprung():
    """A link with limits, and a spring to the world."""
    b = link(lower=-1.0, upper=1.0)
    b.spring("spring", "world", "rod", stiffness=10.0)
    return b.build()


def pulled():
    """A link with limits that a tendon pulls."""
    b = link(lower=-1.0, upper=1.0)
    b.tendon("tendon", joints={"hinge": 0.02}, stiffness=100.0)
    return b.build()


def driven():
    """A link that a motor turns as given."""
    b = link()
    b.prescribe("hinge")
    return b.build()


CASES = {
    "pendulum": (lambda: la.robots.pendulum(2), la.Galerkin(order=4)),
    "loops": (la.robots.four_bar, la.Galerkin(order=4)),
    "contact points on the ground": (la.robots.cube, la.Maximal()),
    "contact points, no ground": (la.robots.free_body, la.Galerkin(order=4)),
    "limits": (lambda: link(lower=-1.0, upper=1.0).build(), la.Minimal()),
    "one limit": (lambda: link(upper=1.0).build(), la.Minimal()),
    "springs at the limits": (
        lambda: link(lower=-1.0, upper=1.0, limit_stiffness=100.0).build(),
        la.BDF(order=2),
    ),
    "dry friction": (lambda: link(friction=0.1).build(), la.Minimal()),
    "spring and damper": (lambda: link(stiffness=3.0, damping=0.2).build(), la.Galerkin(order=4)),
    "a bead on a curve": (ROBOTS["curve"], la.BDF(order=2)),
    "bodies that may touch": (lambda: two_balls(tied=False), la.Maximal()),
    "a quadruped": (lambda: la.robots.unitree_a1(ground=True), la.Minimal()),
    "a quadruped among boxes": (lambda: boxes(la.robots.unitree_a1(ground=True), 6), la.Maximal()),
    "loops with limits": (la.robots.arm_exoskeleton, la.Maximal()),
    "limits and a spring": (lambda: sprung(), la.Maximal()),
    "limits and a tendon": (lambda: pulled(), la.Minimal()),
    "what moves as given": (lambda: driven(), la.Minimal()),
    "bodies that a joint connects": (lambda: two_balls(tied=True), la.Galerkin(order=4)),
}


@pytest.mark.parametrize("case", CASES)
def test_what_the_robot_needs(case):
    robot, expected = CASES[case][0](), CASES[case][1]
    if what := set(robot.special_parts):
        # Integrators that learn to run a part may be chosen for it.
        assert what <= default.default_integrator(robot).handles
        return
    assert default.default_integrator(robot) == expected


def test_nothing_falls_through_the_floor():
    """A ball that is dropped on a plane, without a word about integrators, stays on it."""
    b = la.MechanismBuilder("ball")
    b.add_shape("world", Plane())
    b.body("ball", mass=1.0, inertia=(0.01, 0.01, 0.01))
    b.free("ball")
    b.add_shape("ball", Sphere(0.1))
    robot = b.build()
    q = robot.neutral()
    q[2] = 0.3
    run = la.simulate(robot, q, dt=0.01, duration=1.0)
    assert run.integrator == la.Maximal()
    assert run.q[:, 2].min() > 0.1 - 1e-6
    assert run.q[-1, 2] == pytest.approx(0.1, abs=1e-5)


def test_joints_stay_within_their_limits():
    run = la.simulate(link(lower=-0.5, upper=0.5).build(), [0.4], [2.0], dt=0.01, steps=50)
    assert np.abs(run.q).max() < 0.5 + 1e-6


def test_it_is_said_once(capsys, monkeypatch):
    monkeypatch.setattr(default, "_SAID", set())
    monkeypatch.delenv("LEASTACTION_QUIET", raising=False)
    for _ in range(2):
        la.simulate(la.robots.pendulum(2), dt=0.01, steps=1)
    said = [line for line in capsys.readouterr().err.splitlines() if "Galerkin(order=4)" in line]
    assert len(said) == 1
    assert "integrator=..." in said[0]
    la.simulate(la.robots.pendulum(2), dt=0.01, steps=1, integrator=la.Galerkin(order=4))
    la.simulate(link(upper=1.0).build(), dt=0.01, steps=1)
    said = capsys.readouterr().err
    assert "Minimal() for 'link': it has joint limits" in said
    monkeypatch.setattr(default, "_SAID", set())
    monkeypatch.setenv("LEASTACTION_QUIET", "1")
    la.simulate(la.robots.pendulum(2), dt=0.01, steps=1)
    assert "Galerkin" not in capsys.readouterr().err
