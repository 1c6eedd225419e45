"""Gradients of runs of `Maximal` by parameters that are zero: what they stand for may be missing in its equations."""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import gradient, parameter_jacobian, with_parameters
from leastaction.mechanism import Plane
from tests.derivatives.test_backward_pass import SMOOTH, box, limited, moving, tied


def test_a_damper_of_zero():
    """A variant has one more damper than the robot; the derivative is right."""
    (robot, q, v), name = moving(tied()), "damping:plain"
    run = la.simulate(robot, q, v, dt=0.01, steps=4, integrator=la.Maximal())
    bars = np.random.default_rng(1).normal(size=(2, 5, robot.nv))
    found = float(gradient(run, *bars, [name])[name])

    def value(damping):
        other = with_parameters(robot, {name: damping})
        end = la.simulate(other, q, v, dt=0.01, steps=4, integrator=la.Maximal())
        moved = [robot.difference(a, b) for a, b in zip(run.q, end.q, strict=True)]
        return float((bars[0] * moved).sum() + (bars[1] * end.v).sum())

    h = 1e-4
    expected = (-3.0 * value(0.0) + 4.0 * value(h) - value(2.0 * h)) / (2.0 * h)
    assert abs(found - expected) < 1e-5 * abs(expected)


def slack():
    """Three links with a tendon that does nothing."""
    b = la.MechanismBuilder.from_mechanism(la.robots.pendulum(3))
    one, two, _ = la.robots.pendulum(3).velocity_names
    b.tendon("tendon", joints=[(one, 0.5), (two, -0.3)])
    return b.build()


@pytest.mark.parametrize(
    ("robot", "integrator", "name", "why"),
    [
        (slack(), la.Maximal(), "stiffness:tendon", "tendon with neither spring nor damper"),
        (limited(), SMOOTH, "friction:j0", r"no dry friction \(j0\)"),
        (limited(), SMOOTH, "limit_stiffness:j0", "rigid limit"),
    ],
)
def test_what_is_missing_in_the_robot_is_named(robot, integrator, name, why):
    """It would need arrays, cones or limits that the robot as it is does not have."""
    q, zero = np.full(robot.nq, 0.1), np.zeros(robot.nv)
    with pytest.raises(la.IntegratorError, match=why):
        parameter_jacobian(robot, integrator, q, zero, None, 0.01, parameters=[name])


@pytest.mark.parametrize("name", ["friction:world/0", "spinning:world/0", "restitution:box/0"])
def test_what_contacts_do_not_have(name):
    """Named where something touches, zero where nothing does: contacts without friction have no equation for it."""
    robot, q, v = box()
    kind = name.partition(":")[0]
    robot = robot.replace(ground=[Plane(friction=0.0, spinning=0.0)])
    bars = np.ones((2, 13, robot.nv))
    run = la.simulate(robot, q, v, dt=0.01, steps=12, integrator=SMOOTH)
    with pytest.raises(la.IntegratorError, match=f"has no {kind}"):
        gradient(run, *bars, [name])
    q = q.copy()
    q[2] += 10.0
    run = la.simulate(robot, q, v, dt=0.01, steps=12, integrator=SMOOTH)
    assert abs(gradient(run, *bars, [name])[name]) < 1e-6  # round-off of the weights of a difference
