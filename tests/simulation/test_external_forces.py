"""Pushes on bodies of a `Simulator`: momentum that they bring, where they act, and for how long."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism.pose import rotation_matrix

FORCE, TORQUE = np.array([0.3, -0.2, 0.5]), np.array([0.01, 0.02, -0.03])


def floating_cube():
    return la.robots.cube().replace(ground=(), gravity=(0.0, 0.0, 0.0))


@pytest.mark.parametrize(
    "integrator", [la.Galerkin(order=2), la.Maximal(), la.RungeKutta(), la.Grounded()], ids=lambda i: type(i).__name__
)
def test_a_push_brings_its_momentum_and_ends(integrator):
    robot, dt = floating_cube(), 0.01
    sim = la.Simulator(robot, integrator, dt, pushable=True)
    turned = np.array([0.5, 0.1, -0.2, *np.array([0.8, 0.2, -0.4, 0.4])])
    sim.reset(turned)
    point = np.array([0.02, -0.01, 0.03])
    sim.push(robot.bodies[0].name, FORCE, point=point)
    sim.push(robot.bodies[0].name, torque=TORQUE)
    at = turned[:3] + rotation_matrix(sim.now.com_poses[0, 0, 3:]) @ point
    sim.step()
    expected = np.concatenate([TORQUE + np.cross(at, FORCE), FORCE]) * dt
    np.testing.assert_allclose(sim.now.momentum[0], expected, atol=2e-6)  # the body turns a little under the push
    np.testing.assert_allclose(np.linalg.norm(sim.now.momentum[0, 3:]), np.linalg.norm(FORCE) * dt, rtol=1e-5)
    kept = sim.now.momentum[0]
    sim.step()
    np.testing.assert_allclose(sim.now.momentum[0], kept, atol=1e-12)


def test_a_robot_without_pushes_moves_as_without_handles():
    robot = la.robots.pendulum(3)
    plain, pushable = (
        la.Simulator(robot, la.Galerkin(order=2)),
        la.Simulator(robot, la.Galerkin(order=2), pushable=True),
    )
    for sim in (plain, pushable):
        sim.reset([0.3, -0.2, 0.5])
        for k in range(20):
            sim.step([0.1, np.sin(k), 0.0])
    np.testing.assert_allclose(pushable.q, plain.q, atol=1e-12)
    assert pushable.mechanism is robot
    assert pushable.pushable == ("link1", "link2", "link3")
    plain.set_state(pushable.state())  # both are of one kind
    assert plain.t == pushable.t


def test_a_push_of_no_pushable_body_is_refused():
    sim = la.Simulator(la.robots.pendulum(2), la.RungeKutta(), pushable="link1")
    for body in ("link2", "world", "nobody", 3):
        with pytest.raises(la.IntegratorError, match="no body that can be pushed"):
            sim.push(body, FORCE)
    with pytest.raises(la.LeastActionError, match="force"):
        sim.push("link1", [1.0, np.nan, 0.0])
    with pytest.raises(la.IntegratorError, match="pushable"):
        la.Simulator(la.robots.pendulum(2), la.RungeKutta()).push("link1", FORCE)
    for pushable in (3, [3], 4.0):
        with pytest.raises(la.LeastActionError, match="pushable"):
            la.Simulator(la.robots.pendulum(2), la.RungeKutta(), pushable=pushable)
    with pytest.raises(la.LeastActionError, match="nobody"):
        la.Simulator(la.robots.pendulum(2), la.RungeKutta(), pushable=["nobody"])


def test_what_is_not_known_is_named_before_pushes():
    builder = la.robots.pendulum(2).edit()
    builder.penalty_contact("floor", "link1", [(0.0, 0.0, 0.0)], stiffness=1.0)
    with pytest.raises(la.IntegratorError, match="cannot run the penalty contact 'floor'"):
        la.Simulator(builder.build(), la.Grounded(), 0.01, pushable=True)
