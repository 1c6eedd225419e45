"""Explicit integrators: order by slope on chains, ball joints and free bodies; closed forms."""

import numpy as np
import pytest

import leastaction as la
from tests.oracles.differences import assert_close
from tests.oracles.random_trees import random_state, random_tree

TIGHT = la.DOP853(rtol=1e-12, atol=1e-13)

ROBOTS = {
    "chain": lambda: random_tree(1, 3, ("revolute",), branching=0.0),
    "ball joints": lambda: random_tree(2, 2, ("spherical",), branching=0.0),
    "free body": lambda: random_tree(3, 1, ("free",)),
    "springs": lambda: random_tree(4, 2, ("revolute", "spherical", "prismatic"), stiffness=5.0, damping=0.3),
}

METHODS = [
    (la.ExplicitEuler(), 1),
    (la.SemiImplicitEuler(), 1),
    (la.Heun(), 2),
    (la.RungeKutta(order=4), 4),
]


def end_error(robot, integrator, steps, duration, state, reference, **options):
    q, v = state
    run = la.simulate(robot, q, v, dt=duration / steps, steps=steps, integrator=integrator, **options)
    return np.linalg.norm(robot.difference(reference.q[-1], run.q[-1])) + np.linalg.norm(run.v[-1] - reference.v[-1])


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize(("integrator", "order"), METHODS, ids=lambda x: type(x).__name__)
def test_order(name, integrator, order):
    """Halving dt divides the error at a fixed time by 2^order."""
    robot, duration = ROBOTS[name](), 0.2
    state = random_state(robot, 5)
    reference = la.simulate(robot, *state, dt=duration, steps=1, integrator=TIGHT)
    counts = (400, 800) if order == 1 else (100, 200) if order == 2 else (20, 40)
    coarse, fine = (end_error(robot, integrator, n, duration, state, reference) for n in counts)
    assert np.log2(coarse / fine) == pytest.approx(order, abs=0.15)


def test_order_with_controls_that_change_within_a_step():
    """Controls given as a function of time are read at the nodes, so Runge-Kutta keeps its order 4."""
    robot, duration = ROBOTS["chain"](), 0.5
    state = random_state(robot, 5)

    def controls(t):
        return 3.0 * np.sin(7.0 * t + np.arange(3))

    reference = la.simulate(
        robot, *state, dt=duration / 1600, steps=1600, integrator=la.RungeKutta(order=4), controls=controls
    )
    coarse, fine = (
        end_error(robot, la.RungeKutta(order=4), n, duration, state, reference, controls=controls) for n in (100, 200)
    )
    assert np.log2(coarse / fine) == pytest.approx(4, abs=0.25)


def test_adaptive_method_keeps_the_energy():
    """Nothing but gravity acts: the energy stays to about the tolerance."""
    robot = random_tree(6, 4, ("revolute", "spherical", "free"))
    run = la.simulate(robot, *random_state(robot, 1), dt=0.05, duration=1.0, integrator=la.DOP853())
    assert np.ptp(run.energy) <= 1e-8 * np.abs(run.kinetic_energy).max()


def test_orders_are_the_same_methods():
    robot = ROBOTS["chain"]()
    q, v = random_state(robot, 1)
    for order, other in ((1, la.ExplicitEuler()), (2, la.Heun())):
        runs = [la.simulate(robot, q, v, steps=5, integrator=i) for i in (la.RungeKutta(order=order), other)]
        assert (runs[0].q == runs[1].q).all()
    with pytest.raises(la.IntegratorError, match="order must be 1, 2 or 4"):
        la.RungeKutta(order=3)


@pytest.mark.parametrize("seed", range(4))
def test_right_hand_side(seed):
    """A step of explicit Euler moves v by dt times forward dynamics under all forces and controls."""
    rng = np.random.default_rng(seed)
    b = random_tree(seed, 5, ("revolute", "spherical", "prismatic", "free"), stiffness=2.0, damping=0.1).edit()
    for k, name in enumerate(b.build().velocity_names[::2]):
        b.actuator(f"motor{k}", name, gear=rng.uniform(-2, 2))
    b.thruster("thruster", "body4", rng.normal(size=6))
    b.thruster("other thruster", "body1", rng.normal(size=6))
    b.spring("spring", "body0", ("body4", (0.1, 0.2, 0.3)), stiffness=10.0, damping=0.5)
    b.wrench("wind", "body2", rng.normal(size=6), frame="body")
    robot = b.build()
    q, v = random_state(robot, seed)
    u = rng.normal(size=robot.nu)
    tau = la.dynamics.passive_forces(robot, q, v) + robot.generalized_forces(u, q)
    run = la.simulate(robot, q, v, dt=1e-3, steps=1, integrator=la.ExplicitEuler(), controls=u)
    assert_close((run.v[1] - v) / 1e-3, la.dynamics.forward_dynamics(robot, q, v, tau), 1e-10)
    assert_close(run.q[1], robot.integrate(q, 1e-3 * v), 1e-12)


