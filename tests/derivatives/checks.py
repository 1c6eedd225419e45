"""Derivatives of steps and runs of `Maximal` against central differences of steps and runs that are solved anew."""

import numpy as np

import leastaction as la
from leastaction.derivatives import backpropagate, parameter, parameter_jacobian, with_parameters
from tests.derivatives.maps import stepper_map
from tests.oracles.differences import assert_close, by_q, by_vector, directions

DT = 0.01


def assert_columns(actual, expected, tolerance):
    """Each column within `tolerance` of its own largest entry, or 1e-3 of it of the largest of all."""
    size = np.abs(expected).max(axis=0)
    error = np.abs(actual - expected).max(axis=0)
    assert (error <= tolerance * np.maximum(size, 1e-3 * size.max(initial=0.0))).all(), (error / size).max()


def assert_relative(actual, expected, tolerance):
    """Within `tolerance` of the largest entry expected, which is not zero."""
    size = np.abs(expected).max()
    assert size > 0.0
    assert_close(actual / size, expected / size, tolerance)


def assert_linearized(robot, integrator, q, p, u, tolerance, h, compare=assert_columns):
    """A and B against differences of steps that are solved anew."""
    step = stepper_map(robot, integrator)
    q1, p1 = step(q, p, u)

    def change(q, p, u):
        q2, p2 = step(q, p, u)
        return np.concatenate([robot.difference(q1, q2), p2 - p1])

    n, M = robot.nv, la.dynamics.mass_matrix(robot, q)
    A, B = la.linearize(robot, integrator, q, p, u, DT)
    compare(A[:, :n], by_q(robot, lambda x: change(x, p, u), q, h), tolerance)
    compare(A[:, n:] @ M, by_vector(lambda x: change(q, p + M @ x, u), np.zeros(n), h), tolerance)
    compare(B, by_vector(lambda x: change(q, p, x), u, 100 * h), tolerance)


def assert_parameters(robot, integrator, q, p, u, names, tolerance, h=1e-4):
    """Against differences of steps of mechanisms with other values, solved anew."""
    q1, p1 = stepper_map(robot, integrator)(q, p, u)
    found = parameter_jacobian(robot, integrator, q, p, u, DT, parameters=names)
    assert list(found) == names
    for name in names:
        value = parameter(robot, name)

        def change(x, name=name, value=value):
            other = with_parameters(robot, {name: x.reshape(value.shape)})
            q2, p2 = stepper_map(other, integrator)(q, p, u)
            return np.concatenate([robot.difference(q1, q2), p2 - p1])

        expected = by_vector(change, value.ravel(), h)
        assert found[name].shape == (2 * robot.nv, *value.shape)
        assert_relative(found[name].reshape(2 * robot.nv, -1), expected, tolerance)


def assert_gradient(robot, integrator, q, p, u, tolerance, h):
    """Of a random linear function of all states, by the initial state and by held controls."""
    rng = np.random.default_rng(5)
    shape = (len(u) + 1, robot.nv)
    dq, dp = rng.normal(size=shape), rng.normal(size=shape)
    run = la.simulate(robot, q, p=p, controls=u, steps=len(u), dt=DT, integrator=integrator)

    def value(q=q, p=p, u=u):
        other = la.simulate(robot, q, p=p, controls=u, steps=len(u), dt=DT, integrator=integrator)
        moved = [a @ robot.difference(x, y) for a, x, y in zip(dq, run.q, other.q, strict=True)]
        return sum(moved) + (dp * other.p).sum()

    by_start, by_momentum, by_control = backpropagate(run, dq, dp)
    d, e = directions(robot.nv), directions(u.size)
    for found, expected in (
        (d @ by_start, by_q(robot, lambda x: value(q=x), q, h, d)),
        (d @ by_momentum, by_vector(lambda x: value(p=x), p, h, d)),
        (e @ by_control.sum(axis=1).ravel(), by_vector(lambda x: value(u=x.reshape(u.shape)), u.ravel(), 10 * h, e)),
    ):
        assert_relative(found, expected, tolerance)
