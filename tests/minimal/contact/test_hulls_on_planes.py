"""Hulls on planes, whose corners are looked for: as if there were a contact at each of them."""

import numpy as np

import leastaction as la
from leastaction.mechanism import Mesh, Plane
from leastaction.minimal.contact.detection import constraints


def prism(corners: int = 16) -> la.Mechanism:
    """An upright prism over an even ground, with friction of 0.5."""
    angles = 2.0 * np.pi * np.arange(corners) / corners
    ring = 0.1 * np.column_stack([np.cos(angles), np.sin(angles)])
    points = np.concatenate([np.column_stack([ring, np.full(corners, z)]) for z in (-0.05, 0.05)])
    builder = la.MechanismBuilder("prism")
    builder.add_shape("world", Plane(friction=0.5))
    builder.body("prism", mass=1.0, inertia=(0.0035, 0.0035, 0.005))
    builder.free("prism")
    builder.add_shape("prism", Mesh(points, friction=0.5))
    return builder.build()


def run(robot: la.Mechanism, steps: int = 40) -> la.Trajectory:
    q = robot.home()
    q[:3] = 0.0, 0.0, 0.05
    v = np.zeros(robot.nv)
    v[3:6] = 1.0, 0.3, 0.0
    return la.simulate(robot, q=q, v=v, dt=0.01, steps=steps, integrator=la.Minimal())


def test_a_prism_slides_as_friction_says():
    out = run(prism())
    speed = np.hypot(1.0, 0.3)
    stop = speed**2 / (2.0 * 0.5 * 9.81)
    np.testing.assert_allclose(np.linalg.norm(out.q[-1, :2]), stop, rtol=2e-2)
    assert np.abs(out.q[:, 2] - 0.05).max() < 1e-6
    np.testing.assert_allclose(out.contacts.force[out.contacts.step == 39].sum(axis=0)[2], 9.81, rtol=1e-6)


def test_corners_that_are_looked_for_act_as_those_that_always_count(monkeypatch):
    found = run(prism(6))
    monkeypatch.setattr(constraints, "FEW", 12)
    always = run(prism(6))
    np.testing.assert_allclose(found.q, always.q, atol=1e-6)
