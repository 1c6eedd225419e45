"""Dampers that are far stronger than a step resolves: nothing reverses, (q, p) is the state, derivatives know of it."""

import numpy as np
import pytest

import leastaction as la
from leastaction.dynamics import mass_matrix
from leastaction.mechanism import MechanismBuilder, Plane, Pose, Sphere

DT, TORQUE, KNUCKLE = 0.01, 0.3, 2.0
ENGINES = [la.Minimal(), la.Maximal()]


@pytest.fixture(params=ENGINES, ids=lambda engine: type(engine).__name__)
def engine(request):
    return request.param


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


def run(engine, robot, q, v, steps, controls=None, p=None, dt=DT):
    return la.simulate(robot, q, v, p=p, dt=dt, steps=steps, integrator=engine, controls=controls, progress=False)


@pytest.mark.parametrize("damping", [0.0, 1.0, 1e2, 1e3, 1e5, 1e8])
def test_a_damper_never_reverses_a_motion(engine, damping):
    v = run(engine, slider(damping), [0.0], [1.0], 20).v[:, 0]
    assert (v >= -1e-9).all()
    assert (np.diff(v) <= 1e-9).all()


@pytest.mark.parametrize("damping", [3e2, 1e4, 1e8])
def test_a_driven_joint_has_its_terminal_velocity_after_one_step(engine, damping):
    """f / d, which no explicit half of a kick overshoots."""
    force = 0.1 * damping
    v = run(engine, slider(damping), [0.0], [0.0], 5, np.array([force])).v[:, 0]
    assert v[1:] == pytest.approx(np.full(5, 0.1), rel=1e-9)


def test_weak_dampers_are_of_order_two(engine):
    """Against exp(-d t), at t = 0.4 s."""
    errors = []
    for steps in (20, 40):
        v = run(engine, slider(5.0), [0.0], [1.0], steps, dt=0.4 / steps).v[-1, 0]
        errors.append(abs(v - np.exp(-2.0)))
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


@pytest.mark.parametrize("damping", [0.3, 30.0, 3e3])
def test_momenta_are_those_of_the_motion(engine, damping):
    """p = M v at every node, so that a run goes on from (q, p) and from (q, v), and tells a controller the same v."""
    robot, u = arm(damping), np.array([-2.0, 1.0]) * max(1.0, 0.1 * damping)
    whole = run(engine, robot, [0.9, -0.4], [0.0, 3.0], 120, u)
    assert len(whole.stored["contacts"])
    for k in (1, 17, 60):
        assert mass_matrix(robot, whole.q[k]) @ whole.v[k] == pytest.approx(whole.p[k], abs=1e-9)
        for start in ({"p": whole.p[k]}, {"v": whole.v[k]}):
            other = run(engine, robot, whole.q[k], start.get("v"), 60, u, p=start.get("p"))
            assert other.v[0] == pytest.approx(whole.v[k], abs=1e-9)
            assert other.q[-1] == pytest.approx(whole.q[k + 60], abs=1e-8)
            assert other.v[-1] == pytest.approx(whole.v[k + 60], abs=1e-7)


@pytest.mark.parametrize("damping", [30.0, 3e3])
@pytest.mark.parametrize("k", [2, 100])
def test_derivatives_of_steps(engine, damping, k):
    """In flight and in contact, against central differences."""
    robot, u = arm(damping), np.array([-2.0, 1.0]) * max(1.0, 0.1 * damping)
    whole = run(engine, robot, [0.9, -0.4], [0.0, 3.0], 101, u)
    q, p = whole.q[k], whole.p[k]
    assert (k in whole.stored["contacts"][:, 0]) == (k == 100)
    A, B = la.linearize(robot, engine, q, p, u=u, dt=DT)
    for j in range(6):
        ends, eps = [], 1e-5
        for sign in (1.0, -1.0):
            x = np.concatenate([q, p, u])
            x[j] += sign * eps
            end = run(engine, robot, x[:2], None, 1, x[4:], p=x[2:4])
            ends.append(np.concatenate([end.q[1], end.p[1]]))
        found = (ends[0] - ends[1]) / (2.0 * eps)
        exact = np.column_stack([A, B])[:, j]
        assert exact == pytest.approx(found, abs=1e-6 * max(1.0, np.abs(found).max()))


def finger(damping=KNUCKLE, mass=0.01):
    """A light link on a heavy arm, with a damper that stops it within 2e-6 s."""
    b = MechanismBuilder("finger", gravity=(0.0, 0.0, 0.0))
    b.body("arm", mass=1.0, inertia=(0.01, 0.01, 0.01), com=(0.2, 0.0, 0.0))
    b.revolute("shoulder", "world", "arm", axis="y")
    b.body("tip", mass=mass, inertia=(1e-6, 1e-6, 1e-6), com=(0.01, 0.0, 0.0))
    b.revolute("knuckle", "arm", "tip", axis="y", pose=Pose((0.4, 0.0, 0.0)), damping=damping)
    return b.build()


