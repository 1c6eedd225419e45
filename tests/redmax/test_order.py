"""Order of convergence by slope, and agreement with the other formulations in the limit of small steps."""

import numpy as np
import pytest

import leastaction as la
from tests.redmax.robots import ROBOTS, start

TREES = [n for n in ROBOTS if n not in ("curve", "surface", "contact", "limits", "thrusters", "four bar")]
METHODS = {1: (la.BDF(order=1),), 2: (la.BDF(order=2), la.SDIRK2())}


def error(robot, q, v, integrator, steps, end, duration=0.2):
    run = la.simulate(robot, q, v, dt=duration / steps, steps=steps, integrator=integrator)
    return np.abs(np.concatenate([robot.difference(end[0], run.q[-1]), run.v[-1] - end[1]])).max()


@pytest.mark.parametrize("name", TREES)
def test_order(name):
    """Errors against an exact solution shrink as dt^order."""
    robot = ROBOTS[name]()
    q, v = start(name, robot)
    exact_by = la.RungeKutta(order=4)
    exact = la.simulate(robot, q, v, dt=0.2 / 2000, steps=2000, integrator=exact_by)
    for order, methods in METHODS.items():
        for method in methods:
            coarse, fine = (error(robot, q, v, method, steps, (exact.q[-1], exact.v[-1])) for steps in (80, 160))
            assert np.log2(coarse / fine) == pytest.approx(order, abs=0.3), method


@pytest.mark.parametrize("name", ["spherical", "free", "soft balls"])
def test_agrees_with_the_variational_integrator(name):
    robot = ROBOTS[name]()
    q, v = start(name, robot)
    ours, theirs = (
        la.simulate(robot, q, v, dt=1e-3, steps=100, integrator=i) for i in (la.BDF(order=2), la.Galerkin(order=2))
    )
    assert np.abs(robot.difference(ours.q[-1], theirs.q[-1])).max() <= 1e-4


def test_loops_agree_with_the_variational_integrator():
    robot = la.robots.four_bar()
    q, v = start("four bar", robot)
    runs = [la.simulate(robot, q, v, dt=2e-3, steps=50, integrator=i) for i in (la.BDF(order=2), la.Galerkin(order=2))]
    assert runs[0].constraint_violation.max() <= 1e-11
    assert np.abs(runs[0].q[-1] - runs[1].q[-1]).max() <= 1e-4
    assert runs[0].stored["multipliers"].shape[1] == robot.nv - 1  # one degree of freedom is left


@pytest.mark.parametrize("method", [la.BDF(order=2), la.SDIRK2()], ids=["BDF2", "SDIRK2"])
@pytest.mark.parametrize("name", ["four bar", "three_link_loop"])
def test_loops_keep_the_order(name, method):
    """Positions, velocities and energy of second order, and velocities along the loops."""
    robot = la.robots.four_bar() if name == "four bar" else la.robots.three_link_loop()
    q, v = start("four bar", robot)
    exact = la.simulate(robot, q, v, dt=0.1 / 100, steps=100, integrator=la.Galerkin(order=4))
    errors = []
    for n in (50, 100):
        run = la.simulate(robot, q, v, dt=0.1 / n, steps=n, integrator=method)
        energy = np.abs(run.energy - run.energy[0]).max()
        errors.append([np.abs(run.q[-1] - exact.q[-1]).max(), np.abs(run.v[-1] - exact.v[-1]).max(), energy])
        assert run.constraint_violation.max() <= 1e-11
    slopes = np.log2(np.array(errors[0]) / errors[1])
    assert np.abs(slopes - 2.0).max() <= 0.3, slopes
    if isinstance(method, la.SDIRK2):
        assert np.abs(la.dynamics.loop_jacobian(robot, run.q[-1])[1] @ run.v[-1]).max() <= 1e-12


def test_linearly_implicit_euler_is_of_first_order():
    for name in ("springs", "spherical", "soft balls"):
        robot = ROBOTS[name]()
        q, v = start(name, robot)
        exact = la.simulate(robot, q, v, dt=1e-4, steps=2000, integrator=la.RungeKutta(order=4))
        end = (exact.q[-1], exact.v[-1])
        coarse, fine = (error(robot, q, v, la.LinearlyImplicitEuler(), n, end) for n in (200, 400))
        assert np.log2(coarse / fine) == pytest.approx(1.0, abs=0.3)


def test_linearly_implicit_euler_keeps_loops_and_stands_stiff_springs():
    robot = la.robots.four_bar()
    q, v = start("four bar", robot)
    run = la.simulate(robot, q, v, dt=1e-3, steps=200, integrator=la.LinearlyImplicitEuler())
    assert run.constraint_violation.max() <= 1e-2
    b = la.MechanismBuilder("stiff")
    b.body("ball", mass=1.0, inertia=0.1)
    b.prismatic("slide", "world", "ball", axis="z", stiffness=1e8)
    stiff = b.build()
    run = la.simulate(stiff, [0.01], dt=0.01, steps=100, integrator=la.LinearlyImplicitEuler())
    assert np.abs(run.q[-1]).max() <= 1e-6
