"""Optimising through a simulation: SciPy, PyTorch and JAX see the same exact gradients."""

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

import leastaction as la
from leastaction.derivatives import SimulationObjective, gradient, reach
from tests.redmax.robots import chain

STEPS, DT = 20, 0.02


def arm():
    return chain("revolute", 2, axis="y", damping=0.1)


def objective(names=("controls",), **options):
    goal = reach("l1", (0, 0, -0.6), (0.5, 0.0, -0.6), weight=1e4)
    return SimulationObjective(arm(), la.BDF(order=2), goal, names, dt=DT, steps=STEPS, **options)


def test_gradient_of_the_vector():
    f = objective(("controls", "v", "mass:l1", "position:j1", "rotation:j0"), scale={"mass:l1": 0.1}, q=[0.1, 0.2])
    x = f.start + 0.1 * np.random.default_rng(0).normal(size=f.start.size)
    error = check_grad(lambda y: f(y)[0], lambda y: f(y)[1], x, epsilon=1e-6)
    assert error <= 1e-5 * np.linalg.norm(f(x)[1])
    assert f.unpack(f.start)["mass:l1"] == pytest.approx(1.3)
    assert np.allclose(f.pack(f.unpack(x)), x)


def test_reaching_a_target_with_scipy():
    """The arm gets to the target within a tenth of a millimetre."""
    f = objective()
    best = minimize(f, f.start, jac=True, method="L-BFGS-B", options={"maxiter": 60})
    assert best.fun <= 0.5e4 * 1e-4**2
    assert f.evaluations == best.nfev


def test_a_penalty_on_effort():
    def effort(p):
        return 0.5 * float((p["controls"] ** 2).sum()), {"controls": p["controls"]}

    f = objective(penalty=effort)
    x = np.random.default_rng(1).normal(size=f.start.size)
    plain = objective()
    assert f(x)[0] == pytest.approx(plain(x)[0] + 0.5 * x @ x)
    assert np.allclose(f(x)[1], plain(x)[1] + x)


def test_quaternions_are_no_vector():
    with pytest.raises(la.IntegratorError, match="ball and free joints"):
        SimulationObjective(chain("spherical", 1), la.BDF(), reach("l0", (0, 0, 0), (0, 0, 0)), ["q"], steps=2)


def bars(robot, run, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=run.q.shape), rng.normal(size=run.v.shape)


@pytest.mark.parametrize("kind", ["revolute", "spherical", "free"])
def test_torch(kind):
    torch = pytest.importorskip("torch")
    from leastaction.derivatives.torch import simulate

    robot = chain(kind, 2)
    rng = np.random.default_rng(2)
    q = robot.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.nv))
    U = rng.normal(size=(STEPS, robot.nu))
    tensors = [torch.tensor(x, requires_grad=True) for x in (q, np.zeros(robot.nv), U, np.array(1.0))]
    integrator = la.BDF(order=2)
    Q, V = simulate(robot, *tensors[:3], dt=DT, integrator=integrator, parameters={"mass:l0": tensors[3]})
    run = la.simulate(robot, q, dt=DT, steps=STEPS, controls=U, integrator=integrator)
    assert np.abs(Q.detach().numpy() - run.q).max() == 0.0
    bq, bv = bars(robot, run)
    ((Q * torch.tensor(bq)).sum() + (V * torch.tensor(bv)).sum()).backward()

    def value(q, v, U, mass):
        other = la.derivatives.with_parameters(robot, {"mass:l0": mass})
        run = la.simulate(other, robot.normalize(q), v, dt=DT, steps=STEPS, controls=U, integrator=integrator)
        return float((run.q * bq).sum() + (run.v * bv).sum())

    e = 1e-6
    d = rng.normal(size=robot.nv)
    ahead, behind = (value(robot.integrate(q, s * e * d), 0 * d, U, 1.0) for s in (1, -1))
    dq = (robot.integrate(q, e * d) - robot.integrate(q, -e * d)) / (2 * e)
    assert tensors[0].grad.numpy() @ dq == pytest.approx((ahead - behind) / (2 * e), rel=1e-6)
    ahead, behind = (value(q, 0 * d, U, 1.0 + s * e) for s in (1, -1))
    assert tensors[3].grad.item() == pytest.approx((ahead - behind) / (2 * e), rel=1e-5, abs=1e-6)
    assert tensors[2].grad.shape == U.shape


