"""Drive inertia (armature) of ball joints between two bodies: the discrete Lagrangian, laws and other formulations.

Its order of convergence stands in `test_order`, its momenta in `test_laws`, derivatives in `tests/derivatives`.
"""

import numpy as np
import pytest

import leastaction as la
from leastaction.maximal.step.bodies import END, START
from leastaction.maximal.step.forces.ball_drives import drive_momentum
from leastaction.mechanism.tree import DOF
from tests.derivatives.test_backward_pass import ball_loop
from tests.maximal.helpers import assert_order
from tests.oracles.random_trees import random_state

INERTIA = np.array([0.3, 0.1, 0.2])


def product(a, b):
    """Of two quaternions."""
    vector = a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])
    return np.r_[a[0] * b[0] - a[1:] @ b[1:], vector]


def small(z):
    """The unit quaternion of a small turn."""
    return np.r_[np.sqrt(1.0 - z @ z / 4.0), z / 2.0]


@pytest.mark.parametrize("size", [0.1, 0.9])
def test_momenta_are_derivatives_of_the_discrete_lagrangian(size):
    """dt W . I W / 2 with W = 2 Im(r0* r1) / dt, by turns of the child at both ends; also beyond half a turn."""
    rng, dt = np.random.default_rng(3), 0.02
    # The turns of both bodies in the step, in the directions of the child: r0* r1 = A* B.
    a, b = (size * x / np.linalg.norm(x) for x in rng.normal(size=(2, 3)))
    A, B = np.r_[np.sqrt(1.0 - a @ a), a], np.r_[np.sqrt(1.0 - b @ b), b]
    dofs = np.zeros(3, DOF).view(np.recarray)
    dofs.armature = INERTIA

    def action(D):
        W = 2.0 * D[1:] / dt
        return 0.5 * dt * W @ (INERTIA * W)

    D, h = product(A, B), 1e-5
    ends = {START: lambda z: product(small(-z), D), END: lambda z: product(D, small(z))}
    # Seen from the child at the end, A is turned by B.
    turned = product(product(np.r_[B[0], -b], A), B)[1:]
    for when, moved in ends.items():
        by = np.array([action(moved(h * e)) - action(moved(-h * e)) for e in np.eye(3)]) / (2.0 * h)
        own = tuple(map(float, a if when == START else turned))
        found = drive_momentum(dofs, 0, own, tuple(map(float, b)), dt, when)
        np.testing.assert_allclose(found, -by if when == START else by, atol=1e-7 * np.abs(by).max())


def arm(mass=0.5, **ball):
    """A base in the air with an arm on a ball joint, and a hand on another."""
    b = la.MechanismBuilder("arm", gravity=(0.0, 0.0, 0.0))
    b.body("base", mass=2.0, com=(0.1, 0.05, -0.1), inertia=(0.1, 0.15, 0.2))
    b.body("arm", mass=1.0, com=(0.1, 0.0, -0.2), inertia=(0.02, 0.03, 0.04))
    b.body("hand", **({"mass": mass, "com": (0.0, 0.1, -0.1), "inertia": (0.01, 0.012, 0.015)} if mass else {}))
    b.free("base")
    b.spherical("shoulder", "base", "arm", position=(0.2, 0.1, -0.3), rotation=(0.8, 0.0, 0.6, 0.0), **ball)
    b.spherical("wrist", "arm", "hand", position=(0.0, 0.0, -0.4), armature=tuple(0.1 * INERTIA))
    return b.build()


def test_energy_does_not_drift():
    """Over 20 000 steps of a tumbling arm, and what is reported counts the drives."""
    robot = arm(armature=tuple(INERTIA))
    q, v = random_state(robot, 5)
    run = la.simulate(robot, q, v, dt=0.01, steps=20_000, integrator=la.Maximal())
    M = la.dynamics.mass_matrix(robot, q)
    assert run.energy[0] == pytest.approx(0.5 * v @ M @ v)
    quarters = [x.mean() for x in np.array_split(run.energy / run.energy[0] - 1.0, 4)]
    assert np.ptp(run.energy) < 3e-5 * run.energy[0]
    assert np.ptp(quarters) < 1.5e-5  # of a chaotic motion: differs with the order in which processors round
    assert np.abs(run.momentum - run.momentum[0]).max() < 1e-8


def test_a_child_without_mass_moves_by_its_drive():
    """It holds against its own inertia alone; order 2 against a fine reference."""
    robot = arm(mass=0.0, armature=0.2)
    q, v = random_state(robot, 2)
    run = la.simulate(robot, q, v, dt=0.1, steps=2, integrator=la.DOP853(rtol=1e-13, atol=1e-14))
    assert_order(robot, 2, (run.q, run.v), 0.2, (80, 160))


def test_closed_loops_agree_with_galerkin():
    """The distance falls with the square of the step."""
    robot, q, v = ball_loop()
    off = []
    for n in (50, 100):
        one, two = (la.simulate(robot, q, v, dt=0.4 / n, steps=n, integrator=i) for i in (la.Maximal(), la.Galerkin()))
        assert one.constraint_violation.max() < 1e-9
        off.append(np.abs(robot.difference(one.q[-1], two.q[-1])).max() + 0.1 * np.abs(one.v[-1] - two.v[-1]).max())
    assert 1.7 < np.log2(off[0] / off[1]) < 2.3, off
    assert off[1] < 1e-2
