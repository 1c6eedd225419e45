"""Limits, dry friction, armatures of joints that close loops: what acts, and what is said of the rest."""

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import LeastActionWarning, MechanismError
from leastaction.mechanism import Pose


def four_bar(**properties):
    """A parallelogram of hinges about y; the angle of the pin is that of the left bar."""
    b = la.MechanismBuilder("four-bar")
    for name in ("left", "top", "right"):
        b.body(name, mass=1.0, com=(0.25, 0, 0), inertia=0.02)
    b.revolute("a", "world", "left", axis="y")
    b.revolute("b", "left", "top", axis="y", position=(0.5, 0, 0))
    b.revolute("c", "world", "right", axis="y", position=(0.5, 0, 0))
    pin = {"axis": "y", "position": (0.5, 0, 0), "child_pose": Pose((-0.5, 0, 0)), "loop": True}
    b.joint("pin", "revolute", "right", "top", **pin, **properties)
    return b.build()


START = np.array([0.8, -0.8, 0.8])


@pytest.mark.parametrize(
    ("properties", "words"), [({"limits": (-1.0, 1.0)}, "limits of joint 'pin'"), ({"friction": 9.0}, "dry friction")]
)
def test_they_act_by_default_and_are_missed_by_name_elsewhere(properties, words, recwarn):
    robot = four_bar(**properties)
    assert isinstance(la.default_integrator(robot), la.Maximal)
    run = la.simulate(robot, START, dt=0.01, steps=60, integrator=la.Maximal())
    assert not recwarn.list
    furthest = run.q[:, 0].max()
    assert furthest == pytest.approx(1.0 if "limits" in properties else 0.8, abs=1e-6)
    with pytest.warns(LeastActionWarning, match=f"{words}.*with Galerkin; leastaction.Maximal"):
        other = la.simulate(robot, START, dt=0.01, steps=60, integrator=la.Galerkin(order=2))
    assert other.q[:, 0].max() > 1.5


@pytest.mark.parametrize("limits", [(-0.6, 1.0), (-1.4, -1.1)])
def test_starts_beyond_them_are_brought_back_without_energy(limits):
    """A stop that pushed the linkage back would do work on it: it starts at the stop, with its loop closed."""
    robot = four_bar(limits=limits)
    with pytest.warns(
        LeastActionWarning, match="beyond the limits of joint 'pin' by 0.[23].*which close loops"
    ) as said:
        run = la.simulate(robot, START, dt=0.01, steps=60, integrator=la.Maximal())
    assert len(said) == 1
    stop = 0.6 if limits[0] > -0.8 else 1.1  # the pin turns backwards as the left bar turns
    assert run.q[0] == pytest.approx([stop, -stop, stop], abs=1e-6)
    assert run.constraint_violation.max() < 1e-9
    assert (run.energy - run.energy[0]).max() < 1e-3 * max(run.kinetic_energy.max(), 1e-3)
    assert -limits[1] - 1e-6 < run.q[:, 0].min() <= run.q[:, 0].max() < -limits[0] + 1e-6


@pytest.mark.parametrize(
    ("properties", "words"),
    [({"armature": 0.5}, "an armature"), ({"limits": (-1.0, 1.0), "limit_stiffness": 10.0}, "soft limits")],
)
def test_what_acts_in_no_integrator_is_refused(properties, words):
    with pytest.raises(MechanismError, match=f"joint 'pin': it closes a loop, where a joint cannot have {words}"):
        four_bar(**properties)
