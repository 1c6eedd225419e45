"""Derivatives of steps, of the discrete action and of whole runs against central differences."""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import action_blocks, backpropagate
from tests.derivatives.maps import stepper_map
from tests.oracles.differences import assert_close, by_q, by_vector, central
from tests.oracles.random_trees import KINDS, random_state, random_tree

# One solver, so that the tests compile one kernel.
SETTINGS = {"tolerance": 1e-13, "solver": "dense"}
METHODS = {
    "order 2": la.Galerkin(order=2, **SETTINGS),
    "order 4": la.Galerkin(order=4, **SETTINGS),
    "midpoint": la.Midpoint(**SETTINGS),
}
ZOO = la.robots.catalogue()
TREES = [entry for entry in ZOO if not entry.robot.loops]
LOOPS = [entry for entry in ZOO if entry.robot.loops]
DT = 0.01
FINE = {"flyball_governor": 0.005}
"""Time steps of robots that divide longer ones, where neighbours may not be divided."""


def name_of(entry):
    return entry.name


def actuated(robot):
    """With a drive on every joint with one axis, and a thruster on the last body, where there are none."""
    if robot.nu:
        return robot
    b = robot.edit()
    for joint in robot.joints:
        if joint.nv == 1:
            b.actuator(f"drive {joint.name}", joint.name, gear=2.0)
    b.thruster("thruster", robot.body_names[-1], (0.3, -0.2, 0.1, 1.0, 2.0, 3.0))
    return b.build()


def start_of(robot, q, v, seed=1):
    """(q, p, u): a random motion about (q, v), with controls within their limits."""
    rng = np.random.default_rng(seed)
    v = v + 0.3 * rng.normal(size=robot.nv)
    most = np.array([0.9 * min(a.upper, -a.lower) for a in robot.actuators] or np.inf)
    return q, la.dynamics.mass_matrix(robot, q) @ v, np.clip(rng.normal(size=robot.nu), -most, most)


def assert_columns(actual, expected, tolerance=1e-6):
    """Each column within `tolerance` of its own largest entry, or 1e-3 of it of the largest of all."""
    size = np.abs(expected).max(axis=0)
    error = np.abs(actual - expected).max(axis=0)
    assert (error <= tolerance * np.maximum(size, 1e-3 * size.max(initial=0.0))).all(), (error / size).max()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("entry", TREES, ids=name_of)
def test_step_of_every_tree(entry, method):
    robot, integrator, dt = actuated(entry.robot), METHODS[method], FINE.get(entry.name, DT)
    n = robot.nv
    q, p, u = start_of(robot, entry.home(), entry.home_velocity())
    step = stepper_map(robot, integrator, dt)
    q1, p1 = step(q, p, u)

    def change(qpu):
        q2, p2 = step(*qpu)
        return np.concatenate([robot.difference(q1, q2), p2 - p1])

    # Momenta move as unit velocities move them: one of a finger is not to be changed as much as one of the trunk.
    M = la.dynamics.mass_matrix(robot, q)
    by_configuration = by_q(robot, lambda x: change((x, p, u)), q, 1e-4)
    by_velocity = by_vector(lambda x: change((q, p + M @ x, u)), np.zeros(n))
    A, B = la.linearize(robot, integrator, q, p, u, dt)
    assert A.shape == (2 * n, 2 * n)
    assert B.shape == (2 * n, robot.nu)
    assert_columns(A[:, :n], by_configuration)
    assert_columns(A[:, n:] @ M, by_velocity)
    assert_columns(B, by_vector(lambda x: change((q, p, x)), u))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("entry", LOOPS, ids=name_of)
def test_step_of_every_closed_loop(entry, method):
    """Along curves of states whose loops are closed; controls in all directions."""
    robot, integrator = actuated(entry.robot), METHODS[method]
    rng = np.random.default_rng(2)
    dt = 1e-4 if entry.name == "andrews_squeezer" else DT
    options = {"dt": dt, "integrator": integrator, "project": True}
    v = entry.home_velocity() + 0.3 * rng.normal(size=robot.nv)
    run = la.simulate(robot, entry.home(), v, steps=3, **options)
    q, p, u = run.q[-1], run.p[-1], rng.normal(size=robot.nu)
    step = stepper_map(robot, integrator, dt)
    q1, p1 = step(q, p, u)
    A, B = la.linearize(robot, integrator, q, p, u, dt)

    def closed(h, dq, dp):
        """A state with closed loops, h away along dq and dp."""
        x = la.dynamics.close_loops(robot, robot.integrate(q, h * dq), tolerance=1e-14)
        return x, la.simulate(robot, x, p=p + h * dp, steps=0, **options).p[0]

    _, J = la.dynamics.loop_jacobian(robot, q)
    s, V = np.linalg.svd(J)[1:]
    allowed = V[int((s > 1e-8 * s[0]).sum()) :]
    M = la.dynamics.mass_matrix(robot, q)
    for _ in range(3):
        dq, dp = rng.normal(size=len(allowed)) @ allowed, M @ rng.normal(size=robot.nv)

        def both(h, dq=dq, dp=dp):
            """Displacements at the start and at the end of the step."""
            x, y = closed(h, dq, dp)
            x1, y1 = step(x, y, u)
            parts = robot.difference(q, x), y - p, robot.difference(q1, x1), y1 - p1
            return np.concatenate(parts)

        before, after = np.split(central(both), 2)
        assert_columns((A @ before)[:, None], after[:, None])

    def change(u):
        q2, p2 = step(q, p, u)
        return np.concatenate([robot.difference(q1, q2), p2 - p1])

    assert_columns(B, by_vector(change, u, 1e-2))


