"""Stiffness and damping of every body force against central differences; friction that only takes energy."""

import warnings

import numba
import numpy as np
import pytest

import leastaction as la
from leastaction import redmax
from leastaction.forces import PointForce
from tests.redmax.robots import contact, springs


def free_pair(extra):
    """Two free bodies, so that the bodies' frames are all coordinates there are."""
    b = la.MechanismBuilder("pair")
    for k in range(2):
        b.body(f"l{k}", mass=1.0, com=(0.1, 0.0, 0.0), inertia=0.1)
        b.free(f"l{k}")
    extra(b)
    return b.build()


@pytest.mark.parametrize("extra", [springs, contact], ids=["springs", "contact"])
def test_stiffness_and_damping(extra):
    robot = free_pair(extra)
    rng = np.random.default_rng(5)
    q = robot.integrate(robot.neutral(), 0.5 * rng.normal(size=12))
    q[9] = -0.9
    v = rng.normal(size=12)
    f, K, D = redmax.body_forces(robot, q, v)
    assert np.abs(f[6:]).min() > 0.0
    e = 1e-6
    for k in range(12):
        d = e * np.eye(12)[k]
        dq = (
            redmax.body_forces(robot, robot.integrate(q, d), v)[0]
            - redmax.body_forces(robot, robot.integrate(q, -d), v)[0]
        )
        dv = redmax.body_forces(robot, q, v + d)[0] - redmax.body_forces(robot, q, v - d)[0]
        assert np.abs(K[:, k] - dq / (2 * e)).max() <= 1e-7 * np.abs(K).max()
        assert np.abs(D[:, k] - dv / (2 * e)).max() <= 1e-7 * np.abs(D).max()


def box(speed=1.0, tilt=0.0, friction=0.5):
    b = la.MechanismBuilder("box", gravity=(9.81 * np.sin(tilt), 0, -9.81 * np.cos(tilt)))
    b.body("box", mass=2.0, inertia=0.05)
    b.free("box")
    corners = [(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.2, 0.2)]
    law = {"stiffness": 1e4, "damping": 50.0, "friction": friction, "stiction": 1e3}
    b.penalty_contact("ground", "box", corners, **law)
    depth = 2.0 * 9.81 * np.cos(tilt) / 4e4
    robot = b.build()
    return robot, [0, 0, 0.1 - depth, 1, 0, 0, 0], [0, 0, 0, speed, 0, 0]


def test_a_sliding_box_slows_down_as_coulomb_says():
    """Deceleration is friction times gravity; energy never grows (the signs of Eqs. 1.49 and 1.59, corrected)."""
    robot, q, v = box()
    run = la.simulate(robot, q, v, dt=1e-3, steps=100, integrator=la.BDF(order=2))
    assert run.v[-1, 3] == pytest.approx(1.0 - 0.5 * 9.81 * 0.1, rel=2e-2)
    assert np.diff(run.energy).max() <= 1e-6


def test_a_box_on_a_slope_sticks_below_the_angle_of_friction_and_slides_above():
    for tilt, slides in ((np.arctan(0.5) - 0.05, False), (np.arctan(0.5) + 0.05, True)):
        robot, q, _ = box(tilt=tilt)
        run = la.simulate(robot, q, dt=2e-3, steps=200, integrator=la.BDF(order=2))
        expected = 0.4 * 9.81 * (np.sin(tilt) - 0.5 * np.cos(tilt))
        if slides:
            assert run.v[-1, 3] == pytest.approx(expected, rel=0.1)
        else:
            assert abs(run.v[-1, 3]) <= 0.02  # it creeps: stiction is viscous


def test_limits_hold_a_falling_arm():
    b = la.MechanismBuilder("arm")
    b.body("arm", mass=1.0, com=(0.5, 0, 0), inertia=0.1)
    b.revolute("hinge", "world", "arm", axis="y", upper=0.3, limit_stiffness=1e4)
    robot = b.build()
    run = la.simulate(robot, dt=0.005, steps=400, integrator=la.BDF(order=1))
    torque = 9.81 * 0.5 * np.cos(run.q[-1, 0])
    assert run.q[-1, 0] == pytest.approx(0.3 + torque / 1e4, abs=1e-6)


