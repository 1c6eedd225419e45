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


@pytest.mark.parametrize("off", [-1e-13, 0.0, 1e-13])
@pytest.mark.parametrize("friction", [1.5, 4.0])
def test_a_limit_bears_what_friction_cannot(friction, off):
    """A pendulum that lies on its limit, from a round-off beside it: the limit bears what is left for it."""
    b, dt = la.MechanismBuilder("pendulum"), 0.01
    b.body("rod", mass=1.0, com=(0.3, 0, 0), inertia=(0.002, 0.01, 0.01))
    b.revolute("hinge", "world", "rod", axis="y", friction=friction, limits=(-1.0, 0.2))
    robot = b.build()
    cones = la.Minimal().prepare(robot, dt).cones
    run = la.simulate(robot, [0.2 + off], dt=dt, steps=20, integrator=la.Minimal())
    rub, push = (run.stored["impulses"][1:, cones.row[cones.kind == kind]][:, 0] / dt for kind in (DRY, LIMIT))
    torque = 9.81 * 0.3 * np.cos(0.2)
    assert rub == pytest.approx(np.full(20, -min(friction, torque)), rel=1e-9)
    assert push == pytest.approx(np.full(20, max(torque - friction, 0.0)), rel=1e-9, abs=1e-9)
    assert np.abs(run.q - 0.2).max() < 1e-12
    assert run.iterations.max() <= 3


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
