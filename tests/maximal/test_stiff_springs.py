"""Springs that are stiff for the step: of hinges, of ball joints and between points, at rest, swinging and thrown.

They pull from the middle of the step, which conserves the energy of a linear one however long the step is (the midpoint
rule). Where they swing, steps follow them in equal parts: others would pump energy into them.
"""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import MechanismBuilder


def slider(stiffness):
    """A mass of 1 kg on a rail, and a spring between two points along it."""
    b = MechanismBuilder("slider", gravity=(0, 0, 0))
    b.body("a", mass=1.0, inertia=0.01)
    b.prismatic("rail", "world", "a", axis="x")
    b.spring("spring", ("world", (-2.0, 0, 0)), "a", stiffness=stiffness, rest_length=1.5)
    return b.build()


def ball(stiffness):
    """A body in a ball joint with a spring."""
    b = MechanismBuilder("ball")
    b.body("a", mass=1.0, com=(0.1, 0.02, -0.05), inertia=(0.004, 0.01, 0.012))
    b.spherical("joint", "world", "a", stiffness=stiffness)
    return b.build()


def pair(kind, stiffness):
    """Two bodies in flight with a joint that has a spring, off their centres of mass."""
    b = MechanismBuilder("pair", gravity=(0, 0, 0))
    b.body("a", mass=1.0, com=(0.05, 0, 0.1), inertia=(0.01, 0.008, 0.006))
    b.free("a")
    b.body("b", mass=0.3, com=(0, 0.1, 0.02), inertia=(0.002, 0.001, 0.0025))
    b.joint("joint", kind, "a", "b", position=(0.1, 0.2, 0), stiffness=stiffness)
    return b.build()


def tied(stiffness):
    """Two bodies in flight with a spring between points of them, that also turns them."""
    b = MechanismBuilder("tied", gravity=(0, 0, 0))
    for name, mass in (("a", 1.0), ("b", 0.2)):
        b.body(name, mass=mass, inertia=tuple(mass * np.array([0.01, 0.012, 0.008])))
        b.free(name)
    b.spring("spring", ("a", (0.1, 0.05, 0)), ("b", (0, -0.1, 0.05)), stiffness=stiffness, rest_length=0.5)
    return b.build()


def gain(run):
    """Largest energy above that of the start, relative to the largest kinetic energy."""
    return (run.energy - run.energy[0]).max() / run.kinetic_energy.max()


@pytest.mark.parametrize("swing", [0.5, 3.0, 30.0])
def test_linear_spring_conserves_energy(swing):
    """Frequency times step from 0.5 to 30: beyond 2 a spring that pulls at the ends of steps would explode."""
    dt = 0.01
    run = la.simulate(slider((swing / dt) ** 2), q=[0.1], v=[0.0], dt=dt, steps=200, integrator=la.Maximal())
    energy = run.energy / run.energy[0]
    if swing > 1.0:
        np.testing.assert_allclose(energy, 1.0, atol=1e-9)
    else:  # pulls at the ends: bounded by (frequency x step)^2 / 4
        assert np.abs(energy - 1.0).max() < 0.25 * swing**2 * 1.01


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("swing", [2.2, 8.0])
@pytest.mark.parametrize("robot", ["ball", "revolute", "spherical", "tied"])
def test_swinging_springs_gain_no_energy(robot, swing, seed):
    """Thrown with springs drawn back, so far that bodies turn by tenths of a radian in a step."""
    rng, dt = np.random.default_rng([seed, len(robot)]), 0.01
    stiffness = 0.003 * (swing / dt) ** 2
    make = {"ball": ball, "tied": lambda k: tied(k / 0.02)}.get(robot, lambda k: pair(robot, k))
    mechanism = make(stiffness)
    q = mechanism.integrate(mechanism.neutral(), 0.4 * rng.normal(size=mechanism.nv))
    if robot == "tied":
        q[7:10] = q[:3] + np.array([0.6, 0.1, 0.2])
    run = la.simulate(mechanism, q, rng.normal(size=mechanism.nv), dt=dt, steps=150, integrator=la.Maximal())
    assert gain(run) < 0.15


@pytest.mark.parametrize("robot", [ball(300.0), tied(2e4), pair("spherical", 300.0)], ids=["ball", "tied", "pair"])
def test_linearization_of_stiff_springs(robot):
    """A and B of a step are those of differences of the step itself."""
    rng, dt, integrator = np.random.default_rng(1), 0.01, la.Maximal()
    q = robot.integrate(robot.neutral(), 0.05 * rng.normal(size=robot.nv))
    if robot.name == "tied":
        q[7:10] = q[:3] + np.array([0.5, 0.05, 0.02])
    p = la.dynamics.mass_matrix(robot, q) @ (0.1 * rng.normal(size=robot.nv))
    A, _ = la.linearize(robot, integrator, q, p, np.zeros(robot.nu), dt)
    n, differences, h = robot.nv, [], 1e-5

    def step(q, p):
        v = np.linalg.solve(la.dynamics.mass_matrix(robot, q), p)
        run = la.simulate(robot, q, v, dt=dt, steps=1, integrator=la.Maximal(tolerance=1e-13))
        return run.q[1], run.p[1]

    middle, _ = step(q, p)
    for k in range(2 * n):
        ends = []
        for sign in (1.0, -1.0):
            d = np.zeros(2 * n)
            d[k] = sign * h
            q1, p1 = step(robot.integrate(q, d[:n]), p + d[n:])
            ends.append(np.concatenate([robot.difference(middle, q1), p1]))
        differences.append((ends[0] - ends[1]) / (2.0 * h))
    D = np.array(differences).T
    assert np.abs(A - D).max() < 2e-5 * np.abs(D).max()
