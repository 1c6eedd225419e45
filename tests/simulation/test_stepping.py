"""A step as a pure function: what simulators do, without memory of what was asked before."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import leastaction as la


@pytest.mark.parametrize(("robot", "integrator"), [(la.robots.cart_pole(), None), (la.robots.cube(), la.Maximal())])
def test_steps_are_those_of_a_simulator_in_any_order(robot, integrator):
    start = robot.home(), 0.3 * np.ones(robot.nv)
    sim = la.Simulator(robot, integrator, dt=0.01)
    sim.reset(*start)
    states = [start]
    for k in range(6):
        u = np.full(robot.nu, 0.1 * k)
        sim.step(u)
        states.append(la.step(robot, states[-1], u, integrator=integrator))
        assert np.array_equal(states[-1].q, sim.q)
        assert np.array_equal(states[-1].v, sim.v)
        assert states[-1].t == sim.t
    for k in (4, 1, 3, 0, 5):  # again, in another order
        again = la.step(robot, states[k], np.full(robot.nu, 0.1 * k), integrator=integrator)
        assert np.array_equal(again.q, states[k + 1].q)
        assert np.array_equal(again.v, states[k + 1].v)
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda k: la.step(robot, states[k], np.full(robot.nu, 0.1 * k), integrator=integrator), [2, 4])
        assert all(np.array_equal(x.q, states[k + 1].q) for x, k in zip(found, [2, 4], strict=True))
    with pytest.raises(ValueError, match="read-only"):
        states[-1].q[0] = 1.0
    with pytest.raises(la.IntegratorError, match="time steps"):
        la.step(robot, states[-1], integrator=integrator, dt=0.02)


def test_steps_start_at_home_and_refuse_what_is_no_state():
    robot = la.robots.double_pendulum()
    first = la.step(robot, integrator=la.Galerkin(order=4))
    assert first.t == 0.01
    assert la.step(robot, ({"joint1": 0.5}, None), integrator=la.Galerkin(order=4)).q[0] == pytest.approx(0.5, abs=0.01)
    for wrong in ("home", 3, [0.0, 0.0], (1, 2, 3)):
        with pytest.raises(la.IntegratorError, match="step needs a State"):
            la.step(robot, wrong)
    with pytest.raises(la.LeastActionError):
        la.step(la.robots.cart_pole(), first, integrator=la.RungeKutta())
