"""The exact Hessian of the Lagrangian against central differences of its gradient, and its nonzeros."""

import numpy as np
import pytest

import leastaction as la
from leastaction import optimize as opt
from leastaction.optimize.hessians.exact_hessian import ByDifferences, Exact
from tests.optimize.problems import perturbed, swing_up
from tests.optimize.test_transcription import CONSTRAINTS, COSTS, POSE, floating, lagrangian_hessian

BODIES = la.Galerkin(order=2, interpolation="bodies")
RULES = {
    "midpoint": (la.Midpoint(), {}),
    "midpoint, momenta": (la.Midpoint(), {"momenta": True}),
    "joints, 4": (la.Galerkin(order=4, interpolation="joints"), {"controls": "nodes"}),
    "joints, 4, momenta": (la.Galerkin(order=4, interpolation="joints"), {"momenta": True}),
    "bodies, 2": (BODIES, {}),
    "bodies, 4": (la.Galerkin(order=4, interpolation="bodies"), {"momenta": True}),
}


def compare(problem, exact=None, tolerance=1e-7):
    """Check the Hessian of a problem; `exact`: how many parts of it are not by differences."""
    program, z = perturbed(problem)
    multipliers = np.random.default_rng(2).normal(size=program.m)
    hessian = Exact(program)
    values = np.zeros(hessian.pattern.count)
    hessian.evaluate(z, 0.7, multipliers, values)
    found, expected = hessian.pattern.dense(values), np.triu(lagrangian_hessian(program, z, multipliers))
    stored = hessian.pattern.dense(np.ones(hessian.pattern.count)) > 0
    given = program.lower == program.upper
    for matrix in (found, expected):
        matrix[given], matrix[:, given] = 0.0, 0.0
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, atol=tolerance * scale)
    assert not (np.abs(expected) > 1e-8 * scale)[~stored].any()
    if exact is not None:
        assert sum(not isinstance(part, ByDifferences) for part in hessian.parts) == exact
    return hessian, expected


def arm(**options):
    robot, rng = la.robots.serial_arm(4), np.random.default_rng(3)
    problem = opt.Problem(robot, steps=2, limits=False, **({"duration": (0.3, 0.5)} | options))
    return problem.start(q=rng.normal(size=4), v=rng.normal(size=4)).minimize(opt.effort())


@pytest.mark.parametrize("which", RULES)
def test_dynamics_of_every_joint(which):
    """Every joint has drives of its own; those of ball and free joints turn with them."""
    integrator, options = RULES[which]
    compare(floating(integrator=integrator, **options).minimize(opt.effort()), exact=2)


OWN = ("own", "own squares", "own at knots", "own over steps", "casadi")
"""Along the tangents of ball and free joints a user's functions are left to differences."""


@pytest.mark.parametrize("which", [name for name in CONSTRAINTS if name not in OWN[1:4]])
def test_constraints(which):
    problem = floating(integrator=BODIES).minimize(opt.effort()).subject_to(CONSTRAINTS[which]())
    compare(problem, exact=2 + (which not in OWN))


@pytest.mark.parametrize("which", [name for name in COSTS if name not in OWN[1:]])
def test_costs(which):
    compare(floating(integrator=BODIES).minimize(COSTS[which]()), exact=1 + (which not in OWN))


ALONG_AXES = {
    "position": lambda body: opt.position(body, [0, 0, 0], point=(0.1, 0.2, 0)),
    "pose": lambda body: opt.pose(body, POSE),
    "clearance": lambda body: opt.clearance(body, (0.5, 0.5, 0.5), 0.1, point=(0.1, 0.2, 0.3)),
    "center of mass": lambda body: opt.center_of_mass(-1, 1),
    "centroidal momentum": lambda body: opt.centroidal_momentum(-1, 1),
    "casadi": lambda body: opt.constraint(lambda q, v, u: q * v + u[0] ** 2, -1, 1, where="steps", kind="casadi"),
}


