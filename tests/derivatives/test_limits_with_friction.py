"""Derivatives where a joint with dry friction rests on its limit, so that both say where it ends."""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import gradient

DT, STEPS = 0.01, 3


def arm(friction):
    """An arm that hangs on its upper limit, with dry friction [N m], and a link that swings on it."""
    b = la.MechanismBuilder("arm")
    b.body("arm", mass=1.0, com=(0.3, 0.0, 0.0), inertia=(0.01, 0.02, 0.02))
    b.revolute("held", "world", "arm", axis="y", lower=-0.5, upper=0.2, friction=friction)
    b.body("link", mass=0.5, com=(0.1, 0.0, 0.1), inertia=(0.01, 0.01, 0.01))
    b.revolute("swinging", "arm", "link", axis="x", position=(0.3, 0.0, 0.0))
    return b.build()


@pytest.mark.parametrize("friction", [0.5, 30.0], ids=["limit holds", "friction holds"])
@pytest.mark.parametrize(
    ("integrator", "tolerance"), [(la.Grounded(tolerance=1e-12), 1e-4), (la.Maximal(tolerance=1e-12), 5e-3)]
)
def test_what_holds_a_joint_on_its_limit(integrator, tolerance, friction):
    """Moved off its limit, it falls back on it in a step where friction is weak, and stays where that is strong.

    Differences go one way: a start beyond the limit is brought back.
    """
    robot, q, v = arm(friction), np.array([0.2, 0.3]), np.array([0.0, 0.5])
    if isinstance(integrator, la.Maximal) and friction > 1.0:
        q[0] -= 1e-4  # on the limit itself both hold it, by the compliance of each
    options = {"dt": DT, "steps": STEPS, "integrator": integrator}
    run = la.simulate(robot, q, v, **options)
    assert np.abs(run.q[:, 0] - q[0]).max() < 1e-7
    bars = np.random.default_rng(0).normal(size=(2, STEPS + 1, 2))
    found = gradient(run, *bars, ["q"])["q"]

    def value(d):
        end = la.simulate(robot, q - d, v, **options)
        return float((bars[0] * (end.q - run.q)).sum() + (bars[1] * (end.v - run.v)).sum())

    h = 1e-6 if isinstance(integrator, la.Grounded) else 1e-5
    slope = (value(np.zeros(2)) - value(np.array([h, 0.0]))) / h
    assert abs(found[0] - slope) < tolerance * abs(slope)
