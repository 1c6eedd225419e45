"""Energy: it swings within a band that shrinks as dt^order, and does not drift."""

import numpy as np
import pytest

import leastaction as la
from tests.minimal.helpers import METHODS, method, number
from tests.oracles.random_trees import random_state, random_tree

HORIZONTAL = (np.pi / 2, 0.0)


def drift(t, energy, blocks=60):
    """Slope of a line through the means of equal blocks of time, and its standard error [J/s].

    Means of blocks, since neighbouring samples are not independent: a fit through all would claim too much.
    """
    n = (len(t) - 1) // blocks
    times, means = (x[1 : n * blocks + 1].reshape(blocks, n).mean(axis=1) for x in (t, energy))
    coefficients, covariance = np.polyfit(times, means, 1, cov=True)
    return coefficients[0], np.sqrt(covariance[0, 0])


# Largest swing of the energy [J] about its start, and largest drift [J/s] that the fit could miss.
BANDS = {"midpoint": (0.14, 1e-6), 2: (0.26, 2e-6), 4: (5e-4, 3e-9)}


@pytest.mark.slow
@pytest.mark.parametrize("order", BANDS)
def test_no_drift_over_an_hour(order):
    """Double pendulum let go from the horizontal, 360 000 steps of 0.01 s: chaotic, so no periodic luck."""
    robot = la.robots.double_pendulum()
    run = la.simulate(robot, HORIZONTAL, dt=0.01, steps=360_000, integrator=method(order))
    band, resolution = BANDS[order]
    assert np.abs(run.energy - run.energy[0]).max() <= band
    # The first minute already shows all of the band there is, within a factor of two.
    assert np.abs(run.energy[:6001] - run.energy[0]).max() >= 0.5 * np.abs(run.energy - run.energy[0]).max()
    slope, error = drift(run.t, run.energy)
    assert abs(slope) <= 4.0 * error
    assert error <= resolution


@pytest.mark.parametrize("order", [2, 4])
def test_one_minute(order):
    """The same for 60 s."""
    robot = la.robots.double_pendulum()
    run = la.simulate(robot, HORIZONTAL, dt=0.01, duration=60.0, integrator=method(order))
    assert run.steps == 6000
    assert np.abs(run.energy - run.energy[0]).max() <= BANDS[order][0]
    slope, error = drift(run.t, run.energy)
    assert abs(slope) <= 5.0 * error
    assert abs(slope) * 60.0 <= 0.1 * BANDS[order][0]


def test_steps_that_are_not_solved_do_drift():
    """The tests above can fail: what a loose tolerance leaves unsolved has a bias, which a minute shows."""
    robot = la.robots.double_pendulum()
    run = la.simulate(robot, HORIZONTAL, dt=0.04, duration=60.0, integrator=method(4, tolerance=0.1))
    slope, error = drift(run.t, run.energy)
    assert slope > 8.0 * error


@pytest.mark.parametrize("order", METHODS)
def test_the_band_shrinks_with_the_order(order):
    """Halving dt divides the swing of the energy by 2^order."""
    robot = random_tree(22, 3, ("revolute", "spherical", "prismatic"), branching=0.5, stiffness=3.0)
    q, v = random_state(robot, 4)
    counts = {2: (100, 200), 4: (40, 80), 6: (20, 40), 8: (20, 40)}[number(order)]
    # At common times only, else a finer run would see more of the swing.
    bands = []
    for n in counts:
        run = la.simulate(robot, q, v, dt=0.5 / n, steps=n, integrator=method(order))
        rows = run.energy[:: n // 5]
        bands.append(np.linalg.norm(rows - rows[0]))
    assert np.log2(bands[0] / bands[1]) == pytest.approx(number(order), abs=0.3)
