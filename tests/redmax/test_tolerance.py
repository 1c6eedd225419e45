"""What the tolerance of Newton's method promises of a run."""

import numpy as np
import pytest

import leastaction as la
from tests.redmax.robots import ROBOTS, start


@pytest.mark.parametrize("method", [la.BDF, la.SDIRK2])
@pytest.mark.parametrize("name", ["spherical", "springs"])
def test_runs_are_as_exact_as_the_tolerance_says(method, name):
    """Each step leaves the tolerance in its velocities, so n steps n times that at most, and their growth.

    A test of positions alone would leave 1 / dt times as much.
    """
    robot, tolerance = ROBOTS[name](), 1e-9
    q, v = start(name, robot)
    runs = [la.simulate(robot, q, v, dt=0.01, steps=100, integrator=method(tolerance=x)) for x in (tolerance, 1e-13)]
    apart = np.abs(robot.difference(runs[0].q[-1], runs[1].q[-1])).max()
    assert apart <= 100 * tolerance
    assert np.abs(runs[0].v[-1] - runs[1].v[-1]).max() <= 1000 * tolerance
    # And no more iterations than it takes: a few of a step's cost a solve with the factors of the first.
    assert runs[0].iterations.sum() <= 1.5 * runs[1].iterations.sum()
