"""Closed loops in steps of `Galerkin` and `Midpoint` against reference motions; what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import leastaction as la
from tests.minimal.helpers import assert_order, method
from tests.oracles.differences import assert_close, by_q
from tests.robots.kinematics import loop_residual

DATA = Path(__file__).parents[1] / "data"
IFTOMM = json.loads((DATA / "iftomm.json").read_text())
TEST_SET = ("beta", "theta", "gamma", "phi", "delta", "omega", "epsilon")
CLOSED = [entry for entry in la.robots.catalogue() if entry.robot.loops]
NAMES = [entry.name for entry in CLOSED]
LOOSE = 1e-10
ORDERS = ("midpoint", 2, 4)


def start_of(entry, seed=1, speed=0.3):
    """Home, moving: velocities of the benchmark plus random ones that keep the loops closed."""
    robot, q = entry.robot, entry.home()
    _, A = la.dynamics.loop_jacobian(robot, q)
    s, V = np.linalg.svd(A)[1:]
    allowed = V[int((s > 1e-9 * s[0]).sum()) :]
    return q, entry.home_velocity() + speed * np.random.default_rng(seed).normal(size=len(allowed)) @ allowed


def four_bar(name):
    """(robot, (q, v) at t = 0, 0.4 ... 2 s) of a reference run."""
    data = json.loads((DATA / "exact" / f"fourbar_{name}.json").read_text())
    crank, coupler, rocker = np.array(data["state"]).reshape(-1, 2, 3).transpose(2, 1, 0)
    options = {} if name == "parallelogram" else {"lengths": (1.0, 2.0, 1.5), "crank_angle": -0.6}
    # The coupler's angle is relative to the crank, and all of them count from the start.
    q, v = np.stack([crank, coupler - crank, rocker], axis=-1)
    return la.robots.four_bar(**options), (q - q[0], v)


@pytest.mark.parametrize("name", ["parallelogram", "rods"])
@pytest.mark.parametrize("order", ORDERS)
def test_order_of_four_bars(name, order):
    robot, reference = four_bar(name)
    assert_order(robot, order, reference, 2.0, (50, 100) if order == 4 else (200, 400))


def assert_redundant_closure_makes_the_same_motion(integrator):
    """Five equations of a hinge, three of them dependent, against the two that suffice in the plane."""
    runs = [
        la.simulate(la.robots.four_bar(crank_angle=1.2, closure=c), dt=0.02, steps=100, integrator=integrator)
        for c in ("in_plane", "revolute")
    ]
    assert_close(runs[1].q, runs[0].q, 1e-10)
    assert runs[1].constraint_violation.max() <= LOOSE


@pytest.mark.parametrize("order", ORDERS)
def test_redundant_closure_makes_the_same_motion(order):
    assert_redundant_closure_makes_the_same_motion(method(order))


@pytest.mark.parametrize("order", ORDERS)
def test_energy_of_a_four_bar_does_not_drift(order):
    """Energy errors of a symplectic method stay as large as in the first swings; loops stay at the tolerance."""
    robot, _ = four_bar("rods")
    run = la.simulate(robot, dt=0.02, duration=100.0, integrator=method(order))
    error = np.abs(run.energy - run.energy[0])
    early, late = error[:500].max(), error[-500:].max()
    assert 1e-9 < early < (2e-5 if order == 4 else 2e-2)
    assert late <= 1.1 * early
    assert run.constraint_violation.max() <= LOOSE


def a02(windows, times):
    """Angle and rate of the cranks of A02: ((N + 1) / 3 + N) phi'' = -g ((N + 1) / 2 + N) cos(phi)."""
    k = -9.81 * ((windows + 1) / 2 + windows) / ((windows + 1) / 3 + windows)
    options = {"t_eval": times, "rtol": 1e-12, "atol": 1e-12}
    exact = solve_ivp(lambda t, y: [y[1], k * np.cos(y[0])], (0, times[-1]), [np.pi / 2, -1], "DOP853", **options)
    return exact.y


@pytest.mark.parametrize(("windows", "duration", "bound"), [(2, 10.0, 1e-6), (40, 3.0, 1e-6)])
def test_a02_stays_on_its_branch_through_singular_configurations(windows, duration, bound):
    """IFToMM A02, far below the 1e-3 of its grade "high precision"; all links are in line several times on the way."""
    robot = la.robots.n_four_bar(windows)
    entry = next(e for e in CLOSED if e.name == "n_four_bar")
    start = la.robots.home(robot), entry.home_velocity(robot)
    run = la.simulate(robot, *start, dt=0.01, duration=duration, integrator=la.Galerkin(order=4))
    phi, rate = a02(windows, run.t)
    if windows == 2:
        np.testing.assert_allclose(np.interp(IFTOMM["A02"]["t"], run.t, phi), IFTOMM["A02"]["phi"], atol=1e-9)
    assert (np.diff(np.sign(np.sin(phi))) != 0).sum() >= 2
    cranks = [robot.coordinate_index(f"A{k}") for k in range(windows + 1)]
    couplers = [robot.coordinate_index(f"B{k}") for k in range(windows)]
    turned = np.pi / 2 - phi
    assert np.abs(run.q[:, cranks] - turned[:, None]).max() <= bound
    assert np.abs(run.q[:, couplers] + turned[:, None]).max() <= bound
    assert np.abs(run.v[:, cranks] + rate[:, None]).max() <= 10 * bound
    assert run.constraint_violation.max() <= LOOSE
    assert np.abs(run.energy - run.energy[0]).max() <= 1e-4 * run.kinetic_energy.max()


def test_andrews_squeezer():
    """IFToMM A03 against PSIDE at t = 0.03 s: order 4 by slope, closed at every step, work of the motor kept."""
    robot = la.robots.andrews_squeezer()
    place = [TEST_SET.index(name) for name in robot.coordinate_names]
    angles, rates, start = (np.array(IFTOMM["A03"][key])[place] for key in ("angles", "rates", "start"))
    errors = []
    for steps in (300, 600):
        run = la.simulate(robot, dt=0.03 / steps, steps=steps, integrator=la.Galerkin(order=4, tolerance=1e-12))
        errors.append([np.linalg.norm(run.q[-1] + start - angles), np.linalg.norm(run.v[-1] - rates)])
        assert run.constraint_violation.max() <= LOOSE
        balance = run.energy - run.energy[0] - 0.033 * run.q[:, robot.coordinate_index("beta")]
        assert np.abs(balance).max() <= 1e-3 * run.energy.max()
    slopes = np.log2(np.divide(*errors))
    assert np.abs(slopes - 4.0).max() <= 0.15, (slopes, errors)
    assert errors[1][0] <= 1e-6


@pytest.mark.parametrize("order", ORDERS)
def test_bricard(order):
    """IFToMM A04, an overconstrained linkage: five equations of rank four; order by slope over 1 s."""
    robot, data = la.robots.bricard(), IFTOMM["A04"]
    reference = [np.array(data[key])[[0, 2, 3]] for key in ("angles", "rates")]
    assert_order(robot, order, reference, 1.0, (20, 40) if order == 4 else (100, 200))
    run = la.simulate(robot, dt=0.01, duration=3.0, integrator=method(order))
    assert run.constraint_violation.max() <= LOOSE
    np.testing.assert_allclose(run.q[-1], data["angles"][4], atol=1e-7 if order == 4 else 2e-3)
    assert np.abs(run.energy - run.energy[0]).max() <= (1e-7 if order == 4 else 2e-3)


@pytest.mark.parametrize("entry", CLOSED, ids=NAMES)
def test_loops_of_every_robot_stay_closed(entry):
    """The violation is at the Newton tolerance at every step, and velocities fit the loops."""
    q, v = start_of(entry)
    dt = 1e-4 if entry.name == "andrews_squeezer" else 0.01
    run = la.simulate(entry.robot, q, v, dt=dt, steps=20, integrator=method(4))
    assert run.constraint_violation.max() <= LOOSE
    _, A = la.dynamics.loop_jacobian(entry.robot, run.q[-1])
    assert np.abs(A @ run.v[-1]).max() <= 1e-9 * max(1.0, np.abs(run.v[-1]).max())
    assert run.stored["multipliers"].shape == (21, len(A))


@pytest.mark.parametrize("entry", CLOSED, ids=NAMES)
def test_jacobian_of_the_loops_of_every_robot(entry):
    """dh/dt = A v, and h is as large as the definition of the joints says."""
    robot = entry.robot
    q = robot.integrate(entry.home(), 0.2 * np.random.default_rng(3).normal(size=robot.nv))
    h, A = la.dynamics.loop_jacobian(robot, q)
    assert_close(A, by_q(robot, lambda x: la.dynamics.loop_jacobian(robot, x)[0], q), 1e-9)
    # The basis of the directions in which a slider is held is free; the size of the gap is not.
    assert np.linalg.norm(h) == pytest.approx(np.linalg.norm(loop_residual(robot, q)), rel=1e-12)


@pytest.mark.parametrize("entry", CLOSED, ids=NAMES)
def test_close_loops(entry):
    """Loops that are pulled apart are closed again nearby."""
    robot, home = entry.robot, entry.home()
    pull = 0.02 * np.random.default_rng(4).normal(size=robot.nv)
    open_q = robot.integrate(home, pull)
    assert np.abs(la.dynamics.loop_jacobian(robot, open_q)[0]).max() > 1e-6
    q = la.dynamics.close_loops(robot, open_q)
    assert np.abs(la.dynamics.loop_jacobian(robot, q)[0]).max() <= 1e-12
    # Bricard's dependent equations contradict each other while it is open, which pushes it along its motion.
    reach = 6.0 if entry.name == "bricard" else 3.0
    assert np.linalg.norm(robot.difference(open_q, q)) <= reach * np.linalg.norm(pull)
    assert (la.dynamics.close_loops(robot, q) == q).all()


@pytest.mark.parametrize("name", ["four_bar", "bricard", "minitaur", "arm_exoskeleton"])
@pytest.mark.parametrize("order", ORDERS)
def test_restart_bit_for_bit(name, order):
    """With loops too, a step depends on (q, p) alone."""
    entry = next(e for e in CLOSED if e.name == name)
    run = la.simulate(entry.robot, *start_of(entry), dt=0.01, steps=12, integrator=method(order))
    for k in (1, 5, 11):
        rest = la.simulate(entry.robot, run.q[k], p=run.p[k], dt=0.01, steps=12 - k, integrator=run.integrator)
        assert (rest.q == run.q[k:]).all()
        assert (rest.p == run.p[k:]).all()
        assert (rest.stored["multipliers"][1:] == run.stored["multipliers"][k + 1 :]).all()


def test_an_open_loop_is_refused_by_name_or_closed():
    robot = la.robots.four_bar()
    options = {"dt": 0.01, "steps": 5, "integrator": method(2)}
    with pytest.raises(la.MechanismError, match=r"'closure' is open by 0\.\d+.*project=True"):
        la.simulate(robot, [0.1, 0.0, 0.0], **options)
    run = la.simulate(robot, [0.1, 0.0, 0.0], [1.0, 0.0, 0.0], project=True, **options)
    assert run.constraint_violation.max() <= LOOSE
    assert np.linalg.norm(run.q[0]) > 0.01


def test_a_velocity_that_opens_a_loop_is_refused_or_taken_off():
    """What is left is the M-orthogonal projection onto the velocities that the loops allow."""
    robot, v = la.robots.four_bar(), np.array([1.0, 0.0, 0.0])
    options = {"dt": 0.01, "steps": 5, "integrator": method(2)}
    with pytest.raises(la.MechanismError, match=r"initial velocity opens the loops.*project=True"):
        la.simulate(robot, v=v, **options)
    run = la.simulate(robot, v=v, project=True, **options)
    M, allowed = la.dynamics.mass_matrix(robot, run.q[0]), np.array([1.0, -1.0, 1.0])
    assert_close(run.v[0], allowed * (allowed @ M @ v) / (allowed @ M @ allowed), 1e-12)


@pytest.mark.parametrize("size", [1e-3, 1e6])
def test_loops_of_any_size_are_closed_to_round_off(size):
    """A rhombus pulled apart by a tenth of its size; of lengths of 1e6 m round-off leaves 1e-10 m."""
    b = la.MechanismBuilder("rhombus")
    for k, parent in enumerate(("world", "l0", "l1", "l2")):
        b.body(f"l{k}", mass=1.0 + k, com=(0.5 * size, 0, 0), inertia=0.1 * size * size)
        b.revolute(f"j{k}", parent, f"l{k}", axis="y", position=(size if k else 0.0, 0, 0))
    b.revolute("close", "l3", "l0", axis="y", position=(size, 0, 0), loop=True)
    robot = b.build()
    q = la.dynamics.close_loops(robot, np.array([0.0, 0.5, 0.5, 0.5]) * np.pi + [0.0, 0.1, 0.0, 0.0])
    h, _ = la.dynamics.loop_jacobian(robot, q)
    assert np.abs(h).max() < 1e-15 * max(size, 1e3)
    run = la.simulate(robot, q, dt=0.01 * np.sqrt(size), steps=20, integrator=la.Maximal())
    assert run.constraint_violation.max() < 1e-9 * size


def test_loops_that_cannot_be_closed():
    """A rod of 1 m cannot reach a pivot 3 m away."""
    b = la.MechanismBuilder("short")
    b.body("rod", mass=1.0, inertia=0.1)
    b.revolute("pivot", "world", "rod", axis="y")
    b.body("mark", mass=1.0, inertia=0.1)
    b.fixed("weld", "world", "mark", position=(3, 0, 0))
    b.spherical("hook", "rod", "mark", position=(1, 0, 0), loop=True)
    with pytest.raises(la.ConvergenceError, match="loops of 'short' cannot be closed") as caught:
        la.dynamics.close_loops(b.build(), [0.3], max_iterations=20)
    assert len(caught.value.residuals) == 21


@pytest.mark.parametrize("integrator", [la.RungeKutta(order=4), la.SemiImplicitEuler()], ids=lambda x: type(x).__name__)
def test_methods_for_trees_refuse_loops_and_couplings(integrator):
    """They name the joint, and a method that can."""
    name = type(integrator).__name__
    with pytest.raises(la.IntegratorError, match=rf"{name} cannot close the loop joint 'closure'; use .*Galerkin"):
        la.simulate(la.robots.four_bar(), dt=0.01, steps=1, integrator=integrator)
    b = la.robots.pendulum(2).edit()
    b.coupling("gear", "joint2", "joint1")
    with pytest.raises(la.IntegratorError, match=rf"{name} cannot keep the coupling 'gear'; use .*Galerkin"):
        la.simulate(b.build(), dt=0.01, steps=1, integrator=integrator)
