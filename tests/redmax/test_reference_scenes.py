"""Runs of the reference implementation, step by step: the same coordinates and energies in the same units."""

import numpy as np
import pytest

import leastaction as la
from tests.redmax import scenes


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("number", [0, 2, 8, 12])
def test_scene(number, order):
    robot, q, v, dt = scenes.load(number)
    t, T, V, Q, QD = scenes.reference(number, f"BDF{order}")
    run = la.simulate(robot, q, v, dt=dt, steps=len(t) - 1, integrator=la.BDF(order=order))
    scale = np.abs(T + V).max()
    for ours, theirs, size in (
        (run.q, Q, np.abs(Q).max()),
        (run.v, QD, np.abs(QD).max()),
        (run.kinetic_energy, T, scale),
        (run.potential_energy, V, scale),
    ):
        assert np.abs(ours - theirs).max() <= 1e-7 * size
