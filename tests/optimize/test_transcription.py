"""Derivatives of nonlinear programs against central differences, and nonzeros that are structural ones."""

import numpy as np
import pytest

import leastaction as la
from leastaction import optimize as opt
from leastaction.optimize.hessians.lagrangian_hessian import Differences, GaussNewton
from tests.optimize.problems import differences, jacobian_and_differences, limb, perturbed, swing_up

POSE = np.eye(4)
POSE[:3, 3] = 0.3, -0.2, -0.5


def own_numpy(q, v, u):
    return (
        [np.sum(v * v) + u[0] * q[-1]],
        np.append(np.zeros(len(v) - 1), u[0])[None],
        2.0 * v[None],
        np.append(q[-1], 0 * u[1:])[None],
    )


def quaternion_numpy(q):
    """Second diagonal entry of a rotation, by the quaternion of the base; along the turn w it changes by R [w] e_y."""
    from scipy.spatial.transform import Rotation

    R = Rotation.from_quat(q[3:7], scalar_first=True).as_matrix()
    slope = np.zeros((1, 12))
    slope[0, 0], slope[0, 2] = R[1, 2], -R[1, 0]
    return [R[1, 1]], slope


CONSTRAINTS = {
    "position": lambda: opt.position("tool", [0, 0, 0], point=(0.1, 0, 0)),
    "position between": lambda: opt.position("tool", lower=[0, -1, -np.inf], upper=1, at=[0, -1]),
    "pose": lambda: opt.pose("tool", POSE),
    "rotation": lambda: opt.pose("lower", POSE[:3, :3], at=-1),
    "clearance": lambda: opt.clearance("tool", (0.5, 0.5, 0.5), 0.1, body_radius=0.05),
    "center of mass": lambda: opt.center_of_mass([-1, -1, -np.inf], [1, 1, np.inf]),
    "centroidal momentum": lambda: opt.centroidal_momentum(-1.0, 1.0),
    "own at knots": lambda: opt.constraint(quaternion_numpy, -1, 1),
    "own over steps": lambda: opt.constraint(own_numpy, -1, 1, where="steps"),
    "casadi": lambda: opt.constraint(lambda q: q[:3] * q[3:6], -1, 1, kind="casadi"),
}
COSTS = {
    "effort": lambda: opt.effort(0.1),
    "velocity": lambda: opt.velocity(np.arange(12.0)),
    "differences": lambda: opt.differences(),
    "momentum": lambda: opt.momentum([1, 2, 3, 4, 5, 6]),
    "tracking": lambda: opt.tracking(limb().neutral()),
    "terminal": lambda: opt.terminal(limb().neutral()),
    "reach": lambda: opt.reach("tool", (1, 0, 0)),
    "time": lambda: opt.time(2.0),
    "own": lambda: opt.cost(own_numpy),
    "own squares": lambda: opt.cost(lambda q, v, u: q[0] * v[:3] + u[0], kind="casadi", squares=True),
}
INTEGRATORS = {
    "midpoint": (la.Midpoint(), {}),
    "midpoint, momenta": (la.Midpoint(), {"momenta": True}),
    "simpson, momenta": (la.Galerkin(order=4, interpolation="joints"), {"momenta": True}),
    "simpson, nodes": (la.Galerkin(order=4, interpolation="joints"), {"controls": "nodes"}),
    "trapezoid, held": (la.Galerkin(order=2, interpolation="joints"), {"controls": "held"}),
    "bodies 2, nodes": (la.Galerkin(order=2), {"controls": "nodes"}),
    "bodies 4": (la.Galerkin(order=4), {}),
    "bodies 4, momenta": (la.Galerkin(order=4), {"momenta": True}),
}


def floating(seed=1, **options):
    """Two steps of the limb, with all that a problem can have."""
    robot = limb()
    problem = opt.Problem(robot, steps=2, **({"duration": (0.3, 0.5)} | options))
    rng = np.random.default_rng(seed)
    problem.start(q=robot.random_configuration(rng), v=rng.normal(size=robot.nv))
    problem.finish(v=rng.normal(size=robot.nv))
    return problem.guess(q=robot.integrate(problem.start_position, 0.3 * rng.normal(size=(3, robot.nv))))


