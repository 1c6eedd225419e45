"""Jacobians of every joint and their derivatives against central differences; products against the matrices."""

import numpy as np
import pytest

from leastaction import redmax
from leastaction.kinematics.reduced.state import State
from leastaction.redmax.jacobians import _maps, _nodal
from tests.redmax.robots import ROBOTS, start

NAMES = [n for n in ROBOTS if n not in ("springs", "springs on balls", "thrusters", "limits", "contact", "four bar")]
CASES = [(n, "euler") for n in NAMES] + [("spherical", "exponential"), ("free", "exponential")]


def matrices(state):
    """(J, dJ/dt) of a state."""
    J, first, _ = _nodal(state, 1)
    T, D, _ = _maps(state)
    slopes = np.einsum("bijm,jc,md->bicd", first, T, T) + np.einsum("bij,jcd->bicd", J, D)
    n = state.coordinates.nr
    return (J @ T).reshape(-1, n), (slopes @ state.rd).reshape(-1, n)


def by_r(state, f, e=1e-5):
    """Central differences by the reduced coordinates."""
    r, out = state.r.copy(), []
    for k in range(len(r)):
        values = []
        for s in (1.0, -1.0):
            state.r[:] = r
            state.r[k] += s * e
            state.update()
            values.append(f(state))
        out.append((values[0] - values[1]) / (2 * e))
    state.r[:] = r
    state.update()
    return np.stack(out, axis=-1)


def body_twist(X, dX):
    """Twist in the body's frame of a change dX of the pose X."""
    R, turn = X[:3, :3], X[:3, :3].T @ dX[:3, :3]
    return np.array([turn[2, 1], turn[0, 2], turn[1, 0], *(R.T @ dX[:3, 3])])


@pytest.mark.parametrize(("name", "chart"), CASES)
def test_jacobian_and_derivatives(name, chart):
    robot = ROBOTS[name]()
    q, v = start(name, robot)
    state = State(robot, q, v, chart=chart)
    J = redmax.jacobian(robot, q, chart=chart)
    poses = state.body_poses()
    changes = by_r(state, lambda s: s.body_poses())
    expected = np.array(
        [[body_twist(X, d) for d in np.moveaxis(dX, -1, 0)] for X, dX in zip(poses, changes, strict=True)]
    )
    assert np.abs(J - np.moveaxis(expected, 1, 2).reshape(J.shape)).max() <= 1e-8
    slopes = redmax.jacobian_slopes(robot, q, chart=chart)
    assert np.abs(slopes - by_r(state, lambda s: matrices(s)[0])).max() <= 1e-7
    rate = redmax.jacobian_rate(robot, q, v, chart=chart)
    assert np.abs(rate - slopes @ state.rd).max() <= 1e-12
    rate_slopes = redmax.jacobian_rate_slopes(robot, q, v, chart=chart)
    assert np.abs(rate_slopes - by_r(state, lambda s: matrices(s)[1])).max() <= 1e-7 * max(
        1.0, np.abs(rate_slopes).max()
    )


@pytest.mark.parametrize(("name", "chart"), CASES)
def test_products_without_the_matrices(name, chart):
    robot = ROBOTS[name]()
    q, v = start(name, robot)
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=robot.nv), rng.normal(size=6 * len(robot.bodies))
    J, Jd = redmax.jacobian(robot, q, chart=chart), redmax.jacobian_rate(robot, q, v, chart=chart)
    Jx, Jdx = redmax.jacobian_product(robot, q, v, x, chart=chart)
    assert np.abs(Jx - J @ x).max() <= 1e-12
    assert np.abs(Jdx - Jd @ x).max() <= 1e-11
    assert np.abs(redmax.jacobian_transposed_product(robot, q, y, chart=chart) - J.T @ y).max() <= 1e-11
