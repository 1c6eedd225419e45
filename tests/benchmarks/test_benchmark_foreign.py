"""How runs of foreign robots are judged."""

import numpy as np

import leastaction as la
from benchmarks.foreign_run import rise
from leastaction.mechanism import MechanismBuilder


def door(*, friction, strength=1.0):
    b = MechanismBuilder("door")
    b.body("door", mass=2.0, com=(0.3, 0, 0), inertia=0.1)
    b.revolute("hinge", "world", "door", axis="z", friction=friction)
    torques = np.repeat([[0.5], [-1.0], [0.8]], 5, axis=0)
    return la.simulate(b.build(), dt=0.005, steps=15, controls=strength * torques, integrator=la.Maximal())


def test_what_dry_friction_holds_gains_no_energy_where_torques_jump():
    assert rise(door(friction=2.0)) < 1e-3


def test_energy_that_no_work_accounts_for_is_a_rise():
    run = door(friction=0.01, strength=20.0)
    assert rise(run) < 1e-3
    run.stored["u"] = 0.0 * run.stored["u"]
    assert rise(run) > 0.5
