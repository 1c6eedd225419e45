"""Painlevé's rod: one end slides on the ground where friction allows one solution, several, or no finite force."""

import math

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Capsule, MechanismBuilder, Plane

HALF, RADIUS, ANGLE, DT = 0.5, 0.01, 1.2, 1e-3
J, FOOT = HALF**2 / 3.0, np.array([-HALF * math.cos(ANGLE), -HALF * math.sin(ANGLE) - RADIUS])
ENGINES = pytest.mark.parametrize("engine", [la.Maximal(), la.Maximal(order=1), la.Minimal()], ids=repr)


def rod(friction, engine, spin=0.0):
    """The run of a rod of 1 kg whose end slides at 1 m/s towards its own side: slip and spin of all states."""
    b = MechanismBuilder("rod")
    b.add_shape("world", Plane(friction=friction))
    b.body("rod", mass=1.0, inertia=(J, J, 0.01 * J), shapes=Capsule(RADIUS, 2.0 * HALF, friction=friction))
    b.free("rod")
    robot, half = b.build(), 0.5 * (0.5 * math.pi - ANGLE)
    R = np.array([[math.sin(ANGLE), 0, math.cos(ANGLE)], [0, 1, 0], [-math.cos(ANGLE), 0, math.sin(ANGLE)]])
    at_end = spin * np.array([-FOOT[1], 0.0, FOOT[0]])
    v = [0.0, -spin, 0.0, *(R.T @ (np.array([-1.0, 0.0, 0.0]) - at_end))]
    q = [0.0, 0.0, -FOOT[1], math.cos(half), 0.0, math.sin(half), 0.0]
    run = la.simulate(robot, q, v, dt=DT, steps=20, integrator=engine)
    X, V = run.body_poses, run.body_twists
    down = X[:, 0, :3, :3] @ [0.0, 0.0, -HALF] - [0.0, 0.0, RADIUS]
    speed = np.einsum("kij,kj->ki", X[:, 0, :3, :3], V[:, 0, 3:])
    turn = np.einsum("kij,kj->ki", X[:, 0, :3, :3], V[:, 0, :3])
    return run, speed + np.cross(turn, down), turn[:, 1]


def response():
    """Change of the end's velocity (x, z) by an impulse on it."""
    arm = np.array([-FOOT[1], FOOT[0]])
    return np.eye(2) + np.outer(arm, arm) / J


@ENGINES
def test_a_force_that_is_unique(engine):
    """Friction 0.5: the end slides on, as the accelerations have it."""
    W, along = response(), np.array([0.5, 1.0])
    force = 9.81 / (W[1] @ along)
    _, slip, _ = rod(0.5, engine)
    assert slip[5, 0] == pytest.approx(-1.0 + force * (W[0] @ along) * 5 * DT, abs=1e-4)


@ENGINES
def test_no_finite_force(engine):
    """Friction 2: an impact without collision ends the slip, with the angular momentum about the end as it was."""
    W = response()
    assert W[1] @ [2.0, 1.0] < 0.0  # Painlevé: the harder the ground presses, the faster the end goes into it
    jump = np.linalg.solve(W, [1.0, 0.0])
    spin = -(np.array([-FOOT[1], FOOT[0]]) @ jump) / J
    run, slip, turn = rod(2.0, engine)
    assert abs(slip[1:, [0, 2]]).max() < 1e-3
    assert turn[1] == pytest.approx(spin, abs=0.01)
    E = run.energy
    assert (E - E[0]).max() < 1e-12
    assert E[-1] - E[0] == pytest.approx(-0.5 * jump[0], abs=1e-2)


@ENGINES
def test_several_solutions(engine):
    """Friction 2 and a spin of 6 rad/s: flight and the impact without collision are solutions; energy does not rise."""
    run, slip, _ = rod(2.0, engine, spin=6.0)
    flies, stops = abs(slip[5, 0] + 0.967) < 0.01, abs(slip[1, 0]) < 0.02
    assert flies or stops
    assert (run.energy - run.energy[0]).max() < 1e-10
