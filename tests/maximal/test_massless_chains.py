"""Chains of joints with massless bodies between them are the same as one joint with all their motions."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Box, MechanismBuilder, Plane, joints

SHAPES = {"box": Box((0.2, 0.2, 0.2), friction=0.5)}
PLANAR = ("prismatic", "x"), ("prismatic", "z"), ("revolute", "y")


def planar_bodies(chain, shape):
    """Two bodies that move in the x-z plane over the ground."""
    b = MechanismBuilder("bodies")
    for i in range(2):
        b.body(f"body{i}", mass=1.0, shapes=shape)
        if not chain:
            parts = [getattr(joints, kind)(axis) for kind, axis in PLANAR]
            b.joint(f"plane{i}", "composite", "world", f"body{i}", parts=parts)
            continue
        parent = "world"
        for kind, axis in PLANAR:
            child = f"body{i}" if kind == "revolute" else b.body(f"between{i}{axis}")
            getattr(b, kind)(f"{kind}{i}{axis}", parent, child, axis=axis)
            parent = child
    b.add_shape("world", Plane())
    return b.build()


@pytest.mark.parametrize("shape", SHAPES)
def test_contact_of_bodies_on_massless_ones(shape):
    """They fall on each other and come to rest; Newton's matrix is regular whichever bodies are eliminated first."""
    start = [0, 0.15, 0, 0.05, 0.4, 0.3]
    runs = [
        la.simulate(planar_bodies(chain, SHAPES[shape]), start, dt=0.005, duration=0.4, integrator=la.Maximal())
        for chain in (True, False)
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-6)
    assert runs[0].constraint_violation.max() < 1e-10
    assert len(runs[0].stored["contacts"])


def test_axes_that_come_to_lie_in_one_line():
    """Three hinges at the pose where the first and the last are one: the frame between them may spin, nothing else."""
    b = MechanismBuilder("gimbal", gravity=(0, 0, 0))
    parent = "world"
    for axis, child in zip("zyz", ("first", "second", "top"), strict=True):
        b.body(child, **({"mass": 1.0, "inertia": (0.1, 0.2, 0.25)} if child == "top" else {}))
        b.revolute(f"turn_{child}", parent, child, axis=axis, lower=-3.0, upper=3.0)
        parent = child
    run = la.simulate(b.build(), v={"turn_top": 2.0}, dt=0.01, duration=0.5, integrator=la.Maximal())
    turned = run.q[:, 0] + run.q[:, 2]
    np.testing.assert_allclose(turned, 2.0 * run.t, atol=2e-4)  # the chart of a step is off by (w dt)^2