@numba.njit
def law(x, xd, f):
    d = x[1] - x[0]
    r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
    for c in range(3):
        f[0, c] = 3.0 * d[c] * r2 - 0.3 * xd[0, c]
        f[1, c] = -3.0 * d[c] * r2 - 0.3 * xd[1, c]


@numba.njit
def slopes(x, xd, K, D):
    d = x[1] - x[0]
    r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
    for c in range(3):
        for e in range(3):
            k = 6.0 * d[c] * d[e] + (3.0 * r2 if c == e else 0.0)
            K[c, e], K[3 + c, 3 + e], K[c, 3 + e], K[3 + c, e] = -k, -k, k, k
        D[c, c] = D[3 + c, 3 + c] = -0.3


POINTS = (("l0", (0.1, 0, 0)), ("l1", (0, 0.2, 0)))


def test_a_force_of_the_user_with_and_without_slopes():
    """The complex step gives the same Newton matrix as the user's slopes: same run, same iterations."""
    robot = free_pair(lambda b: None)
    q = robot.integrate(robot.neutral(), np.linspace(-0.5, 0.5, 12))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given = PointForce("cubic", POINTS, law, slopes)
    with pytest.warns(UserWarning, match="force 'cubic' comes without slopes"):
        stepped = PointForce("cubic", POINTS, law)
    options = {"dt": 0.02, "steps": 30}
    runs = [la.simulate(robot, q, integrator=la.BDF(order=2, forces=(f,)), **options) for f in (given, stepped)]
    assert np.abs(runs[0].q - runs[1].q).max() <= 1e-12
    assert (runs[0].iterations == runs[1].iterations).all()
    plain = la.simulate(robot, q, integrator=la.BDF(order=2), **options)
    assert np.abs(plain.q - runs[0].q).max() > 1e-3
    g = la.derivatives.gradient(runs[1], np.ones((31, 12)), None, ["v"])["v"]

    def value(s):
        run = la.simulate(robot, q, s * np.eye(12)[4], integrator=la.BDF(order=2, forces=(stepped,)), **options)
        return robot.difference(runs[1].q, run.q).sum()

    assert g[4] == pytest.approx((value(1e-5) - value(-1e-5)) / 2e-5, rel=1e-6)


def test_errors_of_user_forces():
    with pytest.raises(la.MechanismError, match="at least one point"):
        PointForce("f", (), law, slopes)
    with pytest.raises(la.MechanismError, match="compiled by numba"):
        PointForce("f", POINTS, lambda x, xd, f: None)
    with pytest.raises(la.IntegratorError, match="forces must be a tuple"):
        la.BDF(forces=[1])


def test_friction_of_penalty_contacts_needs_no_more_than_its_coefficient():
    """What slides fast feels Coulomb's force against its motion, with the default law of what sticks."""
    b = la.robots.free_body(mass=1.0).edit()
    b.penalty_contact("sole", "body", [(0, 0, 0)], stiffness=1000.0, friction=0.5)
    robot = b.build()
    q = [0.0, 0.0, -0.01, 1.0, 0.0, 0.0, 0.0]
    fast = la.dynamics.passive_forces(robot, q, [0, 0, 0, 2.0, 0, 0])
    np.testing.assert_allclose(fast, [0, 0, 0, -0.5 * 10.0, 0, 10.0], atol=1e-12)
    slow = la.dynamics.passive_forces(robot, q, [0, 0, 0, 0.01, 0, 0])
    np.testing.assert_allclose(slow[3], -0.01 * 0.5 * 1000.0 * 0.2)
    b.remove("sole")
    b.penalty_contact("sole", "body", [(0, 0, 0)], stiffness=1000.0, friction=0.5, stiction=0.0)
    assert la.dynamics.passive_forces(b.build(), q, [0, 0, 0, 2.0, 0, 0])[3] == 0.0
