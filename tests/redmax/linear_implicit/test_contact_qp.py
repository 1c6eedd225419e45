"""Contacts and friction by quadratic programs: theory of a block, and the programs themselves."""

import itertools
import math

import numpy as np
import pytest

import leastaction as la
from leastaction.contact.qp import QuadraticProgram
from leastaction.redmax import ConstrainedEuler, MaximalEuler
from tests.redmax.scenes_with_contact import block_on_incline

pytest.importorskip("daqp")
pytest.importorskip("piqp")


def brute_force(H, g, lower, upper):
    """The best of all choices of which bounds hold."""
    best, value = None, math.inf
    for choice in itertools.product((-1, 0, 1), repeat=len(g)):
        x = np.where(np.array(choice) < 0, lower, upper)
        free = np.flatnonzero(np.array(choice) == 0)
        held = np.flatnonzero(np.array(choice) != 0)
        if not np.isfinite(x[held]).all():
            continue
        x[free] = np.linalg.solve(H[np.ix_(free, free)], -g[free] - H[np.ix_(free, held)] @ x[held])
        if (x >= lower - 1e-12).all() and (x <= upper + 1e-12).all() and 0.5 * x @ H @ x + g @ x < value:
            best, value = x, 0.5 * x @ H @ x + g @ x
    return best


@pytest.mark.parametrize("solver", ["daqp", "piqp", "auto"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_quadratic_programs(solver, scale):
    """Against every active set, at any scale of masses and impulses, also when started from another solution."""
    rng = np.random.default_rng(0)
    qp = QuadraticProgram(solver)
    for _ in range(5):
        J = rng.normal(size=(4, 6))
        H, g = scale * J @ J.T, rng.normal(size=4)
        lower, upper = np.array([0.0, 0.0, -0.3 / scale, -np.inf]), np.array([np.inf, 0.2 / scale, 0.3 / scale, np.inf])
        x = brute_force(H, g, lower, upper)
        assert np.allclose(qp.solve(H, g, lower, upper), x, rtol=0, atol=1e-5 * np.abs(x).max())


def test_rank_deficient_problem_has_a_small_solution():
    """Four feet on the ground, three equations: the load is shared."""
    N = np.array([[1.0, 1, 1], [1, 1, -1], [1, -1, 1], [1, -1, -1]])
    alpha = QuadraticProgram().solve(N @ N.T, -N @ np.array([4.0, 0, 0]))
    assert np.allclose(alpha, 1.0, atol=1e-3)
    assert np.allclose(N.T @ alpha, [4.0, 0, 0], atol=1e-6)


@pytest.mark.parametrize("integrator", [ConstrainedEuler(), MaximalEuler()])
def test_block_without_friction_slides_freely(integrator):
    angle = 0.4
    robot, q = block_on_incline(angle, 0.5)
    run = la.simulate(robot, q=q, dt=1e-3, steps=200, integrator=integrator)
    assert np.linalg.norm(run.v[-1, 3:]) == pytest.approx(9.81 * math.sin(angle) * 0.2, rel=1e-6)
    assert run.stored["normal_forces"][-1].sum() == pytest.approx(2.0 * 9.81 * math.cos(angle), rel=1e-6)


@pytest.mark.parametrize("integrator", [ConstrainedEuler(friction="single_qp"), MaximalEuler(friction="single_qp")])
def test_single_qp_holds_a_block_within_the_cone(integrator):
    robot, q = block_on_incline(0.3, 0.5)
    run = la.simulate(robot, q=q, dt=2e-3, steps=100, integrator=integrator)
    assert np.abs(run.q[-1] - q).max() < 1e-8
    friction = run.stored["friction_forces"][-1].sum(axis=0)
    assert np.linalg.norm(friction) == pytest.approx(2.0 * 9.81 * math.sin(0.3), rel=1e-5)


def test_single_qp_brakes_a_sliding_block_and_lifts_it():
    """Anitescu and Hart's relaxation: along the slope right to the order of mu^2, but v_n = mu v_t where it slides."""
    angle, mu = 0.6, 0.3
    robot, q = block_on_incline(angle, mu)
    run = la.simulate(robot, q=q, dt=1e-3, steps=50, integrator=ConstrainedEuler(friction="single_qp"))
    speed = run.v[-1, 3]
    assert speed < 9.81 * math.sin(angle) * 0.05 - 0.05
    assert np.diff(run.energy).max() < 1e-9
    assert 0.0 < run.v[1, 5] == pytest.approx(mu * run.v[1, 3], rel=1e-3)


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_restitution(restitution):
    """A dropped block leaves the ground with e times the speed of its fall."""
    robot, q = block_on_incline(0.0, 0.0, restitution, height=0.2)
    run = la.simulate(robot, q=q, dt=1e-3, steps=300, integrator=ConstrainedEuler())
    hit = int(np.argmin(run.v[:, 5]))
    assert run.v[hit, 5] == pytest.approx(-math.sqrt(2 * 9.81 * 0.2), rel=5e-3)
    assert run.v[hit + 1, 5] == pytest.approx(-restitution * run.v[hit, 5], abs=0.02)
    assert run.q[:, 2].min() > 0.05 - 2e-3


def test_nothing_is_said_about_contacts_that_act(recwarn):
    robot, q = block_on_incline(0.0, 0.5)
    la.simulate(robot, q=q, steps=1, integrator=ConstrainedEuler())
    assert not [w for w in recwarn if "do not act" in str(w.message)]


def test_missing_solver_names_the_extra(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "daqp", None)
    robot, q = block_on_incline(0.0, 0.5)
    with pytest.raises(la.MissingExtraError, match=r"leastaction\[qp\]"):
        la.simulate(robot, q=q, steps=1, integrator=ConstrainedEuler())