# ---------------------------------------------------------------- the discrete action


@pytest.mark.parametrize("method", METHODS)
def test_action_blocks(method):
    """Symmetric without dampers, zero between branches; with p and u free, their elimination gives A and B."""
    integrator = METHODS[method]
    robot = actuated(random_tree(5, 6, ("revolute", "prismatic", "screw"), branching=0.8))
    n = robot.nv
    q, p, u = start_of(robot, *random_state(robot, 1))
    D, C = action_blocks(robot, integrator, q, p, 0 * u, DT)
    s = D.shape[0] - 1
    assert D.shape == (s + 1, n, s + 1, n)
    assert C.shape == (s + 1, n, robot.nu)
    assert s == {"order 2": 1, "order 4": 2, "midpoint": 1}[method]
    flat = D.reshape(((s + 1) * n,) * 2)
    assert np.abs(flat - flat.T).max() <= 1e-11 * np.abs(flat).max()
    # Every joint here has one axis: degree of freedom k belongs to body k, and carries the bodies above it.
    related = np.eye(n, dtype=bool)
    for k, ancestors in enumerate(robot.ancestors):
        for a in ancestors:
            if a >= 0:
                related[a, k] = related[k, a] = True
    assert (~related).any()
    assert not D.transpose(1, 3, 0, 2)[~related].any()
    assert D.transpose(1, 3, 0, 2)[related].any(axis=(1, 2)).all()
    dx = np.linalg.solve(
        D[:s, :, 1:].reshape(s * n, s * n),
        -np.hstack([D[:s, :, 0].reshape(s * n, n), np.eye(s * n, n), C[:s].reshape(s * n, -1)]),
    )
    A, B = la.linearize(robot, integrator, q, p, 0 * u, DT)
    assert_close(np.hstack([A, B])[:n], dx[-n:], 1e-10)
    dp = D[s, :, 1:].reshape(n, s * n) @ dx
    dp[:, :n] += D[s, :, 0]
    dp[:, 2 * n :] += C[s]
    assert_close(np.hstack([A, B])[n:], dp, 1e-10)


@pytest.mark.parametrize("method", METHODS)
def test_dampers_make_the_blocks_unsymmetric(method):
    robot = random_tree(5, 4, ("revolute",), damping=0.5)
    q, p, _ = start_of(robot, *random_state(robot, 1))
    D, _ = action_blocks(robot, METHODS[method], q, p, None, DT)
    flat = D.reshape((D.shape[0] * D.shape[1],) * 2)
    assert np.abs(flat - flat.T).max() > 1e-3


@pytest.mark.parametrize("name", ["four_bar", "bricard"])
def test_action_blocks_with_loops(name):
    """Loops are conservative: multipliers bend the action, which stays symmetric."""
    entry = next(e for e in LOOPS if e.name == name)
    robot, integrator = entry.robot, METHODS["order 4"]
    run = la.simulate(robot, entry.home(), np.ones(robot.nv), dt=DT, steps=3, integrator=integrator, project=True)
    D, _ = action_blocks(robot, integrator, run.q[-1], run.p[-1], None, DT)
    flat = D.reshape((3 * robot.nv,) * 2)
    assert np.isfinite(flat).all()
    assert np.abs(flat - flat.T).max() <= 1e-10 * np.abs(flat).max()


# ---------------------------------------------------------------- whole runs


def springs_and_dampers():
    robot = random_tree(9, 4, ("revolute", "spherical", "free", "prismatic"), damping=0.2, stiffness=1.0)
    b, n = robot.edit(), robot.body_names
    b.spring("spring", (n[1], (0.1, 0.2, 0.3)), (n[3], (0.3, 0.1, 0)), stiffness=20, rest_length=0.2, damping=0.5)
    return b.build()