@pytest.mark.parametrize("which", INTEGRATORS)
def test_dynamics_of_every_joint_by_every_unknown(which):
    integrator, options = INTEGRATORS[which]
    program, z = perturbed(floating(integrator=integrator, **options).minimize(opt.effort()))
    exact, found = jacobian_and_differences(program, z)
    np.testing.assert_allclose(exact, found, atol=1e-6 * np.abs(found).max())
    stored = program.jacobian_pattern.dense(np.ones(program.jacobian_pattern.count)) > 0
    assert not (np.abs(found) > 1e-7 * np.abs(found).max())[~stored].any()
    assert np.abs(exact)[stored].astype(bool).mean() > 0.99  # what is stored is needed


@pytest.mark.parametrize("controls", ["held", "linear", "nodes"])
@pytest.mark.parametrize("integrator", [la.ImplicitTrapezoidal(), la.HermiteSimpson()], ids=["trapezoid", "simpson"])
def test_defects_of_collocation(integrator, controls):
    program, z = perturbed(swing_up(3, integrator=integrator, controls=controls, duration=(0.5, 1.0)))
    exact, found = jacobian_and_differences(program, z)
    np.testing.assert_allclose(exact, found, atol=1e-6 * np.abs(found).max())
    stored = program.jacobian_pattern.dense(np.ones(program.jacobian_pattern.count)) > 0
    assert not (np.abs(found) > 1e-8)[~stored].any()


@pytest.mark.parametrize("which", CONSTRAINTS)
def test_constraints(which):
    program, z = perturbed(floating().minimize(opt.effort()).subject_to(CONSTRAINTS[which]()))
    exact, found = jacobian_and_differences(program, z)
    np.testing.assert_allclose(exact, found, atol=1e-6 * np.abs(found).max())


@pytest.mark.parametrize("which", COSTS)
def test_costs(which):
    program, z = perturbed(floating().minimize(COSTS[which]()))
    gradient = np.zeros(program.n)
    program.gradient(z, gradient)
    found = differences(lambda z, out: out.fill(program.cost(z)), z, 1)[0]
    np.testing.assert_allclose(gradient, found, atol=1e-6 * max(np.abs(found).max(), 1.0))


def test_functions_in_jax():
    jnp = pytest.importorskip("jax.numpy")
    problem = swing_up(3).minimize(opt.cost(lambda q, v, u: jnp.sin(q[1]) * v[0] + u[0] ** 2, kind="jax"))
    program, z = perturbed(problem.subject_to(opt.constraint(lambda q: jnp.cos(q) * q[0], -1, 1, kind="jax")))
    exact, found = jacobian_and_differences(program, z)
    np.testing.assert_allclose(exact, found, atol=1e-7 * np.abs(found).max())
    gradient = np.zeros(program.n)
    program.gradient(z, gradient)
    found = differences(lambda z, out: out.fill(program.cost(z)), z, 1)[0]
    np.testing.assert_allclose(gradient, found, atol=1e-7 * np.abs(found).max())


def test_bounds_of_velocities():
    program, z = perturbed(swing_up(4, duration=(1.0, 2.0)).bounds(v={"pivot": (-3, 3)}))
    exact, found = jacobian_and_differences(program, z)
    np.testing.assert_allclose(exact, found, atol=1e-7 * np.abs(found).max())
    assert program.describe(program.m - 1) == "velocity (pivot) at step 3"
    assert program.c_upper[-1] == 3.0


def test_sizes_of_dmoc_and_of_fan():
    """Villanueva 2025: q and u alone; Fan 2018, Table 1: (4 N + 3) n unknowns and 3 N n equations, and the two ends."""
    robot, N, n = la.robots.double_pendulum(), 7, 2
    sizes = []
    for integrator, momenta in ((la.Midpoint(), False), (la.Galerkin(order=4), True)):
        problem = opt.Problem(robot, steps=N, dt=0.1, integrator=integrator, momenta=momenta).start(v=0).finish(v=0)
        program = problem.minimize(opt.effort()).transcribe()
        sizes.append((program.n, program.m))
    assert sizes == [((N + 1) * n + N * n, (N + 1) * n), ((4 * N + 3) * n, 3 * N * n + 2 * n)]


def test_branches_do_not_meet():
    """Degrees of freedom on different branches have no nonzeros in common."""
    program, _ = perturbed(floating(duration=0.4).minimize(opt.effort()))
    stored = program.jacobian_pattern.dense(np.ones(program.jacobian_pattern.count)) > 0
    names = list(program.mechanism.velocity_names)
    row = program.kept[0, 0, names.index("elbow")]
    assert not stored[row, program.layout.q[0, names.index("wag")]]
    assert stored[row, program.layout.q[1, names.index("reach")]]


