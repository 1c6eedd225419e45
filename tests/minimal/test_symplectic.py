"""The step is symplectic and, for rules without a chart, symmetric in time."""

import numpy as np
import pytest

import leastaction as la
from tests.minimal.helpers import METHODS, method, number, on_bodies, symplectic_form
from tests.oracles.differences import assert_close, central
from tests.oracles.random_trees import KINDS, random_state, random_tree

MOVING = [kind for kind in KINDS if kind != "fixed"]
BALLS = ("spherical", "cylindrical_free_orientation", "planar_free_orientation", "free", "composite")
DT = 0.05


def conservative_state(kind, bodies=3):
    """Gravity and joint springs on a tree, in a random state (q, p)."""
    robot = random_tree(7, bodies, (kind, kind, "revolute"), branching=0.3, stiffness=3.0)
    q, v = random_state(robot, 3, speed=0.5)
    return robot, q, la.dynamics.mass_matrix(robot, q) @ v


def by_differences(robot, integrator, q, p):
    """Derivative of (q, p) -> (q', p') along tangents, shape (2 nv, 2 nv)."""
    n = robot.nv

    def step(x):
        moved = robot.integrate(q, x[:n])
        run = la.simulate(robot, moved, p=p + x[n:], dt=DT, steps=1, integrator=integrator)
        return run.q[1], run.p[1]

    q1, p1 = step(np.zeros(2 * n))

    def change(x):
        q2, p2 = step(x)
        return np.concatenate([robot.difference(q1, q2), p2 - p1])

    return np.stack([central(lambda h, e=e: change(h * e), 5e-4) for e in np.eye(2 * n)], axis=-1)


def violation(robot, A, p, p1):
    """How far A^T J(p') A is from J(p), against the size of its terms."""
    error = A.T @ symplectic_form(robot, p1) @ A - symplectic_form(robot, p)
    return np.abs(error).max() / max(1.0, np.abs(A).max() ** 2)


@pytest.mark.parametrize("kind", MOVING)
def test_symplectic(kind):
    """A^T J(p') A = J(p), where ball and free joints add <p, [dq, dq]> to J; A is the step's derivative."""
    robot, q, p = conservative_state(kind, bodies=6)
    for order in METHODS:
        integrator = method(order)
        A, _ = la.linearize(robot, integrator, q, p, np.zeros(robot.nu), DT)
        p1 = la.simulate(robot, q, p=p, dt=DT, steps=1, integrator=integrator).p[1]
        assert violation(robot, A, p, p1) <= 1e-11, order


@pytest.mark.parametrize("kind", MOVING)
def test_symplectic_by_differences(kind):
    """The same from nothing but steps; and the analytic derivative is that of the step."""
    robot, q, p = conservative_state(kind)
    for order in METHODS:
        integrator = method(order)
        A = by_differences(robot, integrator, q, p)
        p1 = la.simulate(robot, q, p=p, dt=DT, steps=1, integrator=integrator).p[1]
        assert violation(robot, A, p, p1) <= 1e-10, order
        assert_close(la.linearize(robot, integrator, q, p, np.zeros(robot.nu), DT)[0], A, 1e-9)


def test_the_form_needs_the_bracket():
    """The tests above can fail: without <p, [dq, dq]> the form of a ball joint is not kept."""
    robot, q, p = conservative_state("spherical")
    A, _ = la.linearize(robot, method(4), q, p, np.zeros(robot.nu), DT)
    flat = np.zeros_like(p)
    assert violation(robot, A, flat, flat) > 1e-3


def test_a_damper_shrinks_volumes():
    """Friction is not Hamiltonian."""
    robot = random_tree(7, 2, ("revolute",), damping=2.0)
    q, v = random_state(robot, 3)
    A, _ = la.linearize(robot, method(4), q, la.dynamics.mass_matrix(robot, q) @ v, np.zeros(robot.nu), DT)
    assert abs(np.linalg.det(A)) < 0.99


@pytest.mark.parametrize("kind", MOVING)
def test_symmetric_in_time(kind):
    """(q', -p') goes back to (q, -p).

    Charts of turns in space are centred at the start of the step: not symmetric beyond two control points. Where joints
    are interpolated those of balls, else those of all bodies.
    """
    robot, q, p = conservative_state(kind)
    for order in METHODS:
        if number(order) > 2 and (on_bodies(order) or kind in BALLS):
            continue
        there = la.simulate(robot, q, p=p, dt=DT, steps=3, integrator=method(order))
        back = la.simulate(robot, there.q[-1], p=-there.p[-1], dt=DT, steps=3, integrator=method(order))
        assert np.abs(robot.difference(q, back.q[-1])).max() <= 1e-10, order
        assert_close(-back.p[-1], p, 1e-10)


@pytest.mark.parametrize("order", [4, 6])
def test_bodies_that_turn_in_a_plane_are_symmetric_in_time(order):
    robot, q, v = la.robots.pendulum(3), [2.0, -1.0, 0.5], [1.0, -2.0, 3.0]
    there = la.simulate(robot, q, v, dt=DT, steps=20, integrator=method(f"bodies {order}"))
    back = la.simulate(robot, there.q[-1], p=-there.p[-1], dt=DT, steps=20, integrator=there.integrator)
    assert np.abs(back.q[-1] - q).max() <= 1e-10