def test_thruster_on_a_free_body():
    """Thrust along x gives x = F t^2 / 2 m, torque gives angle = M t^2 / 2 I."""
    b = la.MechanismBuilder("probe", gravity=(0, 0, 0))
    b.body("probe", mass=2.0, inertia=(0.2, 0.3, 0.4))
    b.free("probe")
    b.thruster("main", "probe", (0, 0, 0, 1, 0, 0))
    b.thruster("spin", "probe", (0, 0, 1, 0, 0, 0))
    robot = b.build()
    run = la.simulate(robot, dt=0.05, duration=1.0, integrator=la.RungeKutta(order=4), controls=[3.0, 0.0])
    assert_close(run.q[:, 0], 0.5 * 3.0 / 2.0 * run.t**2, 1e-12)
    run = la.simulate(robot, dt=0.05, duration=1.0, integrator=la.RungeKutta(order=4), controls=[0.0, 0.8])
    assert_close(run.q[:, 6], np.sin(0.5 * 0.5 * 0.8 / 0.4 * run.t**2), 1e-12)
    assert not run.q[:, :3].any()


def test_thruster_on_a_body_that_is_welded_to_the_world():
    b = la.MechanismBuilder(gravity=(0, 0, 0))
    b.body("stand")
    b.fixed("weld", "world", "stand")
    b.body("arm", mass=1.0, inertia=0.1)
    b.revolute("hinge", "stand", "arm")
    b.thruster("stuck", "stand", (1, 1, 1, 1, 1, 1))
    robot = b.build()
    assert not robot.generalized_forces([100.0], [0.0]).any()
    run = la.simulate(robot, steps=3, integrator=la.ExplicitEuler(), controls=[100.0])
    assert not run.v.any()
    run = la.simulate(robot, steps=3, integrator=la.Galerkin(order=2), controls=[100.0])
    assert not run.q.any()


def test_gear_of_a_motor():
    b = la.MechanismBuilder(gravity=(0, 0, 0))
    b.body("slider", mass=2.0)
    b.prismatic("rail", "world", "slider")
    b.actuator("motor", "rail", gear=-5.0)
    run = la.simulate(b.build(), dt=0.1, duration=1.0, integrator=la.RungeKutta(), controls=[0.4])
    assert_close(run.q[:, 0], -0.5 * run.t**2, 1e-13)


@pytest.mark.parametrize("integrator", [la.ExplicitEuler(), la.SemiImplicitEuler(), la.RungeKutta(), la.DOP853()])
def test_loops_and_couplings_are_refused(integrator):
    b = random_tree(1, 2, ("revolute",), branching=0.0).edit()
    b.coupling("gears", "joint1", "joint0")
    with pytest.raises(la.IntegratorError, match="'gears'"):
        la.simulate(b.build(), steps=1, integrator=integrator)
    b = random_tree(1, 2, ("revolute",), branching=0.0).edit()
    b.joint("closure", "spherical", "world", "body1", loop=True)
    with pytest.raises(la.IntegratorError, match="'closure'"):
        la.simulate(b.build(), steps=1, integrator=integrator)


def test_an_adaptive_run_that_gets_nowhere_ends():
    """A spring so stiff that the steps within dt would not end in this life."""
    b = la.MechanismBuilder("stiff")
    b.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=0.1)
    b.revolute("pivot", "world", "rod", axis="y", stiffness=1e12)
    with pytest.raises(la.ConvergenceError, match="max_steps = 50") as caught:
        la.simulate(b.build(), q=[0.5], dt=0.1, steps=3, integrator=la.DOP853(max_steps=50))
    assert caught.value.step == 0
    with pytest.raises(la.IntegratorError, match="max_steps"):
        la.DOP853(max_steps=0)