def lagrangian_hessian(program, z, multipliers):
    """By central differences of the gradient."""
    return differences(lambda z, out: program.lagrangian_gradient(z, 0.7, multipliers, out), z, program.n, 1e-5)


@pytest.mark.parametrize("options", [{}, {"duration": 0.4}], ids=["free time", "given time"])
def test_hessian_by_differences(options):
    problem = floating(**options).minimize(opt.velocity(), opt.momentum())
    program, z = perturbed(problem.subject_to(opt.position("tool", [0, 0, 0])))
    multipliers = np.random.default_rng(2).normal(size=program.m)
    hessian = Differences(program)
    values = np.zeros(hessian.pattern.count)
    hessian.evaluate(z, 0.7, multipliers, values)
    upper = hessian.pattern.dense(values)
    expected = np.triu(lagrangian_hessian(program, z, multipliers))
    moving = program.lower < program.upper
    expected[~moving] = upper[~moving] = 0.0
    expected[:, ~moving] = upper[:, ~moving] = 0.0
    np.testing.assert_allclose(upper, expected, atol=2e-5 * np.abs(expected).max())
    assert len(hessian.coloured.directions) < program.n  # several unknowns are moved at once


def test_gauss_newton_is_exact_for_linear_residuals():
    program, z = perturbed(swing_up(4).minimize(opt.velocity(), opt.tracking([0.1, 0.2])))
    hessian = GaussNewton(program)
    values = np.zeros(hessian.pattern.count)
    hessian.evaluate(z, 0.7, np.zeros(program.m), values)
    expected = lagrangian_hessian(program, z, np.zeros(program.m))
    np.testing.assert_allclose(hessian.pattern.dense(values), np.triu(expected), atol=1e-6)


def servos(kv=2.0, **options):
    """A double pendulum whose servos are weak beside what they are told; with one whose force has no limits."""
    b = la.robots.double_pendulum().edit()
    b.position_servo("shoulder", "joint1", kp=300.0, kv=kv, force_limits=(-40.0, 40.0))
    b.position_servo("elbow", "joint2", kp=200.0, kv=kv)
    problem = opt.Problem(b.build(), steps=16, **({"duration": 0.8} | options))
    return problem.start(q=[0.1, 0.2], v=0).minimize(opt.effort(1e-3), opt.velocity(0.1))


@pytest.mark.parametrize("integrator", [la.Midpoint(), la.Galerkin(order=4)], ids=["midpoint", "simpson"])
def test_servos_that_reach_the_limits_of_their_force(integrator):
    """At random they do; derivatives by controls are stored all the same."""
    program, z = perturbed(servos(integrator=integrator, duration=(0.5, 1.0)), scale=0.02)
    exact, found = jacobian_and_differences(program, z)
    np.testing.assert_allclose(exact, found, atol=1e-6 * np.abs(found).max())
    assert np.abs(exact[: program.first_path, program.layout.u[:, 0]]).max() > 0.1


@pytest.mark.parametrize("solver", ["ipopt", "horizon"])
def test_plans_keep_to_the_limits_of_servos(solver):
    """And so move as the servo with its limits does."""
    solution = servos().finish(q=[0.8, -0.4], v=0).solve(solver=solver)
    assert solution.success, str(solution)
    q, u = 0.5 * (solution.q[1:, 0] + solution.q[:-1, 0]), solution.u[:, 0, 0]
    v = np.diff(solution.q[:, 0]) / solution.trajectory.dt
    force = 300.0 * (u - q) - 2.0 * v
    assert np.abs(force).max() == pytest.approx(40.0, abs=1e-4)  # it needs all of it
    np.testing.assert_allclose(solution.replay().q, solution.q, atol=1e-7)


@pytest.mark.parametrize("which", ["gauss-newton", "exact"])
def test_derivatives_use_their_memory_again(which):
    """Of a second motion: what is allocated on the way is small beside the nonzeros."""
    import tracemalloc

    from leastaction.optimize.hessians.hessian_choice import HESSIANS

    problem = opt.examples.nao(10)
    program = problem.transcribe()
    z, hessian = problem.initial_unknowns(program), HESSIANS[which](program)
    gradient, jacobian = np.zeros(program.n), np.zeros(program.jacobian_pattern.count)
    values, multipliers = np.zeros(hessian.pattern.count), np.ones(program.m)

    def evaluate(z):
        program.gradient(z, gradient)
        program.jacobian(z, jacobian)
        hessian.evaluate(z, 1.0, multipliers, values)

    evaluate(z)
    tracemalloc.start()
    evaluate(z + 1e-3)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < jacobian.nbytes