def sprung_loop():
    """Two free bodies on loop joints with springs and dampers."""
    b = la.MechanismBuilder("sprung")
    for name in ("one", "two"):
        b.body(name, mass=1.0, com=(0.1, 0.2, -0.5), inertia=(0.2, 0.3, 0.4))
        b.free(name)
    spring = {"stiffness": 3.0, "damping": 0.4, "loop": True}
    b.revolute("hinge", "world", "one", axis="y", rest=0.3, **spring)
    b.joint("sleeve", "cylindrical", "one", "two", axis="x", rest=(0.1, -0.2), **spring)
    return b.build()


SYSTEMS = {
    "tree": lambda: random_tree(4, 5, KINDS),
    "springs and dampers": springs_and_dampers,
    "loop": la.robots.four_bar,
    "redundant loop": la.robots.bricard,
    "loops with springs": sprung_loop,
}
STEPS = 4


class Objective:
    """Sum over the states of a run of weighted centres of mass squared and momenta."""

    def __init__(self, robot):
        rng = np.random.default_rng(5)
        self.robot = robot
        self.weights, self.slopes = rng.normal(size=(STEPS + 1, 3)), rng.normal(size=(STEPS + 1, robot.nv))

    def at(self, k, q):
        return self.weights[k] @ la.dynamics.center_of_mass(self.robot, q) ** 2

    def __call__(self, run):
        return sum(self.at(k, q) for k, q in enumerate(run.q)) + (self.slopes * run.p).sum()

    def gradient(self, run):
        dq = [by_q(self.robot, lambda x, k=k: self.at(k, x), q) for k, q in enumerate(run.q)]
        return backpropagate(run, dq, self.slopes)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_gradient_of_a_run(system, method):
    """By the initial state and by controls that are held over each step."""
    robot, integrator = actuated(SYSTEMS[system]()), METHODS[method]
    rng = np.random.default_rng(3)
    objective = Objective(robot)
    options = {"dt": 0.02, "integrator": integrator, "project": bool(robot.loops)}
    # Away from its start Bricard's linkage is regular.
    first = la.simulate(robot, v=rng.normal(size=robot.nv), steps=3, **options)
    q, p, u = first.q[-1], first.p[-1], rng.normal(size=(STEPS, robot.nu))

    def value(q=q, p=p, u=u):
        return objective(la.simulate(robot, q, p=p, controls=u, steps=STEPS, **options))

    dq, dp, du = objective.gradient(la.simulate(robot, q, p=p, controls=u, steps=STEPS, **options))
    by_control = by_vector(lambda x: value(u=x.reshape(u.shape)), u.ravel(), 1e-2)
    assert_close(du.sum(axis=1), by_control.reshape(u.shape), 1e-8)
    if not robot.loops:
        assert_close(dq, by_q(robot, lambda x: value(q=x), q, 1e-3), 1e-7)
        assert_close(dp, by_vector(lambda x: value(p=x), p, 1e-3), 1e-7)
        return
    _, J = la.dynamics.loop_jacobian(robot, q)
    s, V = np.linalg.svd(J)[1:]
    allowed = V[int((s > 1e-8 * s[0]).sum()) :]
    along = rng.normal(size=len(allowed)) @ allowed
    turn = rng.normal(size=robot.nv)

    def state(h):
        x = la.dynamics.close_loops(robot, robot.integrate(q, h * along), tolerance=1e-14)
        return x, la.simulate(robot, x, p=p + h * turn, steps=0, **options).p[0]

    tangent = central(lambda h: np.concatenate([robot.difference(q, state(h)[0]), state(h)[1]]))
    assert_close(np.concatenate([dq, dp]) @ tangent, central(lambda h: value(*state(h))), 1e-7)


@pytest.mark.parametrize("method", METHODS)
def test_gradient_by_controls_at_the_nodes(method):
    """Controls that change within a step: one gradient per node."""
    robot, integrator = actuated(random_tree(4, 3, ("revolute", "spherical"))), METHODS[method]
    nodes = integrator.prepare(robot, 0.02).control_nodes
    rng = np.random.default_rng(3)
    q, v = random_state(robot, 1)
    objective = Objective(robot)
    table = rng.normal(size=(STEPS, len(nodes), robot.nu))

    def run(table):
        # Nodes are asked for in order; the end of a step and the start of the next are at the same time.
        calls = iter(table.reshape(-1, robot.nu))
        return la.simulate(robot, q, v, dt=0.02, steps=STEPS, integrator=integrator, controls=lambda t: next(calls))

    _, _, du = objective.gradient(run(table))
    assert du.shape == table.shape
    expected = by_vector(lambda x: objective(run(x.reshape(table.shape))), table.ravel(), 1e-2)
    assert_close(du, expected.reshape(table.shape), 1e-8)


