"""Gradients by where joints are whose angles and positions a tendon adds up: it measures them wherever they are."""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import gradient, with_parameters

DT, STEPS = 0.01, 3


@pytest.fixture(scope="module")
def fingers():
    """Two links on a hinge and a slide, with a tendon over both."""
    b = la.MechanismBuilder("fingers")
    b.body("first", mass=0.8, com=(0.1, 0.02, 0.0), inertia=(0.01, 0.012, 0.014))
    b.revolute("hinge", "world", "first", axis=(0.6, 0.0, 0.8))
    b.body("second", mass=0.5, com=(0.0, 0.1, 0.05), inertia=(0.008, 0.01, 0.006))
    b.prismatic("slide", "first", "second", axis=(0.0, 0.6, 0.8), position=(0.2, 0.1, 0.0))
    b.tendon("pull", joints=[("hinge", 0.5), ("slide", -0.7)], stiffness=20.0, damping=0.3)
    return b.build(), np.array([0.3, 0.1]), np.array([0.4, -0.5])


@pytest.mark.parametrize("integrator", [la.Galerkin(order=2), la.Midpoint()], ids=["bodies", "joints"])
@pytest.mark.parametrize("name", ["rotation:hinge", "rotation:slide", "position:slide"])
def test_by_the_place_of_a_joint(fingers, integrator, name):
    """Against central differences of runs."""
    robot, q, v = fingers
    options = {"dt": DT, "steps": STEPS, "integrator": integrator}
    run = la.simulate(robot, q, v, **options)
    bars = np.random.default_rng(0).normal(size=(2, STEPS + 1, 2))
    found, place = gradient(run, *bars, [name])[name], np.array([0.2, 0.1, 0.0]) * name.startswith("position")

    def value(d):
        end = la.simulate(with_parameters(robot, {name: place + d}), q, v, **options)
        return float((bars[0] * (end.q - run.q)).sum() + (bars[1] * (end.v - run.v)).sum())

    slopes = [(value(d) - value(-d)) / 2e-5 for d in 1e-5 * np.eye(3)]
    assert np.abs(found - slopes).max() < 1e-6 * max(np.abs(slopes).max(), 1.0)


def test_the_adjoint_method_refuses_it(fingers):
    """It would take the axis about which a length is read for one that stays where it is."""
    robot, q, v = fingers
    run = la.simulate(robot, q, v, dt=DT, steps=STEPS, integrator=la.BDF(order=1))
    bars = np.ones((STEPS + 1, 2))
    assert np.isfinite(gradient(run, bars, bars, ["position:hinge"])["position:hinge"]).all()
    for name in ("rotation:hinge", "position:slide"):
        with pytest.raises(la.IntegratorError, match=f"{name}: a tendon"):
            gradient(run, bars, bars, [name])
