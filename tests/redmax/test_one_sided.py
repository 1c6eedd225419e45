"""Implicit steps that end where a damper touches: a jump of the force, at which the plain law has no solution."""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import gradient, parameter, with_parameters
from leastaction.forces.touch import LAYER

METHODS = (la.BDF(order=1), la.BDF(order=2), la.SDIRK2())
CORNERS = [(x, y, z) for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)]


def box(points=CORNERS, **law):
    b = la.MechanismBuilder("box")
    b.body("box", mass=1.0, inertia=0.01)
    b.free("box", name="f")
    b.penalty_contact("p", "box", points, **law)
    return b.build()


def ball():
    """A point on a slider over a plane with a strong damper."""
    b = la.MechanismBuilder("ball")
    b.body("ball", mass=1.0, inertia=0.01)
    b.prismatic("z", "world", "ball", axis="z")
    b.penalty_contact("p", "ball", [(0, 0, 0)], stiffness=1e3, damping=500.0)
    return b.build()


def limited(links):
    b = la.MechanismBuilder("limited")
    for i in range(links):
        parent, z = ("world", 0.0) if i == 0 else (f"l{i - 1}", -1.0)
        b.body(f"l{i}", mass=1.0, com=(0, 0, -0.5), inertia=0.1)
        law = {"lower": -0.3, "upper": 0.3, "limit_stiffness": 1e3, "limit_damping": 100.0}
        b.revolute(f"j{i}", parent, f"l{i}", axis="y", position=(0, 0, z), **law)
    return b.build()


def tethered():
    b = la.MechanismBuilder("tethered")
    b.body("ball", mass=1.0, inertia=0.01)
    b.joint("t", "translational", "world", "ball")
    b.cable("c", [("world", (0, 0, 0)), ("ball", (0, 0, 0))], stiffness=1e3, rest_length=0.5, damping=100.0)
    return b.build()


def thrown(robot, rng):
    """A box above the plane that turns and falls."""
    q = robot.neutral()
    q[2] = 0.25
    return robot.integrate(q, [*(0.3 * rng.normal(size=3)), 0, 0, 0]), [*(0.5 * rng.normal(size=3)), 1.0, 0.3, -1.0]


def scene(name):
    """(robot, q, v, duration [s], largest speed [rad/s or m/s])."""
    if name == "box":
        robot = box(stiffness=1e4, damping=1000.0)
        return robot, *thrown(robot, np.random.default_rng(1)), 0.5, 2.5
    return {
        "ball": (ball(), [0.05], [-1.0], 0.2, 1.5),
        "one limit": (limited(1), [0.0], [3.0], 0.6, 3.0),
        "three limits": (limited(3), np.zeros(3), 3.0 * np.ones(3), 0.6, 3.0),
        "cable": (tethered(), [0.1, 0, -0.3], [1.0, 0.5, 0], 1.0, 3.0),
    }[name]


@pytest.mark.parametrize("name", ["ball", "one limit", "three limits", "cable", "box"])
def test_runs_converge_to_those_of_an_explicit_method(name):
    """The instant of touching is known to a step, so errors are of the size of speed * dt, whatever the order."""
    robot, q, v, duration, speed = scene(name)
    exact = la.simulate(robot, q, v, dt=duration / 50000, steps=50000, integrator=la.RungeKutta(order=4)).q[-1]
    for method in METHODS:
        errors = {}
        for n in (100, 200, 1600):
            run = la.simulate(robot, q, v, dt=duration / n, steps=n, integrator=method)
            errors[n] = np.abs(robot.difference(exact, run.q[-1])).max()
        assert errors[1600] <= 10.0 * speed * duration / 1600, (method, errors)
        assert errors[1600] <= 0.5 * max(errors[100], errors[200]), (method, errors)


