"""Steps do not depend on where a robot is that nothing ties to a place."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import MechanismBuilder
from leastaction.minimal.floating_origin import shiftable_trees
from tests.dynamics.test_origin_shift import STEPS, states, thrown_arm

INTEGRATORS = [la.Galerkin(order=2), la.Galerkin(order=4, interpolation="joints"), la.Midpoint()]


@pytest.mark.parametrize(
    "integrator", INTEGRATORS, ids=lambda i: f"{type(i).__name__}{getattr(i, 'interpolation', '')}"
)
def test_steps_far_from_the_origin_are_those_near_it(integrator):
    """10 km away steps of joint coordinates were divided up to a thousand times or had no solution."""
    robot = thrown_arm()
    q, there, v = states(robot, 2.0**14)
    near, far = (la.simulate(robot, x, v, dt=0.01, steps=STEPS, integrator=integrator) for x in (q, there))
    assert far.iterations.sum() <= near.iterations.sum() + 2
    assert not far.stored["divided"].any()
    assert np.abs(far.q[:, 3:] - near.q[:, 3:]).max() <= 1e-9
    assert np.abs(far.q[:, :3] - near.q[:, :3] - (there - q)[:3]).max() <= 1e-9
    assert np.abs(far.p - near.p).max() <= 1e-9 * np.abs(near.p).max()
    assert np.abs(far.energy - far.energy[0] - (near.energy - near.energy[0])).max() <= 1e-9 * near.kinetic_energy.max()


def test_runs_far_away_restart_exactly_across_the_grid():
    """The grid that a step is taken on follows from its start alone."""
    robot = thrown_arm()
    _, there, v = states(robot, 2.0**14)
    v[3:6] = 200.0, 0.0, 0.0  # several cells
    run = la.simulate(robot, there, v, dt=0.05, steps=STEPS, integrator=INTEGRATORS[0])
    assert np.ptp(run.q[:, 0]) > 64.0
    for k in range(STEPS):
        rest = la.simulate(robot, run.q[k], p=run.p[k], dt=0.05, steps=1, integrator=INTEGRATORS[0])
        assert np.array_equal(rest.q[1], run.q[k + 1]), k
        assert np.array_equal(rest.p[1], run.p[k + 1]), k


def test_derivatives_far_away_are_those_near_the_origin():
    """Also by parameters, which look at the solved step again."""
    robot = thrown_arm()
    q, there, v = states(robot, 2.0**14)
    p = la.dynamics.mass_matrix(robot, q) @ v
    for integrator in INTEGRATORS[:2]:
        here, moved = (np.hstack(la.linearize(robot, integrator, x, p, dt=0.01)) for x in (q, there))
        assert np.abs(here - moved).max() <= 1e-9 * np.abs(here).max()
        ends = [
            la.derivatives.parameter_jacobian(robot, integrator, x, p, parameters=["mass:b1", "position:hinge"])
            for x in (q, there)
        ]
        for name, J in ends[0].items():
            assert np.abs(J - ends[1][name]).max() <= 1e-8 * np.abs(J).max(), name


def test_what_is_tied_to_a_place_stays_there():
    """Springs from the world hold their robots where they are; those within a robot do not."""

    def held_by(*ends):
        b = MechanismBuilder.from_mechanism(thrown_arm())
        b.spring("spring", *ends, stiffness=10.0)
        return shiftable_trees(b.build().tree)

    assert len(shiftable_trees(thrown_arm().tree)) == 1
    assert len(held_by("b0", "b2")) == 1
    assert len(held_by("world", "b2")) == 0
