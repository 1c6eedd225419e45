"""Steps that are not accepted are bisected: what they keep, how that is recorded, and their derivatives."""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import backpropagate
from leastaction.minimal.galerkin_joints.stepper import VariationalStepper
from leastaction.step_control.bisection import LONGEST, control_weights, interpolate_controls, lengths_of, substep_after
from leastaction.step_control.energy_balance import share_of_energy
from tests.derivatives.checks import assert_relative
from tests.minimal.helpers import error_norms, method, number
from tests.minimal.test_momentum import floating_tree, resting_state
from tests.oracles.differences import by_q, by_vector

DT = 0.1
BODIES = la.Galerkin(order=4, tolerance=1e-13, interpolation="bodies")
INTEGRATORS = {"midpoint": method("midpoint"), "joints": method(4), "bodies": BODIES}


def whirling_chain():
    """Three links so fast that their steps must be divided."""
    robot = la.robots.pendulum(3)
    return robot, np.array([2.0, -1.5, 1.0]), np.array([3.0, -8.0, 10.0])


def whirling_loop():
    """A four-bar linkage that would turn round in a step."""
    robot = la.robots.four_bar()
    q = la.dynamics.close_loops(robot, [1.0, 0.3, 0.8])
    v = np.array([40.0, 0.0, 0.0])
    return robot, q, v


@pytest.fixture(scope="module", params=INTEGRATORS)
def run(request):
    robot, q, v = whirling_chain()
    controls = np.random.default_rng(3).normal(size=robot.nu)
    out = la.simulate(robot, q, v, dt=DT, steps=12, integrator=INTEGRATORS[request.param], controls=controls)
    assert 0 < (out.stored["divided"] != 0).sum() < 12
    return out


def bisected(accepts):
    """(what is recorded, lengths of the substeps) of a step whose substeps (start, length) are accepted or not."""
    substeps, substep, halvings, lengths = 1, 0, 1, []
    while substep < substeps:
        accepted = accepts(substep / substeps, 1.0 / substeps)
        if accepted:
            assert sum(lengths) == substep / substeps  # one after the other
            lengths.append(1.0 / substeps)
        substeps, substep, halvings = substep_after(substeps, substep, halvings, accepted)
    assert (substeps, substep) == (1, 1)
    return halvings, lengths


def test_substeps_fill_the_step_and_are_recorded():
    assert bisected(lambda start, length: True) == (0b10, [1.0])
    assert bisected(lambda start, length: length < 1.0) == (0b1100, [0.5, 0.5])
    assert bisected(lambda start, length: length <= (0.25 if start == 0.5 else 0.5))[0] == 0b1_1_0_1_0_0
    rng = np.random.default_rng(0)
    for _ in range(200):
        halvings, lengths = bisected(lambda start, length: rng.random() < 0.55 or length < 1 / 64)
        assert sum(lengths) == 1.0
        if halvings > 0:
            assert lengths_of(halvings) == lengths
    for damaged in (1_000_000, 1 << 62, -(1 << 63)):
        with pytest.raises(la.IntegratorError, match="by which no step is divided"):
            lengths_of(damaged)
    assert 0 < bisected(lambda start, length: length <= 1 / 16)[0] < LONGEST
    assert bisected(lambda start, length: length <= 1 / 64)[0] == -1


@pytest.mark.parametrize("nodes", [(0.5,), (0.0, 1.0), (0.0, 0.5, 1.0)])
def test_controls_of_substeps_are_those_of_the_polynomial(nodes):
    c = np.array(nodes)
    for substeps, substep in ((1, 0), (2, 0), (2, 1), (8, 5)):
        W = control_weights(nodes, substeps, substep)
        for k in range(len(c)):
            np.testing.assert_allclose(W @ c**k, ((substep + c) / substeps) ** k, atol=1e-14)
        held, own = np.full((len(c), 3), 0.1), np.zeros((len(c), 3))
        interpolate_controls(held, c, substeps, substep, own)
        assert (own == held).all()


def test_a_divided_step_is_the_chain_of_its_parts(run):
    """To the last bit: each part is a step of the same method."""
    for k in range(run.steps):
        q, p = run.q[k], run.p[k]
        lengths = lengths_of(int(run.stored["divided"][k + 1]))
        assert sum(lengths) == 1.0
        for length in lengths:
            options = {"dt": length * DT, "steps": 1, "integrator": run.integrator, "controls": run.stored["u"][0, 0]}
            part = la.simulate(run.mechanism, q, p=p, **options)
            q, p = part.q[1], part.p[1]
        assert (q == run.q[k + 1]).all()
        assert (p == run.p[k + 1]).all()


def test_runs_are_taken_up_to_the_last_bit(run):
    for k in (1, 5, 8):
        options = {"dt": DT, "steps": run.steps - k, "integrator": run.integrator, "controls": run.stored["u"][0, 0]}
        rest = la.simulate(run.mechanism, run.q[k], p=run.p[k], **options)
        assert (rest.q == run.q[k:]).all()
        assert (rest.p == run.p[k:]).all()
        assert (rest.stored["divided"][1:] == run.stored["divided"][k + 1 :]).all()