@pytest.mark.parametrize("method", METHODS, ids=lambda x: repr(x)[:12])
@pytest.mark.parametrize("dt", [0.002, 0.01])
def test_every_step_of_drops_has_a_solution(method, dt):
    """Boxes that tumble onto their corners, with and without friction."""
    rng = np.random.default_rng(0)
    for damping, friction, stiction in ((10, 0, 0), (100, 0, 0), (1000, 0, 0), (50, 0.5, 100)):
        robot = box(stiffness=1e4, damping=damping, friction=friction, stiction=stiction)
        q, v = thrown(robot, rng)
        run = la.simulate(robot, q, v, dt=dt, duration=0.5, integrator=method)
        assert run.q[:, 2].min() > 0.05  # the plane carries it
        assert run.energy[-1] < run.energy[0]


@pytest.mark.parametrize("method", METHODS, ids=lambda x: repr(x)[:12])
def test_every_step_at_limits_and_cables_has_a_solution(method):
    for links in (1, 3):
        robot = limited(links)
        run = la.simulate(robot, np.zeros(links), 3.0 * np.ones(links), dt=0.005, duration=0.6, integrator=method)
        assert run.q.max() < 0.6
    run = la.simulate(tethered(), [0.1, 0, -0.3], [1.0, 0.5, 0], dt=0.01, duration=1.0, integrator=method)
    length = np.linalg.norm(run.q, axis=1)
    assert 0.5 < length.max() < 0.6


def test_the_step_that_touches_ends_on_the_surface():
    """Implicit Euler at a height z and a speed w < 0: without force it ends below the plane, with the whole damper
    above it. So it ends on it, at the speed -z / dt, and the damper gives just the force for that."""
    robot, dt = ball(), 0.01
    run = la.simulate(robot, [0.006], [-1.0], dt=dt, steps=2, integrator=la.BDF(order=1))
    assert -LAYER <= run.q[1, 0] <= 0.0
    assert run.v[1, 0] == pytest.approx(-0.006 / dt, abs=2 * LAYER / dt)
    share = -run.q[1, 0] / LAYER
    force = 1.0 * (run.v[1, 0] + 1.0) / dt + 9.81
    assert force == pytest.approx(-share * 500.0 * run.v[1, 0], rel=1e-6)
    # Deeper than the layer the law is the plain one.
    depth, speed = run.q[2, 0], run.v[2, 0]
    assert depth < -LAYER
    assert (speed - run.v[1, 0]) / dt + 9.81 == pytest.approx(-1e3 * depth - 500.0 * speed, rel=1e-9)


@pytest.mark.parametrize("method", METHODS, ids=lambda x: repr(x)[:12])
def test_gradients_through_a_step_that_touches(method):
    """The share of the damper answers to every parameter, so the run is smooth there."""
    robot = ball()
    options = {"dt": 0.01, "steps": 4, "integrator": method}
    run = la.simulate(robot, [0.006], [-1.0], **options)
    if method == METHODS[0]:  # others touch at the end of a stage
        assert -LAYER <= run.q[1, 0] <= 0.0
    weights = np.array([[0.0], [0.3], [0.5], [1.0], [2.0]])
    names = ["damping:p", "stiffness:p", "mass:ball", "origin:p"]
    g = gradient(run, weights, weights, [*names, "v"])

    def value(robot, v=-1.0):
        other = la.simulate(robot, [0.006], [v], **options)
        return float((weights * (other.q + other.v)).sum())

    for name in names:
        x = parameter(robot, name)
        d = np.array([0.0, 0.0, 1e-2]) if name == "origin:p" else x
        e = 1e-5
        fd = (
            (value(with_parameters(robot, {name: x + e * d})) - value(with_parameters(robot, {name: x - e * d})))
            / e
            / 2
        )
        assert float((g[name] * d).sum()) == pytest.approx(fd, rel=1e-6, abs=1e-9)
    fd = (value(robot, -1.0 + 1e-5) - value(robot, -1.0 - 1e-5)) / 2e-5
    assert g["v"][0] == pytest.approx(fd, rel=1e-6, abs=1e-9)
