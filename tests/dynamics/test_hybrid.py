"""Algorithms 9 and 10 of Sueda 2021 against the dense formulas they replace."""

import numpy as np
import pytest
from scipy.sparse.linalg import cg

import leastaction as la
from leastaction import redmax
from leastaction.dynamics.hybrid import loop_acceleration
from tests.oracles.random_trees import random_state, random_tree


def dense_hybrid(robot, q, v, u, prescribed):
    """The KKT system (2.113): prescribed accelerations as equality constraints."""
    n, names = robot.nv, list(prescribed)
    M, f = la.dynamics.mass_matrix(robot, q), u - la.dynamics.bias_forces(robot, q, v)
    G = np.zeros((len(names), n))
    for row, name in enumerate(names):
        k = robot.velocity_index(name)
        G[row, k], f[k] = 1.0, -la.dynamics.bias_forces(robot, q, v)[k]
    kkt = np.block([[M, G.T], [G, np.zeros((len(G), len(G)))]])
    x = np.linalg.solve(kkt, np.concatenate([f, list(prescribed.values())]))
    return x[:n], -G.T @ x[n:]


@pytest.mark.parametrize("seed", range(12))
def test_hybrid_dynamics_solves_the_kkt_system(seed):
    robot = random_tree(seed, bodies=8)
    rng = np.random.default_rng(seed)
    q, v = random_state(robot, seed)
    u = rng.normal(size=robot.nv)
    chosen = rng.random(robot.nv) < 0.4
    prescribed = {robot.velocity_names[k]: float(rng.normal()) for k in np.flatnonzero(chosen)}
    found = redmax.hybrid_dynamics(robot, q, v, u=u, prescribed=prescribed)
    a, held = dense_hybrid(robot, q, v, u, prescribed)
    scale = max(np.abs(a).max(), np.abs(held).max(), 1.0)
    assert np.abs(found.a - a).max() < 1e-11 * scale
    assert np.abs(found.u - np.where(chosen, held, u)).max() < 1e-11 * scale


@pytest.mark.parametrize("seed", range(4))
def test_all_or_nothing_prescribed_is_inverse_or_forward_dynamics(seed):
    robot = random_tree(seed, bodies=6)
    q, v = random_state(robot, seed)
    u = np.random.default_rng(seed).normal(size=robot.nv)
    a = la.dynamics.forward_dynamics(robot, q, v, u)
    assert np.allclose(redmax.hybrid_dynamics(robot, q, v, u=u).a, a, rtol=1e-12, atol=1e-12)
    everything = dict(zip(robot.velocity_names, a, strict=True))
    assert np.allclose(redmax.hybrid_dynamics(robot, q, v, prescribed=everything).u, u, atol=1e-9)


def test_reactions_balance_each_body():
    """Newton-Euler: the reaction of a joint is the rate of momentum of all it carries, less gravity."""
    robot = la.robots.pendulum(links=3)
    q, v = np.array([0.3, -0.4, 1.0]), np.array([1.0, 2.0, -0.5])
    found = redmax.hybrid_dynamics(robot, q, v)
    h = 1e-5
    before, after = (
        la.dynamics.momentum(robot, robot.integrate(q, s * v * h + 0.5 * h * h * found.a), v + s * h * found.a)
        for s in (-1, 1)
    )
    rate = (after - before) / (2 * h)
    weight = np.concatenate(
        [
            robot.total_mass * np.cross(la.dynamics.center_of_mass(robot, q), robot.gravity),
            robot.total_mass * np.array(robot.gravity),
        ]
    )
    assert np.allclose(found.reactions[0], rate - weight, atol=1e-6)


@pytest.mark.parametrize("name", ["four_bar", "three_link_loop", "double_four_bar"])
def test_loops_stay_closed_to_second_order(name):
    """(2.105): G a + dG/dt v = 0, and the Schur complement gives what the whole KKT system gives."""
    robot = getattr(la.robots, name)()
    q = la.dynamics.loops.close_loops(robot, la.robots.home(robot))
    rng = np.random.default_rng(0)
    G, _ = loop_acceleration(robot, q, np.zeros(robot.nv))
    v = rng.normal(size=robot.nv)
    v -= np.linalg.lstsq(G, G @ v, rcond=None)[0]
    G, bias = loop_acceleration(robot, q, v)
    found = redmax.hybrid_dynamics(robot, q, v)
    assert np.abs(G @ found.a + bias).max() < 1e-9
    M, f = la.dynamics.mass_matrix(robot, q), -la.dynamics.bias_forces(robot, q, v)
    kkt = np.block([[M, G.T], [G, np.zeros((len(G), len(G)))]])
    a = np.linalg.lstsq(kkt, np.concatenate([f, -bias]), rcond=None)[0][: robot.nv]
    assert np.allclose(found.a, a, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["four_bar", "three_link_loop"])
