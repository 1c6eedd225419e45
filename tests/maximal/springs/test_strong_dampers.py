"""Velocities of joints whose dampers are strong for the step: what momenta hold of the dampers is no motion."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import leastaction as la
from leastaction.mechanism import MechanismBuilder, Pose

DT, TORQUE, DAMPING = 0.01, 0.3, 2.0
INTEGRATORS = [la.Maximal(), la.Grounded()]


def finger(damping=DAMPING, mass=0.01):
    """A light link on a heavy arm, with a damper that stops it within 2e-6 s."""
    b = MechanismBuilder("finger", gravity=(0.0, 0.0, 0.0))
    b.body("arm", mass=1.0, inertia=(0.01, 0.01, 0.01), com=(0.2, 0.0, 0.0))
    b.revolute("shoulder", "world", "arm", axis="y")
    b.body("tip", mass=mass, inertia=(1e-6, 1e-6, 1e-6), com=(0.01, 0.0, 0.0))
    b.revolute("knuckle", "arm", "tip", axis="y", pose=Pose((0.4, 0.0, 0.0)), damping=damping)
    return b.build()


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: type(i).__name__)
def test_a_torque_on_a_damper_moves_the_joint_as_the_damper_lets_it(integrator):
    controls = np.repeat([[0.0, TORQUE], [0.0, -TORQUE]], 10, axis=0)
    run = la.simulate(finger(), dt=DT, steps=20, controls=controls, integrator=integrator)
    # Where the torque jumps (row 10 is read before, row 11 after), a step is enough to be on the other side.
    assert_allclose(run.v[1:11, 1], TORQUE / DAMPING, rtol=0.1)
    assert_allclose(run.v[11:, 1], -TORQUE / DAMPING, rtol=0.1)
    rates = np.diff(run.q[:, 1]) / DT
    assert_allclose(run.v[2:10, 1], 0.5 * (rates[1:9] + rates[2:10]), rtol=1e-3)
    work = np.concatenate([[0.0], np.cumsum(controls[:, 1] * np.diff(run.q[:, 1]))])
    assert (run.energy - run.energy[0] <= work + 1e-12).all()


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: type(i).__name__)
def test_simulator_controllers_and_parts_of_runs_have_the_same_velocities(integrator):
    robot, u, seen = finger(), np.array([0.02, TORQUE]), []
    run = la.simulate(
        robot,
        v=[0.3, 0.1],
        dt=DT,
        steps=8,
        controller=lambda t, q, v: seen.append(v) or u,
        integrator=integrator,
    )
    assert_allclose(run.v[0], [0.3, 0.1], rtol=1e-12)
    assert_allclose(seen, run.v[:-1], rtol=1e-9)
    sim = la.Simulator(robot, integrator, DT)
    sim.reset(v=[0.3, 0.1])
    for k in range(8):
        assert_allclose(sim.v, run.v[k], rtol=1e-9)
        assert_allclose(sim.now.v[0], run.v[k], rtol=1e-9)
        assert_allclose(sim.energy, run.energy[k], rtol=1e-9)
        sim.step(u)
    assert_allclose(run[3:7].v, run.v[3:7], rtol=1e-12)
    assert_allclose(run[0:4].v, run.v[0:4], rtol=1e-12)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: type(i).__name__)
def test_gradients_by_velocities_go_through_the_dampers(integrator):
    names = ["controls", "v", "damping:knuckle", "mass:tip"]

    def value(torque=TORQUE, v=0.1, damping=DAMPING, mass=0.01):
        u = np.tile([0.02, torque], (5, 1))
        run = la.simulate(finger(damping, mass), v=[0.3, v], dt=DT, steps=5, controls=u, integrator=integrator)
        return run.v[-1, 1] + 2.0 * run.v[2, 1], run

    run = value()[1]
    dv = np.zeros(run.v.shape)
    dv[-1, 1], dv[2, 1] = 1.0, 2.0
    found = la.derivatives.gradient(run, None, dv, names)
    expected = {
        "controls": _difference(lambda h: value(torque=TORQUE + h)[0], 1e-4),
        "v": _difference(lambda h: value(v=0.1 + h)[0], 1e-4),
        "damping:knuckle": _difference(lambda h: value(damping=DAMPING + h)[0], 1e-4),
        "mass:tip": _difference(lambda h: value(mass=0.01 + h)[0], 1e-5),
    }
    assert_allclose(found["controls"][:, 1].sum(), expected["controls"], rtol=1e-6)
    assert_allclose(found["v"][1], expected["v"], rtol=1e-5, atol=1e-8)
    assert_allclose(found["damping:knuckle"].sum(), expected["damping:knuckle"], rtol=1e-5)
    assert_allclose(found["mass:tip"].sum(), expected["mass:tip"], rtol=1e-4, atol=1e-9)


def _difference(f, h):
    return (f(h) - f(-h)) / (2.0 * h)


def test_velocities_of_loops_on_a_strong_damper_keep_them_closed():
    """An arm on a base that a damper holds, its tip pinned to the world: (M + late)^-1 p alone would open the loop."""
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
    assert_allclose(run.v[3:10], 0.5 * (rates[2:9] + rates[3:10]), atol=5e-3 * np.abs(run.v).max())
    assert (run.energy - run.energy[0]).max() < 1e-9
    sim = la.Simulator(robot, la.Maximal(), DT)
    sim.reset(q)
    sim.step()
    assert_allclose(sim.v, run.v[1], atol=1e-12)