@pytest.mark.parametrize("which", ALONG_AXES)
def test_nothing_is_left_to_differences_where_joints_have_single_axes(which):
    problem = arm()
    body = problem.mechanism.body_names[-1]
    costs = [opt.velocity(), opt.differences(), opt.momentum(), opt.tracking(np.ones(4)), opt.time()]
    problem.minimize(*costs, opt.reach(body, (1, 0, 0))).subject_to(ALONG_AXES[which](body))
    compare(problem, exact=2 + len(costs) + 2)


def test_what_is_stored_is_needed():
    hessian, expected = compare(arm(duration=0.4).minimize(opt.tracking(np.ones(4))))
    stored = hessian.pattern.dense(np.ones(hessian.pattern.count)) > 0
    free = np.abs(expected).max(axis=0) > 0
    assert (np.abs(expected) > 1e-9 * np.abs(expected).max())[stored & free[:, None] & free].mean() > 0.99


def test_small_links_are_not_taken_for_round_off():
    counts = []
    for mass in (1.0, 1e-9):
        b = la.MechanismBuilder("arm with a finger")
        for name, m in (("arm", 10.0), ("finger", mass)):
            b.body(name, inertia=la.mechanism.Inertia(m, (0.1, 0.0, 0.2), (0.02 * m, 0.03 * m, 0.01 * m)))
        b.revolute("shoulder", "world", "arm", axis="y")
        b.revolute("knuckle", "arm", "finger", axis="x", position=(0, 0, 0.4))
        problem = opt.Problem(b.build(), steps=3, duration=0.3).start(v=0).minimize(opt.effort())
        counts.append(Exact(problem.transcribe()).pattern.count)
    assert counts[0] == counts[1]


def test_springs_between_bodies():
    """They are gradients, so one difference along the multipliers is enough; their dampers are not."""
    for damping in (0.0, 0.5):
        b = la.MechanismBuilder("sprung")
        for name in ("upper", "lower"):
            b.body(name, inertia=la.mechanism.Inertia(1.0, (0.1, 0.0, -0.3), (0.02, 0.03, 0.01)))
        b.revolute("hip", "world", "upper", axis="y")
        b.revolute("knee", "upper", "lower", axis="y", position=(0, 0, -0.5))
        ends = ("world", (0.5, 0, 0.3)), ("lower", (0, 0, -0.4))
        b.spring("tendon", *ends, stiffness=40.0, rest_length=0.3, damping=damping)
        robot, rng = b.build(), np.random.default_rng(0)
        problem = opt.Problem(robot, steps=2, duration=(0.2, 0.4), integrator=BODIES).start(v=0)
        problem.guess(q=0.3 * rng.normal(size=(3, 2)))
        compare(problem.minimize(opt.effort()), exact=1 + (damping == 0.0))


def test_forces_without_second_derivatives_are_left_to_differences():
    robot = la.robots.cart_pole().replace(gravity=(0.0, 0.0, -9.0))
    builder = la.MechanismBuilder("damped")
    builder.body("ball", inertia=la.mechanism.Inertia(1.0, (0.1, 0.0, -0.3), (0.02, 0.03, 0.01)))
    builder.spherical("socket", "world", "ball", damping=0.3)
    for damped in (builder.build(), robot):
        rng = np.random.default_rng(0)
        q = damped.integrate(damped.neutral(), 0.3 * rng.normal(size=(3, damped.nv)))
        problem = opt.Problem(damped, steps=2, duration=0.3, integrator=BODIES).start(q=q[0], v=0).guess(q=q)
        compare(problem.minimize(opt.effort()), exact=1 + (damped is robot))


def test_dampers_of_joints_that_close_loops_are_left_to_differences():
    """They turn with the robot, so their forces have second derivatives that no potential tells."""
    robot = la.robots.arm_exoskeleton()
    problem = opt.Problem(robot, steps=2, duration=0.4, limits=False).start(q=la.robots.home(robot), v=0)
    compare(problem.minimize(opt.effort()))


def test_functions_in_jax():
    jnp = pytest.importorskip("jax.numpy")
    problem = swing_up(3, duration=(0.5, 1.0)).minimize(
        opt.cost(lambda q, v, u: jnp.sin(q[1]) * v[0] ** 2 + u[0] ** 2, kind="jax")
    )
    compare(problem.subject_to(opt.constraint(lambda q: jnp.cos(q) * q[0], -1, 1, kind="jax")), exact=4)