def assert_derivatives(robot, integrator, q, p, u, names, dt=DT, tolerance=2e-6, h=1e-6):
    """Of one divided step: linearize, by controls at all nodes, and by parameters, against differences."""
    stepper = integrator.prepare(robot, dt)
    assert stepper.solve(stepper.prepare_start(q), p, stepper.held(u)) is None

    def step(q, p, u, robot=robot):
        stepper = integrator.prepare(robot, dt)
        record = stepper.record(1)
        record["q"][0], record["p"][0] = stepper.prepare_start(q), p
        assert stepper.advance(record, 0, 1, stepper.held(u)[None]) == 1
        return record["q"][1].copy(), record["p"][1].copy()

    ends = step(q, p, u)

    def change(*arguments):
        q2, p2 = step(*arguments)
        return np.concatenate([robot.difference(ends[0], q2), p2 - ends[1]])

    n, s = robot.nv, np.abs(p).max()
    A, B = la.linearize(robot, integrator, q, p, u, dt)
    bar = np.random.default_rng(1).normal(size=2 * n)
    if robot.is_tree:
        assert_relative(A[:, :n], by_q(robot, lambda x: change(x, p, u), q, h), tolerance)
        assert_relative(A[:, n:], by_vector(lambda x: change(q, x, u), p, h * s), tolerance)
        nodes = np.random.default_rng(2).normal(size=(len(stepper.control_nodes), robot.nu))
        ends = step(q, p, nodes)
        by_controls = by_vector(lambda x: change(q, p, x.reshape(nodes.shape)), nodes.ravel(), h * s)
        pulled = stepper.pull_back(q, p, nodes, bar.copy())
        assert_relative(pulled.ravel(), bar @ by_controls, tolerance)
        ends = step(q, p, u)
    assert_relative(B, by_vector(lambda x: change(q, p, x), u, h * s), tolerance)
    found = la.derivatives.parameter_jacobian(robot, integrator, q, p, u, dt, parameters=names)
    for name in names:
        value = la.derivatives.parameter(robot, name)

        def other(x, name=name, value=value):
            return change(q, p, u, la.derivatives.with_parameters(robot, {name: x.reshape(value.shape)}))

        assert_relative(found[name].reshape(2 * n, -1), by_vector(other, value.ravel(), 1e-6), tolerance)


def test_derivatives_of_a_divided_step(run):
    k = int(np.argmax(run.stored["divided"])) - 1
    u = run.stored["u"][k, 0]
    assert_derivatives(run.mechanism, run.integrator, run.q[k], run.p[k], u, ["gravity"], tolerance=2e-5)


@pytest.mark.parametrize("name", INTEGRATORS)
def test_derivatives_of_a_divided_step_with_loops(name):
    robot, q, v = whirling_loop()
    start = la.simulate(robot, q, v, dt=0.1, steps=3, integrator=INTEGRATORS[name], project=True)
    assert start.stored["divided"][1] > 0
    assert np.abs(start.stored["multipliers"]).min() > 0.0
    assert_derivatives(robot, INTEGRATORS[name], q, start.p[0], np.zeros(robot.nu), ["gravity"], tolerance=1e-4)


def test_gradients_of_a_run_with_divided_steps(run):
    """The adjoint over all steps, against differences by the start."""
    robot, u = run.mechanism, run.stored["u"][0, 0]
    options = {"dt": DT, "steps": 4, "integrator": run.integrator, "controls": u}
    short = la.simulate(robot, run.q[0], p=run.p[0], **options)
    weights = np.random.default_rng(5).normal(size=(5, robot.nv))
    found = backpropagate(short, weights, np.zeros_like(weights))

    def value(q):
        return (weights * la.simulate(robot, q, p=run.p[0], **options).q).sum()

    expected = by_vector(lambda x: np.array([value(x)]), run.q[0], 1e-7)[0]
    assert_relative(found[0], expected, 1e-4)


@pytest.mark.parametrize("name", INTEGRATORS)
def test_momenta_are_exact(name):
    """A tree that tumbles through space, in divided steps: all six momenta are constant."""
    robot = floating_tree(5, bodies=4)
    q, v = resting_state(robot, 1)
    run = la.simulate(robot, q, 6.0 * v, dt=0.3, steps=20, integrator=INTEGRATORS[name])
    assert (run.stored["divided"] != 0).any()
    angular = run.momentum[:, :3]
    assert np.abs(angular - angular[0]).max() <= 1e-11 * np.linalg.norm(angular[0])


def by_substeps(stepper, record, first, last, u):
    """`Stepper.advance` by the substeps that derivatives go through."""
    for k in range(first, last):
        parts = list(stepper.substeps(record["q"][k], record["p"][k], np.array(u[k - first], order="C")))
        record["q"][k + 1], record["p"][k + 1] = parts[-1].record["q"][1], parts[-1].record["p"][1]
        record["divided"][k + 1] = 0 if len(parts) == 1 else -len(parts)
    return last


