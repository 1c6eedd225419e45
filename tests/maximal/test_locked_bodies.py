"""Bodies that equations leave no motion of their own, and links that weigh nothing beside the drives that move them."""

import numpy as np
import pytest

import leastaction as la
from leastaction.maximal.compilation.immobile_bodies import locked_names
from leastaction.mechanism import Box, MechanismBuilder, Plane, Sphere


def held_arms():
    """Two arms of two hinges that prescribed bodies hold by their hands, side by side; and a loose box on the ground.

    A joint of each is at its limit.
    """
    b = MechanismBuilder("held arms")
    b.add_shape("world", Plane())
    for name, y in (("left", -0.1), ("right", 0.1)):
        b.body(f"{name} arm", mass=1.0, inertia=0.01, com=(0.15, 0, 0))
        b.revolute(f"{name} shoulder", "world", f"{name} arm", axis="y", pose=(0, y, 1), limits=(-1.0, 0.0))
        b.body(f"{name} hand", mass=1.0, inertia=0.01, shapes=Box((0.2, 0.2, 0.2)))
        b.revolute(f"{name} elbow", f"{name} arm", f"{name} hand", axis="y", pose=(0.3, 0, 0), friction=0.5)
        b.body(f"{name} mocap", mass=1e-3, inertia=1e-6)
        b.free(f"{name} mocap", pose=(0.3, y, 1))
        b.fixed(f"{name} weld", f"{name} mocap", f"{name} hand")
        b.prescribe(f"{name} mocap")
    b.body("box", mass=0.05, inertia=1e-5, shapes=Box((0.04, 0.04, 0.04)))
    b.free("box", pose=(1, 0, 0.02))
    return b.build()


def test_impulses_between_bodies_that_nothing_moves_are_none():
    """They could be anything, and made others softer: the box was pushed at a distance, with energy from nowhere."""
    robot = held_arms()
    arms = {f"{side} {part}" for side in ("left", "right") for part in ("arm", "hand", "mocap")}
    assert locked_names(robot) == arms
    run = la.simulate(robot, dt=0.005, steps=40, integrator=la.Maximal())
    assert run.iterations.max() < 20
    pushes = [np.linalg.norm(c.force) for c in run.contacts if "box" not in (c.first, c.second)]
    assert max(pushes, default=0.0) < 1e-9
    assert (run.kinetic_energy + run.potential_energy - run.energy[0]).max() < 1e-9
    assert run.constraint_violation.max() < 1e-11


def test_links_that_weigh_nothing_beside_their_drives():
    """Round-off of a drive's momentum, over the mass of a link of 1e-8 kg, is a velocity that no update takes away."""
    b, parent = MechanismBuilder("light arm"), "world"
    for k in range(3):
        b.body(f"link{k}", mass=3e-8, inertia=1e-12, com=(0.05, 0, 0))
        b.revolute(f"joint{k}", parent, f"link{k}", axis="yzy"[k], pose=(0.1, 0, 0.5 if k == 0 else 0), armature=0.75)
        parent = f"link{k}"
    b.body("ball", mass=0.003, inertia=1e-6, shapes=Sphere(0.03))
    b.free("ball", pose=(0.5, 0, 0.031))
    b.add_shape("world", Plane())
    robot = b.build()
    q = robot.home()
    q[:3] = 1.0, 0.7, -1.2
    run = la.simulate(robot, q, dt=0.005, steps=10, controls=[0.1] * 3 + [0.0] * 6, integrator=la.Maximal())
    assert run.iterations.max() < 30
    # A drive of 0.75 kg m^2 under 0.1 N m, whatever hangs on it.
    assert run.v[-1, 0] == pytest.approx(0.1 / 0.75 * 0.05, rel=1e-3)
