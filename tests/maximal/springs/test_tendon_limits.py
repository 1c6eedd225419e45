"""Rigid limits of tendons in `Maximal`: ropes and stops that let nothing through, and gradients through them."""

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import IntegratorError, MechanismError

LENGTH = 1.0


def tethered():
    """A ball on a rope that a cart holds, which a tendon along its rail stops."""
    b = la.MechanismBuilder("tethered")
    b.body("ball", mass=0.5, inertia=(0.002, 0.003, 0.004))
    b.joint("free", "free", "world", "ball")
    b.body("cart", mass=1.0, inertia=(0.01, 0.01, 0.01))
    b.joint("rail", "prismatic", "world", "cart", axis="x")
    via = [("cart", (0, 0, 0.3)), ("cart", (0, 0, 0.1)), ("ball", (0, 0.02, 0.1))]
    b.tendon("rope", via=via, limits=(0.0, LENGTH + 0.2), rigid=True)
    b.tendon("stop", joints={"rail": 2.0}, limits=(-0.1, 0.2), rigid=True)
    return b.build()


ROBOT = tethered()
Q, V = np.array([0.5, 0.1, -0.8835, 1, 0, 0, 0, 0.05]), np.array([0.2, 0.1, 0.3, 0.5, 0.1, -0.2, 0.8])


def test_ropes_do_not_stretch_and_bring_no_energy_in():
    up = V + 2.0 * np.eye(ROBOT.nv)[5]
    run = la.simulate(ROBOT, Q, up, dt=0.005, steps=300, integrator=la.Maximal(), progress=False)
    lengths = np.array([la.kinematics.tendon_lengths(ROBOT, q) for q in run.q[::5]])
    assert lengths[:, 0].max() < LENGTH + 0.2 + 1e-8
    assert lengths[:, 0].min() < LENGTH + 0.19  # it goes slack
    assert np.abs(lengths[:, 1] - 0.05).max() < 0.15 + 1e-8
    assert np.diff(run.energy).max() < 2e-3 * run.kinetic_energy.max()


def test_a_taut_rope_is_a_pendulum():
    """In a circle about its end, as on a rod: until both leave each other nothing is lost."""
    b = la.MechanismBuilder("bob")
    b.body("bob", mass=1.0, inertia=(0.01, 0.01, 0.01))
    b.joint("free", "free", "world", "bob")
    b.tendon("rope", via=["world", "bob"], limits=(0.0, 1.0), rigid=True)
    q = np.array([np.sin(0.5), 0, -np.cos(0.5), 1, 0, 0, 0])
    run = la.simulate(b.build(), q, np.zeros(6), dt=0.002, steps=500, integrator=la.Maximal(), progress=False)
    rod = la.MechanismBuilder("rod")
    rod.body("bob", mass=1.0, com=(0, 0, -1), inertia=(1e-9, 1e-9, 1e-9))
    rod.revolute("pivot", "world", "bob", axis="y")
    fine = la.simulate(rod.build(), [-0.5], dt=0.002, steps=500, integrator=la.Galerkin(order=4), progress=False)
    swing = np.stack([-np.sin(fine.q[:, 0]), -np.cos(fine.q[:, 0])], axis=1)
    np.testing.assert_allclose(run.q[:, [0, 2]], swing, atol=2e-4)


def test_gradients_through_a_rope():
    options, W = {"dt": 0.005, "steps": 6}, np.array([1.0, -0.5, 2.0])

    def goal(run):
        dq = np.zeros((len(run), ROBOT.nv))
        dq[-1, [3, 4, 6]] = W
        return 0.0, dq, None

    _, found = la.adjoint(ROBOT, la.Maximal(), goal, ["q", "v"], q=Q, v=V, **options)

    def end(q, v):
        return la.simulate(ROBOT, q, v, **options, integrator=la.Maximal(), progress=False).q[-1]

    last, h = end(Q, V), 1e-6
    for name in ("q", "v"):
        for k in range(ROBOT.nv):
            e = h * np.eye(ROBOT.nv)[k]
            ends = [(ROBOT.integrate(Q, s * e), V) if name == "q" else (Q, V + s * e) for s in (1.0, -1.0)]
            ahead, back = (ROBOT.difference(last, end(*state)) for state in ends)
            assert found[name][k] == pytest.approx(W @ (ahead - back)[[3, 4, 6]] / (2 * h), rel=1e-5, abs=1e-6)


