"""The equations of a step at given control points, as an optimiser takes them, and their blocks.

Every control point is a configuration of its own: one moves along the tangent of `Mechanism.integrate`, others stay.
"""

import numpy as np
import pytest

import leastaction as la
from tests.minimal.helpers import method
from tests.oracles.random_trees import KINDS, random_state, random_tree
from tests.redmax.test_one_sided import limited

DT = 0.05
STEP = 1e-5
METHODS = ("midpoint", 2, 4, 6)


class Points:
    """Configurations at the control points of a step that is not solved, momentum and controls."""

    def __init__(self, robot, order, seed=0):
        rng = np.random.default_rng(seed)
        self.robot, self.stepper = robot, method(order).prepare(robot, DT)
        nodes = len(self.stepper.control_nodes)
        s = max(1, nodes - 1)
        q, _ = random_state(robot, seed)
        self.Q = np.array([q, *(robot.integrate(q, 0.3 * rng.normal(size=robot.nv)) for _ in range(s))])
        self.p, self.u = rng.normal(size=robot.nv), rng.normal(size=(nodes, robot.nu))

    def arguments(self, Q=None, u=None):
        Q = self.Q if Q is None else Q
        x = np.array([self.robot.difference(Q[0], other) for other in Q[1:]])
        return Q[0], self.p, self.u if u is None else u, x

    def moved(self, chi, k, h):
        """Rows with control point chi moved by h along degree of freedom k."""
        Q, e = self.Q.copy(), np.zeros(self.robot.nv)
        e[k] = h
        Q[chi] = self.robot.integrate(Q[chi], e)
        return self.stepper.residual(*self.arguments(Q))

    def driven(self, node, k, h):
        u = self.u.copy()
        u[node, k] += h
        return self.stepper.residual(*self.arguments(u=u))


CASES = {
    "every joint": lambda: random_tree(3, 5, KINDS, damping=0.3, stiffness=2.0),
    "free": lambda: random_tree(4, 3, ("free", "spherical")),
}


@pytest.mark.parametrize("order", METHODS)
@pytest.mark.parametrize("name", CASES)
def test_blocks_are_the_derivatives_of_the_rows(name, order):
    """Central differences, error of order STEP^2."""
    points = Points(CASES[name](), order)
    rows, D, C = points.stepper.residual_blocks(*points.arguments())
    np.testing.assert_allclose(points.stepper.residual(*points.arguments()), rows, rtol=1e-12, atol=1e-12)
    scale = np.abs(D).max()
    for chi in range(D.shape[2]):
        for k in range(D.shape[3]):
            slope = (points.moved(chi, k, STEP) - points.moved(chi, k, -STEP)) / (2 * STEP)
            assert np.abs(slope - D[:, :, chi, k]).max() <= 1e-8 * scale, (chi, k)
    for node in range(C.shape[2]):
        for k in range(C.shape[3]):
            slope = (points.driven(node, k, STEP) - points.driven(node, k, -STEP)) / (2 * STEP)
            assert np.abs(slope - C[:, :, node, k]).max() <= 1e-8 * scale, (node, k)


@pytest.mark.parametrize("order", METHODS)
def test_rows_vanish_at_the_step_that_simulate_takes(order):
    """All but the last, which is the momentum at the end."""
    robot = random_tree(7, 4, ("free", "spherical", "revolute"))
    q, v = random_state(robot, 1, speed=0.3)
    integrator = method(order)
    run = la.simulate(robot, q, v, dt=0.01, steps=1, integrator=integrator)
    stepper = integrator.prepare(robot, 0.01)
    stepper.solve_whole(run.q[0], run.p[0], stepper.held(np.zeros(robot.nu)))
    X = stepper.data.points.X
    balls = [node for node in stepper.model.tree.nodes if node.nv == 3]
    assert len(balls) > len(stepper.model.tree.free) > 0
    x = np.array([tangent_of(stepper, run.q[0], chart) for chart in X[1:]])
    rows = stepper.residual(run.q[0], run.p[0], np.zeros((len(stepper.control_nodes), robot.nu)), x)
    scale = np.abs(run.p).max()
    assert np.abs(rows[:-1]).max() <= 1e-10 * scale
    assert np.abs(rows[-1] - run.p[1]).max() <= 1e-10 * scale


def tangent_of(stepper, q, chart):
    """Displacement from q of a control point in the coordinates of the step, by `Mechanism.difference`."""
    robot, end = stepper.mechanism, np.zeros(len(q))
    for node in stepper.model.tree.nodes:
        n, i = int(node.iv), int(node.iq)
        if node.nv == 1:
            end[i] = chart[n]
            continue
        a = np.linalg.norm(chart[n : n + 3])
        w, v = q[i], q[i + 1 : i + 4]
        c, s = np.cos(a / 2), np.sinc(a / (2 * np.pi)) / 2 * chart[n : n + 3]
        end[i] = w * c - v @ s
        end[i + 1 : i + 4] = w * s + c * v + np.cross(v, s)
    return robot.difference(q, end)


@pytest.mark.parametrize("interpolation", ["joints", "bodies"])
def test_rows_do_not_remember_which_forces_acted_in_a_step(interpolation):
    """A damped limit jumps where it touches; the step before says nothing about other control points."""
    robot = limited(1)
    integrator = la.Galerkin(order=4, interpolation=interpolation)
    q, u, rows = np.array([[0.1], [0.2], [0.25]]), np.zeros((1, 3, robot.nu)), np.zeros((2, 1, 3, 1))
    stepper = integrator.prepare(robot, 0.005)
    stepper.horizon_rows(q, u, 0.005, rows[0])
    run = la.simulate(robot, [0.29], [3.0], dt=0.005, steps=4, integrator=integrator)
    assert run.q.max() > 0.3  # beyond the limit
    stepper.solve_whole(run.q[2], run.p[2], u[0])
    stepper.horizon_rows(q, u, 0.005, rows[1])
    assert (rows[0] == rows[1]).all()