def test_a_torque_on_a_damper_moves_the_joint_as_the_damper_lets_it(engine):
    controls = np.repeat([[0.0, TORQUE], [0.0, -TORQUE]], 10, axis=0)
    run = la.simulate(finger(), dt=DT, steps=20, controls=controls, integrator=engine)
    # Where the torque jumps (row 10 is read before, row 11 after), a step is enough to be on the other side.
    np.testing.assert_allclose(run.v[1:11, 1], TORQUE / KNUCKLE, rtol=0.1)
    np.testing.assert_allclose(run.v[11:, 1], -TORQUE / KNUCKLE, rtol=0.1)
    rates = np.diff(run.q[:, 1]) / DT
    np.testing.assert_allclose(run.v[2:10, 1], 0.5 * (rates[1:9] + rates[2:10]), rtol=1e-3)
    work = np.concatenate([[0.0], np.cumsum(controls[:, 1] * np.diff(run.q[:, 1]))])
    assert (run.energy - run.energy[0] <= work + 1e-12).all()


def test_simulator_controllers_and_parts_of_runs_have_the_same_velocities(engine):
    robot, u, seen = finger(), np.array([0.02, TORQUE]), []
    run = la.simulate(
        robot,
        v=[0.3, 0.1],
        dt=DT,
        steps=8,
        controller=lambda t, q, v: seen.append(v) or u,
        integrator=engine,
    )
    np.testing.assert_allclose(run.v[0], [0.3, 0.1], rtol=1e-12)
    np.testing.assert_allclose(seen, run.v[:-1], rtol=1e-9)
    sim = la.Simulator(robot, engine, DT)
    sim.reset(v=[0.3, 0.1])
    for k in range(8):
        np.testing.assert_allclose(sim.v, run.v[k], rtol=1e-9)
        np.testing.assert_allclose(sim.now.v[0], run.v[k], rtol=1e-9)
        np.testing.assert_allclose(sim.energy, run.energy[k], rtol=1e-9)
        sim.step(u)
    np.testing.assert_allclose(run[3:7].v, run.v[3:7], rtol=1e-12)
    np.testing.assert_allclose(run[0:4].v, run.v[0:4], rtol=1e-12)


def test_gradients_by_velocities_go_through_the_dampers(engine):
    names = ["controls", "v", "damping:knuckle", "mass:tip"]

    def value(torque=TORQUE, v=0.1, damping=KNUCKLE, mass=0.01):
        u = np.tile([0.02, torque], (5, 1))
        run = la.simulate(finger(damping, mass), v=[0.3, v], dt=DT, steps=5, controls=u, integrator=engine)
        return run.v[-1, 1] + 2.0 * run.v[2, 1], run

    run = value()[1]
    dv = np.zeros(run.v.shape)
    dv[-1, 1], dv[2, 1] = 1.0, 2.0
    found = la.derivatives.gradient(run, None, dv, names)
    expected = {
        "controls": _difference(lambda h: value(torque=TORQUE + h)[0], 1e-4),
        "v": _difference(lambda h: value(v=0.1 + h)[0], 1e-4),
        "damping:knuckle": _difference(lambda h: value(damping=KNUCKLE + h)[0], 1e-4),
        "mass:tip": _difference(lambda h: value(mass=0.01 + h)[0], 1e-5),
    }
    np.testing.assert_allclose(found["controls"][:, 1].sum(), expected["controls"], rtol=1e-6)
    np.testing.assert_allclose(found["v"][1], expected["v"], rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(found["damping:knuckle"].sum(), expected["damping:knuckle"], rtol=1e-5)
    np.testing.assert_allclose(found["mass:tip"].sum(), expected["mass:tip"], rtol=1e-4, atol=1e-9)


def _difference(f, h):
    return (f(h) - f(-h)) / (2.0 * h)


def test_velocities_of_loops_on_a_strong_damper_keep_them_closed():
    """An arm on a base that a damper holds, its tip pinned to the world: M^-1 p of all joints would open the loop."""
    b = MechanismBuilder("pinned")
    b.body("base", mass=1.0, inertia=0.1)
    b.prismatic("slide", "world", "base", axis="x", damping=1e9)
    for k, parent in enumerate(("base", "link0", "link1")):
        b.body(f"link{k}", mass=1.0, inertia=0.02, com=(0.2, 0, 0))
        b.revolute(f"hinge{k}", parent, f"link{k}", axis="y", position=(0.4 if k else 0.0, 0, 0), damping=5.0)
    b.joint("pin", "revolute", "world", "link2", axis="y", pose=(0.6, 0, 0), child_pose=Pose((-0.4, 0, 0)), loop=True)
    robot = b.build()
    q = la.dynamics.close_loops(robot, [0.0, -1.0, 1.2, 0.9])
    run = la.simulate(robot, q, dt=DT, steps=10, integrator=la.Maximal())
    A = np.array([la.dynamics.loops.loop_jacobian(robot, x)[1] for x in run.q])
    assert np.abs(np.einsum("kij,kj->ki", A, run.v)).max() < 1e-9
    rates = np.diff(run.q, axis=0) / DT
    np.testing.assert_allclose(run.v[4:10], 0.5 * (rates[3:9] + rates[4:10]), atol=5e-3 * np.abs(run.v).max())
    assert (run.energy - run.energy[0]).max() < 1e-9
    sim = la.Simulator(robot, la.Maximal(), DT)
    sim.reset(q)
    sim.step()
    np.testing.assert_allclose(sim.v, run.v[1], atol=1e-12)
