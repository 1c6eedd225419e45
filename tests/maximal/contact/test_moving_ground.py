"""Planes and height fields on bodies that move: lifts, belts, tables."""

import warnings

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Box, HeightField, Plane, Pose, Sphere

GROUNDS = [
    Plane(friction=0.5),
    HeightField(np.zeros((5, 5)), 1.0, friction=0.5),
    Box((4, 4, 0.2), pose=Pose((0, 0, -0.1)), friction=0.5),
]


@pytest.mark.parametrize("ground", GROUNDS, ids=lambda shape: shape.kind)
def test_a_lift_carries_what_is_on_it(ground):
    """Box and ball come to rest on a platform whose spring then bears the weight of all three."""
    b = la.MechanismBuilder("lift")
    b.body("lift", mass=10.0, inertia=1.0, shapes=ground)
    b.prismatic("slide", "world", "lift", axis="z", stiffness=4e3, damping=400.0)
    b.body("box", mass=1.0, shapes=Box((0.2, 0.2, 0.2)))
    b.free("box")
    b.body("ball", mass=1.0, shapes=Sphere(0.1))
    b.free("ball")
    q = [-0.025, 0, 0, 0.2, 1, 0, 0, 0, 0.5, 0, 0.3, 1, 0, 0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = la.simulate(b.build(), q, dt=0.01, duration=2.0, integrator=la.Maximal())
    sag = -12.0 * 9.81 / 4e3
    np.testing.assert_allclose(run.q[-1, [0, 3, 10]], [sag, sag + 0.1, sag + 0.1], atol=1e-5)
    np.testing.assert_allclose(run.contact_force("lift")[-1], [0, 0, -2 * 9.81], atol=1e-2)


@pytest.mark.parametrize("ground", GROUNDS, ids=lambda shape: shape.kind)
def test_a_belt_takes_along_what_is_put_on_it(ground):
    """Friction accelerates the box by mu g until it moves with the belt; the momentum of both is kept."""
    b = la.MechanismBuilder("conveyor")
    b.body("belt", mass=1e3, inertia=1.0, shapes=ground)
    b.prismatic("slide", "world", "belt", axis="x")
    b.body("box", mass=1.0, shapes=Box((0.2, 0.2, 0.2)))
    b.free("box")
    run = la.simulate(
        b.build(), [0, 0, 0, 0.1, 1, 0, 0, 0], {"slide": 1.0}, dt=0.01, duration=0.5, integrator=la.Maximal()
    )
    assert run.v[10, 4] == pytest.approx(0.5 * 9.81 * 0.1, abs=1e-4)
    np.testing.assert_allclose(run.v[-1, [0, 4]], 1e3 / 1001, rtol=1e-6)