def test_jax():
    jax = pytest.importorskip("jax")
    from leastaction.derivatives.jax import simulation

    jax.config.update("jax_enable_x64", True)
    robot = arm()
    f = simulation(robot, la.BDF(order=2), dt=DT)
    U = np.random.default_rng(3).normal(size=(STEPS, 2))
    q, v = np.array([0.1, 0.2]), np.zeros(2)

    @jax.jit
    def loss(q, v, U):
        Q, V = f(q, v, U)
        return (Q[-1] ** 2).sum() + V[-1].sum()

    gq, _, gU = jax.grad(loss, argnums=(0, 1, 2))(q, v, U)
    run = la.simulate(robot, q, v, dt=DT, steps=STEPS, controls=U, integrator=la.BDF(order=2))
    assert float(loss(q, v, U)) == pytest.approx((run.q[-1] ** 2).sum() + run.v[-1].sum(), rel=1e-12)
    dq, dv = np.zeros((STEPS + 1, 2)), np.zeros((STEPS + 1, 2))
    dq[-1], dv[-1] = 2 * run.q[-1], 1.0
    g = gradient(run, dq, dv, ["q", "controls"])
    assert np.allclose(gq, g["q"], rtol=1e-12)
    assert np.allclose(gU, g["controls"], rtol=1e-12)


def longer_arm_goal():
    robot = arm()
    goal = reach("l1", (0, 0, -0.6), (0.5, 0.0, -0.6))
    options = {"q": [0.3, 0.2], "dt": DT, "steps": STEPS}
    names = ["position:j1", "mass:l1"]
    return robot, goal, names, options


@pytest.mark.parametrize("checkpoints", [None, 2])
def test_the_direct_part_of_an_objective_cannot_get_lost(checkpoints):
    """A point moves with the joints that carry it: an objective that forgets to say so is refused."""
    robot, goal, names, options = longer_arm_goal()

    def forgetful(run):
        value, dq, dv, _ = goal(run)
        return 2.0 * value, 2.0 * dq, dv

    with pytest.raises(la.IntegratorError, match="depends on 'position:j1' directly, and loses that part"):
        la.adjoint(robot, la.BDF(order=1), forgetful, names, checkpoints=checkpoints, **options)
    # By others it says all.
    by_mass = la.adjoint(robot, la.BDF(order=1), forgetful, ["mass:l1"], checkpoints=checkpoints, **options)[1]
    expected = la.adjoint(robot, la.BDF(order=1), goal, names, **options)[1]
    assert by_mass["mass:l1"] == pytest.approx(2.0 * expected["mass:l1"], rel=1e-12)


@pytest.mark.parametrize("checkpoints", [None, 2])
def test_objectives_are_added_and_scaled_whole(checkpoints):
    robot, goal, names, options = longer_arm_goal()
    other = reach("l0", (0, 0, -0.3), (0.1, 0.0, 0.0), step=1)

    def sum_of_values(run):
        return 2.0 * goal(run) - 0.5 * other(run) + 1.0

    forms = (sum_of_values, 2.0 * goal + -0.5 * other)
    singles = [la.adjoint(robot, la.BDF(order=1), part, names, **options) for part in (goal, other)]
    for form, more in zip(forms, (1.0, 0.0), strict=True):
        value, found = la.adjoint(robot, la.BDF(order=1), form, names, checkpoints=checkpoints, **options)
        assert value == pytest.approx(2.0 * singles[0][0] - 0.5 * singles[1][0] + more, rel=1e-12)
        for name in names:
            expected = 2.0 * singles[0][1][name] - 0.5 * singles[1][1][name]
            np.testing.assert_allclose(found[name], expected, rtol=1e-10, atol=1e-12)