def test_bias_of_loops_is_the_rate_of_their_jacobian(name):
    robot = getattr(la.robots, name)()
    q = la.dynamics.loops.close_loops(robot, la.robots.home(robot))
    v = np.random.default_rng(1).normal(size=robot.nv)
    h = 1e-6
    ends = [loop_acceleration(robot, robot.integrate(q, s * h * v), v)[0] for s in (-1, 1)]
    assert np.allclose(loop_acceleration(robot, q, v)[1], (ends[1] - ends[0]) @ v / (2 * h), atol=1e-7)


@pytest.mark.parametrize("seed", range(8))
def test_inverse_inertia_is_the_inverse_of_the_mass_matrix(seed):
    robot = random_tree(seed, bodies=9)
    q, _ = random_state(robot, seed)
    M = la.dynamics.mass_matrix(robot, q)
    X = np.random.default_rng(seed).normal(size=(robot.nv, 3))
    Y = redmax.inverse_inertia_product(robot, q, X)
    assert np.abs(Y - np.linalg.solve(M, X)).max() < 1e-11 * np.abs(Y).max() * max(1.0, np.linalg.cond(M) * 1e-4)
    assert np.allclose(redmax.InverseInertia(robot, q).dense(), np.linalg.inv(M), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_implicit_terms_of_joints_and_bodies(seed):
    """(M + diag + sum J^T P J)^-1 x, the second form of Algorithm 10."""
    robot = random_tree(seed, bodies=6)
    q, _ = random_state(robot, seed)
    rng = np.random.default_rng(seed)
    diagonal = rng.uniform(0.0, 2.0, robot.nv)
    roots = rng.normal(size=(len(robot.bodies), 6, 6))
    blocks = roots @ roots.transpose(0, 2, 1)
    A = la.dynamics.mass_matrix(robot, q) + np.diag(diagonal)
    for name, block in zip(robot.body_names, blocks, strict=True):
        J = la.dynamics.body_jacobian(robot, q, name, frame="origin")
        A += J.T @ block @ J
    x = rng.normal(size=robot.nv)
    y = redmax.InverseInertia(robot, q, diagonal=diagonal, blocks=blocks) @ x
    assert np.allclose(A @ y, x, rtol=1e-9, atol=1e-9)


def test_preconditioner_solves_a_coupled_system_in_few_iterations():
    """Springs between distant bodies couple the tree; the O(n) product takes care of the rest."""
    robot = la.robots.pendulum(links=60)
    q = np.linspace(0.0, 0.5, 60)
    M = la.dynamics.mass_matrix(robot, q)
    J = (
        la.dynamics.body_jacobian(robot, q, robot.body_names[-1])[3:]
        - la.dynamics.body_jacobian(robot, q, robot.body_names[20])[3:]
    )
    A, x = M + 0.1 * J.T @ J, np.ones(60)
    counts = []
    for preconditioner in (redmax.InverseInertia(robot, q).operator, None):
        steps = []
        y, info = cg(A, x, rtol=1e-10, M=preconditioner, maxiter=600, callback=lambda _, s=steps: s.append(1))
        counts.append(len(steps) if info == 0 else 600)
        if preconditioner is not None:
            assert np.linalg.norm(A @ y - x) < 1e-6 * np.linalg.norm(x)
    assert counts[0] < 12 < counts[1]


def test_bad_input_is_named():
    robot = la.robots.pendulum(links=2)
    with pytest.raises(la.MechanismError, match="unknown degree of freedom"):
        redmax.hybrid_dynamics(robot, [0, 0], prescribed={"knee": 1.0})
    with pytest.raises(la.MechanismError, match="finite"):
        redmax.hybrid_dynamics(robot, [0, 0], prescribed={robot.velocity_names[0]: np.nan})
    with pytest.raises(la.MechanismError, match="shape"):
        redmax.InverseInertia(robot, [0, 0]) @ np.zeros(3)
    with pytest.raises(la.MechanismError, match="symmetric"):
        redmax.InverseInertia(robot, [0, 0], blocks=np.triu(np.ones((2, 6, 6))))
