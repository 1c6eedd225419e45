"""Dampers that are far stronger than a step resolves: nothing reverses, (q, p) is the state, derivatives know of it."""

import numpy as np
import pytest

import leastaction as la
from leastaction.dynamics import mass_matrix
from leastaction.mechanism import MechanismBuilder, Plane, Pose, Sphere

DT = 0.01


def slider(damping: float, gravity: float = 0.0) -> la.Mechanism:
    """1 kg on a slide with a damper [N s/m] and a motor."""
    b = MechanismBuilder("slider", gravity=(0, 0, gravity))
    b.body("cart", mass=1.0, inertia=1e-3)
    b.prismatic("slide", "world", "cart", axis="z", damping=damping, limits=(-10, 10))
    b.actuator("motor", "slide")
    return b.build()


def arm(damping: float, friction: float = 0.5) -> la.Mechanism:
    """Two links with dampers [N m s/rad] over the ground, which the tip may touch."""
    b = MechanismBuilder("arm")
    for i, parent in enumerate(("world", "l0")):
        skin = [Sphere(0.05, pose=Pose((0, 0, -0.4)), friction=friction)] if i else []
        b.body(f"l{i}", mass=1.0, com=(0, 0, -0.2), inertia=(2e-2, 2e-2, 1e-3), shapes=skin)
        b.revolute(f"j{i}", parent, f"l{i}", axis="y", position=(0, 0, -0.4 if i else 0.67), damping=damping)
        b.actuator(f"m{i}", f"j{i}")
    b.add_shape("world", Plane(friction=friction))
    return b.build()


def run(robot, q, v, steps, controls=None, p=None, dt=DT):
    return la.simulate(robot, q, v, p=p, dt=dt, steps=steps, integrator=la.Minimal(), controls=controls, progress=False)


@pytest.mark.parametrize("damping", [0.0, 1.0, 1e2, 1e3, 1e5, 1e8])
def test_a_damper_never_reverses_a_motion(damping):
    v = run(slider(damping), [0.0], [1.0], 20).v[:, 0]
    assert (v >= -1e-9).all()
    assert (np.diff(v) <= 1e-9).all()


@pytest.mark.parametrize("damping", [3e2, 1e4, 1e8])
def test_a_driven_joint_has_its_terminal_velocity_after_one_step(damping):
    """f / d, which no explicit half of a kick overshoots."""
    force = 0.1 * damping
    v = run(slider(damping), [0.0], [0.0], 5, np.array([force])).v[:, 0]
    assert v[1:] == pytest.approx(np.full(5, 0.1), rel=1e-9)


def test_weak_dampers_are_of_order_two():
    """Against exp(-d t), at t = 0.4 s."""
    errors = []
    for steps in (20, 40):
        v = run(slider(5.0), [0.0], [1.0], steps, dt=0.4 / steps).v[-1, 0]
        errors.append(abs(v - np.exp(-2.0)))
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


@pytest.mark.parametrize("damping", [0.3, 30.0, 3e3])
def test_momenta_are_those_of_the_motion(damping):
    """p = M v at every node, so that a run goes on from (q, p) and from (q, v), and tells a controller the same v."""
    robot, u = arm(damping), np.array([-2.0, 1.0]) * max(1.0, 0.1 * damping)
    whole = run(robot, [0.9, -0.4], [0.0, 3.0], 120, u)
    assert len(whole.stored["contacts"])
    for k in (1, 17, 60):
        assert mass_matrix(robot, whole.q[k]) @ whole.v[k] == pytest.approx(whole.p[k], abs=1e-9)
        for start in ({"p": whole.p[k]}, {"v": whole.v[k]}):
            other = run(robot, whole.q[k], start.get("v"), 60, u, p=start.get("p"))
            assert other.v[0] == pytest.approx(whole.v[k], abs=1e-9)
            assert other.q[-1] == pytest.approx(whole.q[k + 60], abs=1e-8)
            assert other.v[-1] == pytest.approx(whole.v[k + 60], abs=1e-7)


@pytest.mark.parametrize("damping", [30.0, 3e3])
@pytest.mark.parametrize("k", [2, 100])
def test_derivatives_of_steps(damping, k):
    """In flight and in contact, against central differences."""
    robot, u = arm(damping), np.array([-2.0, 1.0]) * max(1.0, 0.1 * damping)
    whole = run(robot, [0.9, -0.4], [0.0, 3.0], 101, u)
    q, p = whole.q[k], whole.p[k]
    assert (k in whole.stored["contacts"][:, 0]) == (k == 100)
    A, B = la.linearize(robot, la.Minimal(), q, p, u=u, dt=DT)
    for j in range(6):
        ends, eps = [], 1e-6
        for sign in (1.0, -1.0):
            x = np.concatenate([q, p, u])
            x[j] += sign * eps
            end = run(robot, x[:2], None, 1, x[4:], p=x[2:4])
            ends.append(np.concatenate([end.q[1], end.p[1]]))
        found = (ends[0] - ends[1]) / (2.0 * eps)
        exact = np.column_stack([A, B])[:, j]
        assert exact == pytest.approx(found, abs=1e-6 * max(1.0, np.abs(found).max()))
