"""Chains of joints with massless bodies between them are the same as one joint with all their motions."""

import numpy as np
import pytest

import leastaction as la
from leastaction.maximal.compilation.compiler import compile_model
from leastaction.mechanism import Box, Inertia, MechanismBuilder, Plane, Sphere, joints

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


@pytest.mark.parametrize("alone", [True, False])
def test_a_mass_that_is_round_off_beside_its_moments_changes_nothing(alone):
    """A link of moments 0.1 kg m² and some 1e-12 kg moves as one without mass; it failed, or gained energy."""
    runs = []
    for mass in (0.0, 1e-12, 1e-9):
        b = MechanismBuilder("rotor")
        b.body("rotor", inertia=Inertia(mass, (0.0, 0.0, 0.0), (0.1, 0.1, 0.1)))
        b.revolute("turn", "world", "rotor", axis="y", armature=0.05, stiffness=3.0)
        if not alone:
            b.body("arm", mass=1.0, com=(0, 0, -0.5), inertia=0.02)
            b.revolute("elbow", "rotor", "arm", axis="y", position=(0.3, 0, 0), limits=(-0.5, 0.5))
        robot = b.build()
        runs.append(la.simulate(robot, [0.3] * robot.nv, [-1.0] * robot.nv, dt=0.01, steps=80, integrator=la.Maximal()))
    for run in runs[1:]:
        np.testing.assert_allclose(run.q, runs[0].q, atol=1e-7)
        np.testing.assert_allclose(run.energy, runs[0].energy, atol=1e-6)


def test_a_tiny_mass_that_slides_is_kept():
    """Nothing else keeps its joint from having no inertia at all."""
    b = MechanismBuilder("slide")
    b.body("block", mass=1.0)
    b.prismatic("rail", "world", "block")
    b.body("dust", inertia=Inertia(1e-9, (0.0, 0.0, 0.0), (0.1, 0.1, 0.1)))
    b.prismatic("fall", "world", "dust")
    model = compile_model(b.build())
    assert (model.bodies.mass == [1.0, 1e-9]).all()


@pytest.mark.parametrize("touching", ["limit", "ground"])
def test_what_only_massless_bodies_touch_is_as_heavy_as_what_they_carry(touching):
    """A limit between two massless links, or the ground under one, when no other cone tells how large impulses are.

    With no mass at all the matrix of a step was singular, or every step near the ground was divided.
    """
    b = MechanismBuilder("arm")
    b.body("upper", mass=1.0, com=(0.1, 0, 0), inertia=(1e-3, 4e-3, 4e-3))
    b.body("cross")
    b.body("knee", shapes=[Sphere(0.05)] if touching == "ground" else ())
    b.body("lower", mass=0.5, com=(0.1, 0, 0), inertia=(1e-3, 2e-3, 2e-3))
    b.revolute("shoulder", "world", "upper", axis="y", position=(0, 0, 0.22))
    b.revolute("tilt", "upper", "cross", axis="x", position=(0.2, 0, 0))
    b.revolute("turn", "cross", "knee", axis="z", **({"limits": (-0.2, 0.2)} if touching == "limit" else {}))
    b.revolute("bend", "knee", "lower", axis="y")
    if touching == "ground":
        b.add_shape("world", Plane())
    run = la.simulate(
        b.build(), [0.1, 0.05, 0.1, 0.1], [0.3, -0.2, 3.0, 0.5], dt=0.01, steps=30, integrator=la.Maximal()
    )
    assert not run.stored["substeps"].any()
    assert run.constraint_violation.max() < 1e-9
    assert (run.energy - run.energy[0]).max() < 1e-4 * run.kinetic_energy.max()
    if touching == "limit":
        assert 0.2 - 1e-6 < np.abs(run.q[:, 2]).max() < 0.2 + 1e-7
    else:
        assert run.stored["contacts"][:, 8].max() > 1.0
        assert run.stored["contacts"][:, 9].min() > -1e-7
