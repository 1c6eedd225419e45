"""Gradients by parameters stay on the branch of a law that the solved step is on, however near its kink is.

Derivatives by parameters are differences of equations with other values, which may be beyond the kink.
"""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import reach
from leastaction.mechanism import Box, MechanismBuilder, Plane
from leastaction.parameters.parameters import parameter, with_parameters


def assert_by_differences(robot, objective, names, bound, **options):
    """Gradients of an objective along random directions of parameters are those of central differences."""
    rng = np.random.default_rng(2)
    found = la.adjoint(robot, la.Minimal(), objective, names, **options)[1]
    for name in names:
        d, middle = rng.normal(size=found[name].shape), parameter(robot, name)

        def value(change, name=name, d=d, middle=middle):
            other = with_parameters(robot, {name: middle + change * d})
            return float(objective(la.simulate(other, integrator=la.Minimal(), **options)).value)

        central = (value(1e-6) - value(-1e-6)) / 2e-6
        assert abs((found[name] * d).sum() - central) < bound * abs(central), name


@pytest.mark.parametrize("compliance", [1e-7, 1e-6, 3e-6])
def test_soft_contacts_as_deep_as_a_hair(compliance):
    """What a soft contact keeps of its depth ends where it opens: a few micrometres from where a box rests."""
    b = MechanismBuilder("soft")
    b.body("box", mass=1.0, shapes=Box((0.2, 0.3, 0.1), friction=0.3, compliance=compliance))
    b.free("box")
    b.add_shape("world", Plane())
    objective = reach("box", [0.05, 0.02, 0.03], [0.1, 0.2, 0.3])
    options = {"q": [0, 0, 0.06, 1, 0, 0, 0], "v": [0.3, 0.2, 1.0, 0.5, 0.2, 0.0], "dt": 0.01, "steps": 60}
    assert_by_differences(b.build(), objective, ["size:box/0", "position:box/0"], 1e-6, **options)


@pytest.mark.parametrize("dt", [1e-2, 1e-3])
def test_limits_that_bear_a_load(dt):
    """What is left of a limit that is exceeded begins a share of what gravity moves things in a step beyond it."""
    b = MechanismBuilder("arm")
    for i in range(2):
        b.body(f"l{i}", mass=1.0, com=(0.1, 0, 0), inertia=(1e-3, 2e-3, 2e-3))
        place = (0.2, 0, 0) if i else (0, 0, 0)
        b.revolute(f"j{i}", f"l{i - 1}" if i else "world", f"l{i}", axis="y", position=place, limits=(-1.0, 0.5))
    objective = reach("l1", [0.1, 0.0, 0.02], [0.1, 0.2, 0.3])
    options = {"q": [0.499, 0.3], "dt": dt, "steps": round(0.3 / dt)}
    assert_by_differences(b.build(), objective, ["upper:j0", "upper:j1"], 1e-5, **options)
