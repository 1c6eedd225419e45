"""Dry friction of joints: what each impulse may be, while others slide, stick, stop and press on the ground."""

import numpy as np
import pytest

import leastaction as la
from leastaction.contact.laws.compliance import DEEPEST
from leastaction.contact.solver.cone_kinds import CONTACT, DRY, LIMIT
from leastaction.mechanism import Plane
from leastaction.minimal.contact.solver.locked_joints import HELD, SLIDES, next_state


def arm(limits=None):
    """Three links on hinges with dry friction, whose tip falls on the ground."""
    b = la.MechanismBuilder("arm")
    parent = "world"
    for k, friction in enumerate((1.5, 0.6, 0.2)):
        b.body(f"link{k}", mass=1.0 - 0.2 * k, com=(0.15, 0, 0), inertia=(0.002, 0.01, 0.01))
        place = (0.0, 0.0, 0.4) if k == 0 else (0.3, 0.0, 0.0)
        b.revolute(f"hinge{k}", parent, f"link{k}", axis="y", position=place, friction=friction, limits=limits)
        parent = f"link{k}"
    b.contact("tip", "link2", (0.3, 0.0, 0.0), radius=0.02, friction=0.4)
    b.add_shape("world", Plane(friction=0.4))
    return b.build()


@pytest.mark.parametrize("limits", [None, (-0.5, 0.9)])
def test_friction_opposes_what_slides_and_holds_what_does_not(limits):
    """Coulomb's law of every joint in every step: |L| <= dt tau, and L = -dt tau sign(v) unless v = 0."""
    robot, dt = arm(limits), 0.004
    cones = la.Minimal().prepare(robot, dt).cones
    run = la.simulate(robot, [0.2, -0.4, 0.8], [0.5, -3.0, 4.0], dt=dt, steps=150, integrator=la.Minimal())
    dry = cones[cones.kind == DRY]
    impulses, most, v = run.stored["impulses"][1:, dry.row], dt * dry.friction, run.v[1:, dry.dof]
    held = np.abs(impulses) < (1.0 - 1e-9) * most
    assert np.all(np.abs(impulses) <= (1.0 + 1e-9) * most)
    assert np.abs(v[held]).max() < 1e-9
    slides = np.abs(v) > 1e-9
    expected = np.broadcast_to(-np.sign(v) * most, v.shape)
    assert impulses[slides] == pytest.approx(expected[slides], rel=1e-9)
    assert 0 < held[:-1].sum() < held[:-1].size, "nothing was held, or nothing slid"
    pushing = cones[(cones.kind == CONTACT) | (cones.kind == LIMIT)]
    assert (run.stored["impulses"][:, pushing.row] > 0.0).any(axis=0).sum() > (0 if limits is None else 1)
    weight = 9.81 * sum(body.inertia.mass for body in robot.bodies)
    assert np.diff(run.energy).max() < weight * DEEPEST * dt**2  # as contacts spring back, see `compliance`


def test_a_restart_goes_on_as_before():
    """(q, p) is the state: which joints were held is not part of it."""
    robot, options = arm(), {"dt": 0.004, "integrator": la.Minimal()}
    run = la.simulate(robot, [0.2, -0.4, 0.8], [0.5, -3.0, 4.0], steps=120, **options)
    again = la.simulate(robot, run.q[60], p=run.p[60], steps=60, **options)
    assert np.abs(again.q - run.q[60:]).max() < 1e-9


def test_what_creeps_to_rest_is_not_solved_again_and_again():
    """A joint that slides by round-off the way in which friction pushes goes on; one that moves by more is held."""
    joints = np.zeros(1, [("state", float)]).view(np.recarray)
    for way in (1.0, -1.0):
        joints.state[0] = SLIDES * way
        assert next_state.py_func(joints, 0, 0.0, 1.0, way * 1e-12, 1e-11) == SLIDES * way
        assert next_state.py_func(joints, 0, 0.0, 1.0, way * 1e-10, 1e-11) == HELD
        assert next_state.py_func(joints, 0, 0.0, 1.0, -way, 1e-11) == SLIDES * way
