"""Calls of the classical dynamics: results in given arrays, unusual arguments, threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import leastaction as la
from leastaction import dynamics
from leastaction.errors import MechanismError

FUNCTIONS = {
    "inverse_dynamics": lambda m, q, v, a, out: dynamics.inverse_dynamics(m, q, v, a, out=out),
    "forward_dynamics": lambda m, q, v, a, out: dynamics.forward_dynamics(m, q, v, a, out=out),
    "bias_forces": lambda m, q, v, a, out: dynamics.bias_forces(m, q, v, out=out),
    "gravity_forces": lambda m, q, v, a, out: dynamics.gravity_forces(m, q, out=out),
    "passive_forces": lambda m, q, v, a, out: dynamics.passive_forces(m, q, v, out=out),
    "mass_matrix": lambda m, q, v, a, out: dynamics.mass_matrix(m, q, out=out),
    "body_poses": lambda m, q, v, a, out: dynamics.body_poses(m, q, out=out),
    "body_jacobian": lambda m, q, v, a, out: dynamics.body_jacobian(m, q, m.body_names[-1], out=out),
}


def state(robot, seed=0):
    rng = np.random.default_rng(seed)
    return robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nv)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_go_where_they_are_asked_to(name):
    robot, call = la.robots.unitree_a1(), FUNCTIONS[name]
    q, v, a = state(robot)
    new = call(robot, q, v, a, None)
    kept = new.copy()
    out = np.full_like(new, np.nan)
    assert call(robot, q, v, a, out) is out
    assert np.array_equal(out, new)
    call(robot, *state(robot, 1), None)
    assert np.array_equal(new, kept)  # nobody writes into what was given back
    for wrong in (np.zeros(2), np.zeros(new.shape, int), new.tolist()):
        with pytest.raises(MechanismError, match="out: expected an array of floats of shape"):
            call(robot, q, v, a, wrong)
    out.setflags(write=False)
    with pytest.raises(MechanismError, match="out: this array is read only"):
        call(robot, q, v, a, out)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_states_of_any_kind_give_the_same(name):
    robot, call = la.robots.unitree_a1(), FUNCTIONS[name]
    q, v, a = state(robot)
    expected = call(robot, q, v, a, None)
    q[3:7] *= 1.0 + 1e-8  # which is brought to unit norm
    assert np.allclose(call(robot, q, v, a, None), expected, rtol=1e-12, atol=1e-12)
    assert np.allclose(call(robot, q.tolist(), v.tolist(), a.tolist(), None), expected, rtol=1e-12, atol=1e-12)
    wide = [np.repeat(x, 2)[::2] for x in (q, v, a)]
    assert np.allclose(call(robot, *wide, None), expected, rtol=1e-12, atol=1e-12)
    q[3:7] *= 1.1
    with pytest.raises(MechanismError, match="unit norm"):
        call(robot, q, v, a, None)
    q[7] = np.nan
    with pytest.raises(MechanismError, match="finite number"):
        call(robot, q, v, a, None)
    with pytest.raises(MechanismError, match="shape"):
        call(robot, q[:1], v, a, None)


def test_dynamics_far_away_are_those_at_the_origin():
    robot = la.robots.unitree_a1()
    q, v, a = state(robot)
    near = dynamics.inverse_dynamics(robot, q, v, a)
    q[:3] += 64.0 * 2.0**20
    assert np.allclose(dynamics.inverse_dynamics(robot, q, v, a), near, rtol=1e-6)
    assert np.allclose(dynamics.body_poses(robot, q)[0, :3, 3], q[:3])


def test_threads_do_not_share_what_they_work_in():
    robot = la.robots.serial_arm(7)
    states = [state(robot, k) for k in range(50)]
    expected = [dynamics.inverse_dynamics(robot, *x) for x in states]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(20):
            found = pool.map(lambda x: dynamics.inverse_dynamics(robot, *x), states)
            assert all(np.array_equal(x, y) for x, y in zip(found, expected, strict=True))
