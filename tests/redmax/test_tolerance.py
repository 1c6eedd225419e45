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
    robot, tolerance = ROBOTS[name](), method().tolerance
    q, v = start(name, robot)
    runs = [la.simulate(robot, q, v, dt=0.01, steps=100, integrator=method(tolerance=x)) for x in (tolerance, 1e-14)]
    assert np.abs(robot.difference(runs[0].q[-1], runs[1].q[-1])).max() <= 100 * tolerance
    assert np.abs(runs[0].v[-1] - runs[1].v[-1]).max() <= 300 * tolerance
    assert runs[0].iterations.sum() < runs[1].iterations.sum()
