"""Robots that overlap each other at the start, alone or held by prescribed bodies: they start apart."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Box, MechanismBuilder, Plane, Sphere


def two_hands(*, welded):
    """Two boxes on rails along x, half in each other; each may be welded to a prescribed body."""
    b = MechanismBuilder("hands")
    for name, x in (("left", -0.05), ("right", 0.05)):
        b.body(name, mass=1.0, inertia=0.01, shapes=Box((0.2, 0.2, 0.2)))
        b.prismatic(f"{name} rail", "world", name, axis="x", pose=(x, 0, 0))
        if welded:
            b.body(f"{name} mocap", mass=1e-3, inertia=1e-6)
            b.free(f"{name} mocap", pose=(x, 0, 0))
            b.fixed(f"{name} weld", f"{name} mocap", name)
            b.prescribe(f"{name} mocap")
    return b.build()


@pytest.mark.parametrize("welded", [False, True], ids=["alone", "welded"])
def test_robots_that_overlap_start_apart(welded):
    """Contacts would push them apart: energy from nowhere; or cannot, where prescribed bodies hold them."""
    robot = two_hands(welded=welded)
    with pytest.warns(la.LeastActionWarning, match="'left' and 'right' overlap at the start, by 0.1 m") as said:
        run = la.simulate(robot, dt=0.01, steps=5, integrator=la.Maximal())
    assert len(said) == 1
    left, right = (run.q[:, robot.coordinate_index(f"{name} rail")] for name in ("left", "right"))
    apart = right - left + 0.1 - 0.2
    assert 0.0 <= apart.min() <= apart.max() < 1e-3
    assert np.ptp(run.q, axis=0).max() < 1e-6  # nothing pushes, and what holds them rests where it was put
    assert run.constraint_violation.max() < 1e-12


def test_prescribed_bodies_follow_arms_that_cannot_follow_them():
    """Of two joints each: where a first guess puts what holds them is not where they can be, but nearby."""
    b = MechanismBuilder("arms", gravity=(0, 0, 0))
    for name, x in (("left", -0.35), ("right", 0.35)):
        b.body(f"upper {name}", mass=1.0, inertia=0.01)
        b.revolute(f"{name} shoulder", "world", f"upper {name}", axis="z", pose=(x, -0.3, 0))
        b.body(name, mass=1.0, inertia=0.01, shapes=Box((0.2, 0.2, 0.2), pose=(-0.8 * x, 0, 0)))
        b.revolute(f"{name} elbow", f"upper {name}", name, axis="z", pose=(0, 0.3, 0))
        b.body(f"{name} mocap", mass=1e-3, inertia=1e-6)
        b.free(f"{name} mocap", pose=(0.2 * x, 0, 0))
        b.fixed(f"{name} weld", f"{name} mocap", name, child_pose=(0.8 * x, 0, 0))
        b.prescribe(f"{name} mocap")
    robot = b.build()
    with pytest.warns(la.LeastActionWarning, match="'left' and 'right' overlap at the start, by 0.06 m") as said:
        run = la.simulate(robot, dt=0.01, steps=5, integrator=la.Maximal())
    assert len(said) == 1
    assert np.ptp(run.q, axis=0).max() < 1e-6
    assert run.constraint_violation.max() < 1e-12
    assert abs(run.q[0] - robot.home()).max() > 0.05


def test_prescribed_bodies_stay_where_motions_have_them():
    """They are told where to be: then nothing can be done, and the failure says so."""
    motions = {"left mocap": [-0.05, 0, 0, 1, 0, 0, 0], "right mocap": [0.05, 0, 0, 1, 0, 0, 0]}
    with pytest.raises(la.ConvergenceError, match=r"prescribed motions .* leave room"):
        la.simulate(two_hands(welded=True), dt=0.01, steps=1, integrator=la.Maximal(), motions=motions)


def test_the_ground_is_brought_to_what_flies_not_to_prescribed_bodies():
    b = MechanismBuilder("box and hand")
    for name in ("box", "hand"):
        b.body(name, mass=1.0, inertia=0.01, shapes=Box((0.2, 0.2, 0.2)))
        b.free(name, pose=(0, 0, 1))
    b.add_shape("world", Plane())
    b.prescribe("hand")
    q = la.robots.on_ground(b.build())
    np.testing.assert_allclose(q[[2, 9]], [-0.9, 0.0], atol=1e-15)


def test_a_loose_ball_in_a_hand_starts_beside_it():
    """It is the ball that moves, since it is lighter; pushed out it would have energy from nowhere."""
    b = MechanismBuilder("hand and ball", gravity=(0, 0, 0))
    b.body("hand", mass=50.0, inertia=1.0, shapes=Box((0.2, 0.2, 0.2)))
    b.prismatic("rail", "world", "hand", axis="x")
    b.body("ball", mass=0.1, inertia=1e-4, shapes=Sphere(0.05))
    b.free("ball", pose=(0.13, 0, 0))
    with pytest.warns(la.LeastActionWarning, match=r"'hand' and 'ball' overlap at the start, by 0\.02 m") as said:
        run = la.simulate(b.build(), dt=0.01, steps=5, integrator=la.Maximal())
    assert len(said) == 1
    assert 0.0 <= run.q[0, 1] - run.q[0, 0] - 0.02 < 1e-3
    assert abs(run.q[0, 0]) < 1e-4
    assert run.kinetic_energy.max() < 1e-9


def test_prescribed_bodies_follow_arms_that_limits_keep_from_them():
    """Of three planar joints: the second cannot be straight, but is where a prescribed body holds the hand."""
    b, parent = MechanismBuilder("arm", gravity=(0, 0, 0)), "world"
    for name, x, limits in (("shoulder", 0.0, None), ("elbow", 0.3, (0.4, 2.0)), ("wrist", 0.3, None)):
        b.body(name, mass=1.0, inertia=0.01, com=(0.15, 0, 0))
        b.revolute(name, parent, name, axis="z", pose=(x, 0, 0), limits=limits)
        parent = name
    b.body("mocap", mass=1e-3, inertia=1e-6)
    b.free("mocap", pose=(0.6, 0, 0))
    b.fixed("weld", "mocap", "wrist")
    b.prescribe("mocap")
    robot = b.build()
    with pytest.warns(la.LeastActionWarning, match=r"'elbow' by 0.4 .* 'mocap' is moved to where") as said:
        run = la.simulate(robot, dt=0.01, steps=5, integrator=la.Maximal())
    assert len(said) == 1
    assert run.q[0, robot.coordinate_index("elbow")] >= 0.4 - 1e-9
    assert np.ptp(run.q, axis=0).max() < 1e-6
    assert run.constraint_violation.max() < 1e-11


def test_loose_things_within_what_is_fixed_start_outside():
    """A table that a file fixes to the world, a ball deep in it that a loop elsewhere is no concern of, and a lid whose
    boxes have normals that point against each other: no push parts it, but a way up does."""
    b = MechanismBuilder("table")
    b.body("table", mass=1.0, inertia=0.01, shapes=Box((1.0, 1.0, 0.1)))
    b.fixed("legs", "world", "table")
    b.body("ball", mass=0.1, inertia=1e-4, shapes=Sphere(0.05))
    b.free("ball", pose=(0.3, 0.0, 0.07))
    walls = [Box((0.02, 0.3, 0.06), pose=(x, 0, 0)) for x in (-0.09, 0.09)]
    b.body("lid", mass=0.2, inertia=1e-3, shapes=[Box((0.2, 0.3, 0.02), pose=(0, 0, 0.03)), *walls])
    b.free("lid", pose=(-0.2, 0.0, 0.03))
    for name, parent in (("crank", "world"), ("rocker", "crank")):
        b.body(name, mass=0.1, inertia=1e-4)
        b.revolute(name, parent, name, axis="y", pose=(0.0, 0.0, 1.0 if parent == "world" else -0.1))
    b.spherical("shut", "world", "rocker", pose=(0, 0, 0.8), child_pose=(0, 0, 0.1))
    robot = b.build()
    told = "'table' and 'ball'; 'table' and 'lid' overlap at the start, by 0.05 m"
    with pytest.warns(la.LeastActionWarning, match=told) as said:
        run = la.simulate(robot, dt=0.005, steps=40, integrator=la.Maximal())
    assert len(said) == 1
    assert 0.0 <= run.q[0, 2] - 0.03 < 1e-3
    assert 0.0 <= run.q[0, 9] - 0.05 < 1e-3
    assert run.energy.max() < run.energy[0] + 1e-6
    assert run.stored["contacts"][:, 9].min() > -1e-9