def test_derivatives_go_through_the_substeps_of_the_run(run, monkeypatch):
    """To the last bit."""
    monkeypatch.setattr(type(run.integrator.prepare(run.mechanism, DT)), "advance", by_substeps)
    robot, controls = run.mechanism, np.random.default_rng(3).normal(size=run.mechanism.nu)
    again = la.simulate(robot, run.q[0], p=run.p[0], dt=DT, steps=12, integrator=run.integrator, controls=controls)
    assert (again.q == run.q).all()
    assert (again.p == run.p).all()
    assert ((again.stored["divided"] == 0) == (run.stored["divided"] == 0)).all()


@pytest.mark.parametrize("order", ["midpoint", 2, 4])
def test_the_order_stays(order, monkeypatch):
    """Where the steps in half of the state space are divided, errors fall with the order of the method."""
    robot, q, v = la.robots.pendulum(2), np.array([1.0, -0.5]), np.array([0.0, 1.0])
    plain = VariationalStepper.run

    def run(stepper, record, first, last, u):
        for k in range(first, last):
            if (stepper.parts == 1 and record["q"][k, 0] > 0.2) or plain(
                stepper, record, k, k + 1, u[k - first :][:1]
            ) == k:
                return k
        return last

    monkeypatch.setattr(VariationalStepper, "run", run)
    monkeypatch.setattr(VariationalStepper, "advance", by_substeps)
    fine = la.simulate(robot, q, v, dt=1e-3, steps=1000, integrator=la.RungeKutta(order=4))
    reference = fine.q[::500], fine.v[::500]
    errors = []
    for count in (64, 128):
        coarse = la.simulate(robot, q, v, dt=1.0 / count, steps=count, integrator=method(order))
        assert 0.2 < (coarse.stored["divided"] == -2).mean() < 0.8
        errors.append(error_norms(robot, coarse, reference, count // 2))
    assert np.abs(np.log2(errors[0] / errors[1]) - number(order)).max() < 0.25


@pytest.mark.parametrize("name", INTEGRATORS)
def test_no_spurious_energy(name):
    """Chains of 32 links bent and moving at random, with steps far too long: the energy stays, step by step."""
    robot = la.robots.pendulum(32)
    divided = 0
    for q, v in np.random.default_rng(1).uniform(-np.pi / 2, np.pi / 2, (10, 2, 32)):
        run = la.simulate(robot, q, v, dt=0.05, steps=2, integrator=INTEGRATORS[name])
        assert np.ptp(run.energy) < 0.1 * run.kinetic_energy.max()
        divided += (run.stored["divided"] != 0).sum()
    assert divided > 0


def test_what_steps_may_gain():
    """A share of the whole, of one body in the mean, and less than that where there are many."""
    shares = [share_of_energy(la.robots.pendulum(links)) for links in (1, 20, 32, 128)]
    np.testing.assert_allclose(shares, [0.02, 0.2 / 20, 0.2 / 32, 0.2 / 128 / 4])


@pytest.mark.parametrize("name", INTEGRATORS)
@pytest.mark.parametrize("speed", [0.0, 1e-17, 1e-9])
def test_rest_is_not_divided(name, speed):
    """Round-off is no motion: hanging, held by a spring, afloat."""
    b = la.MechanismBuilder("held")
    b.body("rod", mass=1.0, com=(0.5, 0.0, 0.0), inertia=0.1)
    b.revolute("hinge", "world", "rod", axis="y", stiffness=1000.0, rest=-9.81 * 0.5 / 1000.0)
    held = b.build()
    for robot in (la.robots.pendulum(5), held, floating_tree(3, bodies=3)):
        run = la.simulate(robot, v=np.full(robot.nv, speed), dt=0.01, steps=20, integrator=INTEGRATORS[name])
        assert not run.stored["divided"].any()


def test_a_pendulum_with_long_steps_is_not_divided():
    """Ten steps a period are few, but the energy stays in bounds without help."""
    robot = la.robots.pendulum(1)
    for order in (2, 4):
        run = la.simulate(robot, [2.0], dt=0.15, steps=200, integrator=method(order))
        assert not run.stored["divided"].any()


def test_falling_does_not_hide_spurious_energy():
    """Steps are judged as someone sees them who falls along."""
    robot = floating_tree(5, bodies=4, gravity=(0, 0, -9.81))
    q, v = resting_state(robot, 1)
    fast = 6.0 * v
    slow = la.simulate(robot, q, fast, dt=0.3, steps=5, integrator=method(2))
    fast[3:6] += 100.0
    assert slow.stored["divided"].any()
    falling = la.simulate(robot, q, fast, dt=0.3, steps=5, integrator=method(2))
    assert falling.stored["divided"].any()