def test_refusals():
    b = la.robots.pendulum(links=2).edit()
    with pytest.raises(MechanismError, match="or say rigid=True"):
        b.tendon("both", joints={"joint1": 1.0, "joint2": 1.0}, limits=(0.0, 1.0))
    b.tendon("both", joints={"joint1": 1.0, "joint2": 1.0}, limits=(0.0, 1.0), rigid=True)
    with pytest.raises(IntegratorError, match="limits of tendon 'both' are rigid"):
        la.simulate(b.build(), dt=0.01, steps=1, integrator=la.Maximal(), progress=False)
    with pytest.raises(IntegratorError, match="rigid limit of tendon"):
        la.simulate(ROBOT, dt=0.01, steps=1, integrator=la.Galerkin(), progress=False)


def roped(links, longest):
    """A hanging chain with a rope from its foot to its end."""
    chain = la.robots.pendulum(links)
    b = la.MechanismBuilder.from_mechanism(chain)
    b.tendon("rope", via=["world", chain.body_names[-1]], limits=(0.0, longest), rigid=True)
    return b.build()


def test_a_start_with_too_long_a_rope_is_moved_without_energy():
    """It was pulled in step by step, with work from nowhere; a stretched chain, which no small motion shortens, did not
    start at all."""
    robot = roped(3, 1.5)
    q = np.array([0.3, 0.1, -0.2])
    with pytest.warns(la.LeastActionWarning, match="beyond the limits of tendon 'rope' by"):
        run = la.simulate(robot, q, dt=0.01, steps=50, integrator=la.Maximal())
    assert 1.45 < la.kinematics.tendon_lengths(robot, run.q[0])[0] < 1.5 + 1e-3
    assert (run.energy - run.energy[0]).max() < 1e-3
    with pytest.warns(la.LeastActionWarning, match="beyond the limits of tendon 'rope' by"):
        run = la.simulate(robot, dt=0.01, steps=20, integrator=la.Maximal())
    assert la.kinematics.tendon_lengths(robot, run.q[0])[0] < 1.5 + 1e-3
    assert (run.energy - run.energy[0]).max() < 1e-3


def test_a_rope_that_joints_cannot_slacken_is_told():
    b = la.MechanismBuilder("slider", gravity=(0, 0, 0))
    b.body("block", mass=1.0, inertia=0.01)
    b.prismatic("rail", "world", "block", axis="x", lower=1.5, upper=2.0)
    b.tendon("rope", via=["world", "block"], limits=(0.0, 1.0), rigid=True)
    with pytest.warns(la.LeastActionWarning, match="the joints cannot bring it within"):
        la.Simulator(b.build(), la.Maximal(), 0.01).reset([1.6])


def test_a_stretched_chain_is_moved_within_the_limits_of_its_joints():
    b = la.MechanismBuilder("finger")
    for k in range(3):
        b.body(f"link{k}", mass=1.0, com=(0, 0, -0.5), inertia=0.1)
        parent, at = (f"link{k - 1}", (0, 0, -1)) if k else ("world", (0, 0, 0))
        b.revolute(f"joint{k}", parent, f"link{k}", axis="y", position=at, lower=0.0, upper=3.0)
    b.tendon("rope", via=["world", "link2"], limits=(0.0, 1.5), rigid=True)
    robot = b.build()
    with pytest.warns(la.LeastActionWarning, match="'rope' by 0.5"):
        run = la.simulate(robot, dt=0.01, steps=1, integrator=la.Maximal())
    assert la.kinematics.tendon_lengths(robot, run.q[0])[0] < 1.5 + 1e-3
    assert run.q[0].min() >= -1e-9