# ---------------------------------------------------------------- what is refused


def test_integrators_without_derivatives():
    robot = la.robots.pendulum(2)
    q, p = robot.neutral(), np.zeros(2)
    refusals = {
        la.linearize: "RungeKutta has no Jacobians of a step; Galerkin",
        action_blocks: "no equations of a discrete action",
    }
    for derivative, message in refusals.items():
        with pytest.raises(la.IntegratorError, match=message):
            derivative(robot, la.RungeKutta(order=4), q, p)
    run = la.simulate(robot, dt=0.01, steps=2, integrator=la.RungeKutta(order=4))
    with pytest.raises(la.IntegratorError, match="RungeKutta has no Jacobians"):
        backpropagate(run, np.zeros((3, 2)), np.zeros((3, 2)))


def test_bad_shapes():
    robot = actuated(la.robots.pendulum(2))
    good = {"q": np.zeros(2), "p": np.zeros(2), "u": np.zeros(robot.nu)}
    integrator = METHODS["order 2"]
    for name in good:
        bad = good | {name: np.zeros(7)}
        with pytest.raises(la.MechanismError, match=rf"{name}: expected shape"):
            la.linearize(robot, integrator, **bad)
    with pytest.raises(la.MechanismError, match="p: entry 1"):
        la.linearize(robot, integrator, np.zeros(2), [0.0, np.nan])
    run = la.simulate(robot, dt=0.01, steps=2, integrator=integrator)
    with pytest.raises(la.IntegratorError, match=r"dq and dp must have shape \(3, 2\)"):
        backpropagate(run, np.zeros((2, 2)), np.zeros((3, 2)))


def test_with_loops_controls_must_be_held():
    robot = actuated(la.robots.four_bar())
    run = la.simulate(robot, dt=0.01, steps=2, integrator=METHODS["order 4"], controls=lambda t: np.full(robot.nu, t))
    with pytest.raises(la.IntegratorError, match="held over each step"):
        backpropagate(run, np.zeros((3, 3)), np.zeros((3, 3)))


def test_states_with_open_loops_are_refused():
    robot, integrator = la.robots.four_bar(), METHODS["order 2"]
    with pytest.raises(la.MechanismError, match="'closure' is open"):
        la.linearize(robot, integrator, [0.1, 0.0, 0.0], np.zeros(3))


@pytest.mark.parametrize("integrator", [la.Galerkin(order=2), la.Maximal()], ids=repr)
def test_controls_beyond_their_limits_change_nothing(integrator):
    """The step is that of the clipped controls, and its derivative by those that are clipped is zero."""
    b = la.MechanismBuilder.from_mechanism(la.robots.pendulum(2))
    for name in la.robots.pendulum(2).velocity_names:
        b.actuator(f"motor of {name}", name, limits=(-1.0, 2.0))
    robot, q, p = b.build(), np.array([0.4, -0.3]), np.array([0.1, 0.2])
    A, B = la.linearize(robot, integrator, q, p, [3.0, 0.5])
    same_A, same_B = la.linearize(robot, integrator, q, p, [2.0, 0.5])
    assert (same_A == A).all()
    assert (B[:, 0] == 0.0).all()
    assert (B[:, 1] == same_B[:, 1]).all()
    assert same_B[:, 0].any()


@pytest.mark.parametrize("integrator", [la.Galerkin(order=4), la.Maximal()], ids=["Galerkin", "Maximal"])
def test_calls_do_not_depend_on_those_before(integrator):
    """Steppers are kept between calls: neither other states and robots nor a call that fails may leave a trace."""
    robot, other = la.robots.pendulum(links=2), la.robots.pendulum(links=3)
    q, p = [0.3, -0.2], [0.5, 0.1]
    A, B = la.linearize(robot, integrator, q, p)
    la.linearize(robot, integrator, [1.5, 0.7], [-2.0, 3.0])
    la.linearize(other, integrator, [0.1, 0.2, 0.3], [1.0, 0.0, 0.0])
    with pytest.raises(la.MechanismError):
        la.linearize(robot, integrator, [0.1], p)
    A2, B2 = la.linearize(la.robots.pendulum(links=2), integrator, q, p)
    for found in (la.linearize(robot, integrator, q, p), (A2, B2)):
        assert np.array_equal(found[0], A)
        assert np.array_equal(found[1], B)
    assert not np.array_equal(la.linearize(robot, integrator, q, p, dt=0.02)[0], A)
