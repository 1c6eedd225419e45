"""Steps of `Grounded` in which nothing touches keep their energy balance: they are divided where they would not."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Mechanism, MechanismBuilder


def thrown() -> Mechanism:
    """Two bodies that hang together by a link of a thousandth of their masses, in free flight."""
    b = MechanismBuilder("thrown")
    for i, mass in enumerate((1.0, 1e-3, 1.0)):
        b.body(f"b{i}", mass=mass, com=(0.05, 0.03, 0.0), inertia=tuple(mass * np.array([1e-3, 4e-3, 4e-3])))
    b.free("b0")
    b.revolute("j1", "b0", "b1", axis="y", position=(0.2, 0.0, 0.0))
    b.revolute("j2", "b1", "b2", axis="x", position=(0.2, 0.0, 0.1))
    return b.build()


def whip(stiffness: float) -> Mechanism:
    """A pendulum with a light end on a spring."""
    b = MechanismBuilder("whip")
    for i, mass in enumerate((1.0, 0.1, 0.001)):
        b.body(f"b{i}", mass=mass, com=(0.1, 0.0, 0.0), inertia=tuple(mass * np.array([1e-3, 4e-3, 4e-3])))
        spring = {"stiffness": stiffness} if i == 2 else {}
        parent, at = f"b{i - 1}" if i else "world", (0.2, 0.0, 0.05)
        b.revolute(f"j{i}", parent, f"b{i}", axis="yxz"[i], position=at, **spring)
    return b.build()


def gain(run: la.Trajectory) -> float:
    """The most energy above that of the start, relative to the largest kinetic energy."""
    return float((run.energy - run.energy[0]).max() / run.kinetic_energy.max())


@pytest.mark.parametrize("seed", [0, 2, 3, 4])
def test_light_links_between_heavy_ones_do_not_gain_energy(seed):
    """Their steps were accepted with twice the energy of the start, and had no solution soon after."""
    robot = thrown()
    v = 60.0 * np.random.default_rng(seed).normal(size=robot.nv)
    run = la.simulate(robot, None, v, dt=0.01, steps=100, integrator=la.Grounded())
    assert gain(run) < 0.05
    assert (run.stored["divided"] != 0).any()


@pytest.mark.parametrize(("stiffness", "speed"), [(1.0, 10.0), (10.0, 10.0), (10.0, 60.0)])
def test_springs_that_are_stiff_for_the_step_do_not_gain_energy(stiffness, speed):
    """An oscillation of 180 to 560 rad/s in steps of 0.01 s gained several times the kinetic energy."""
    v = speed * np.array([1.0, -1.0, 0.5])
    run = la.simulate(whip(stiffness), [0.3, 0.5, 0.2], v, dt=0.01, steps=60, integrator=la.Grounded())
    assert gain(run) < 0.2


def test_momentum_is_kept_in_divided_flight():
    """Each part is a step of the same rule: without gravity it keeps the momentum about the origin, to what Newton
    leaves of 1e-10 in each of some thousand parts."""
    robot = MechanismBuilder.from_mechanism(thrown())
    robot.gravity = (0.0, 0.0, 0.0)
    robot = robot.build()
    v = 60.0 * np.random.default_rng(3).normal(size=robot.nv)
    run = la.simulate(robot, None, v, dt=0.01, steps=40, integrator=la.Grounded())
    assert (run.stored["divided"] != 0).any()
    assert np.abs(run.momentum - run.momentum[0]).max() <= 1e-7 * np.abs(run.momentum).max()


def test_derivatives_of_divided_flight_match_differences():
    """Steps that their energy balance divides are differentiated by the same parts."""
    robot, dt = whip(10.0), 0.01
    q, v = np.array([0.3, 0.5, 0.2]), np.array([30.0, -30.0, 15.0])
    p = la.dynamics.mass_matrix(robot, q) @ v
    run = la.simulate(robot, q, p=p, dt=dt, steps=1, integrator=la.Grounded())
    assert run.stored["divided"][1] > 1
    A, _ = la.linearize(robot, la.Grounded(), q, p, dt=dt)
    n, eps = robot.nv, 1e-6
    scale = np.concatenate([np.ones(n), np.abs(p).max() * np.ones(n)])

    def end(x):
        step = la.simulate(robot, x[:n], p=x[n:], dt=dt, steps=1, integrator=la.Grounded(tolerance=1e-13))
        return np.concatenate([step.q[1], step.p[1]])

    start = np.concatenate([q, p])
    moves = np.diag(eps * scale)
    D = np.column_stack([end(start + d) - end(start - d) for d in moves]) / (2.0 * eps * scale)
    assert np.abs((A - D) * scale / scale[:, None]).max() <= 1e-5 * np.abs(D * scale / scale[:, None]).max()


def test_stiff_springs_between_bodies_add_no_energy():
    """A soft-limited chain in flight whose limits are far too stiff for the step: seen from its fall, energy is kept.

    A limit of 1e4 N m/rad on a link of 0.01 kg m^2 has 10 radians a step; steps that would gain are divided.
    """
    builder = la.MechanismBuilder("chain")
    for k in range(3):
        builder.body(f"b{k}", mass=1.0, inertia=(0.01, 0.01, 0.005), com=(0, 0, -0.1))
        soft = {"limits": (-0.2, 0.2), "limit_stiffness": 1e4}
        if k:
            builder.revolute(f"j{k}", f"b{k - 1}", f"b{k}", axis="xy"[k % 2], pose=(0, 0, -0.2), **soft)
        else:
            builder.free("b0")
    robot = builder.build().replace(gravity=(0, 0, 0))
    for seed in range(3):
        v = np.random.default_rng(seed).normal(size=robot.nv) * 5.0
        run = la.simulate(robot, robot.neutral(), v, dt=0.01, steps=60, integrator=la.Grounded())
        assert run.energy.max() < 1.01 * run.energy[0]


def bolt(kind: str) -> Mechanism:
    """Two links in flight with a spring that is stretched by about half a metre, and stiff for steps of 0.01 s."""
    builder = la.MechanismBuilder("bolt")
    builder.body("b0", mass=1.0, inertia=(0.01, 0.01, 0.005), com=(0.0, 0.0, -0.15))
    builder.body("b1", mass=0.4, inertia=(0.004, 0.004, 0.002), com=(0.0, 0.0, -0.15))
    builder.free("b0")
    builder.revolute("j1", "b0", "b1", axis="x", pose=(0.0, 0.0, -0.3))
    ends = ("b0", (0.1, 0.2, 0.1)), ("b1", (-0.1, 0.1, -0.2))
    if kind == "tendon":
        builder.tendon("tendon", via=[ends[0], ("b1", (0.1, 0.2, 0.0)), ends[1]], stiffness=1e5, rest=0.2)
    else:
        own = {"isotropic": True} if kind == "isotropic" else {"rest_length": 0.2}
        builder.spring("spring", *ends, stiffness=1e5, **own)
    return builder.build().replace(gravity=(0.0, 0.0, 0.0))


@pytest.mark.parametrize("kind", ["spring", "isotropic", "tendon"])
def test_stretched_springs_of_links_gain_no_energy(kind):
    """In 150 steps they gain less than 2 % of the largest kinetic energy, of which each may gain 1e-3."""
    robot = bolt(kind)
    for seed in (0, 2):
        rng = np.random.default_rng(seed)
        q = robot.integrate(robot.neutral(), np.append(np.zeros(6), 0.3 * rng.normal()))
        run = la.simulate(robot, q, rng.normal(size=robot.nv), dt=0.01, steps=150, integrator=la.Grounded())
        assert gain(run) < 0.02
