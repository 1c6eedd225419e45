"""Gradients through many robots at once, in PyTorch and JAX: those of each robot alone, and of central differences."""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import jax as with_jax
from leastaction.derivatives import torch as with_torch

DT, STEPS, ROBOTS = 0.01, 4, 3
RULE = la.Galerkin(order=2, tolerance=1e-13)


def given():
    """(robot, q, v, controls, masses) of three robots."""
    robot = la.robots.pendulum(2)
    rng = np.random.default_rng(0)
    shapes = (ROBOTS, 2), (ROBOTS, 2), (ROBOTS, STEPS, 2)
    return robot, *(rng.normal(size=shape) for shape in shapes), rng.uniform(0.5, 2.0, ROBOTS)


def test_torch():
    torch = pytest.importorskip("torch")
    robot, *arrays = given()
    weights = torch.tensor(np.random.default_rng(1).normal(size=(STEPS + 1, 2)))

    def loss(q, v, u, mass):
        states = with_torch.simulate(robot, q, v, u, dt=DT, integrator=RULE, parameters={"mass:link2": mass})
        return sum((weights * x).sum() for x in states)

    many = [torch.tensor(x, requires_grad=True) for x in arrays]
    loss(*many).backward()
    for k in range(ROBOTS):
        one = [torch.tensor(x[k], requires_grad=True) for x in arrays]
        loss(*one).backward()
        for whole, own in zip(many, one, strict=True):
            torch.testing.assert_close(whole.grad[k], own.grad, rtol=0.0, atol=1e-13)
    step = 1e-5
    ahead, behind = (loss(*many[:3], torch.tensor(arrays[3] + s * np.eye(ROBOTS)[1])) for s in (step, -step))
    assert abs(float((ahead - behind).detach()) / (2 * step) - float(many[3].grad[1])) < 1e-7


def test_torch_broadcasts():
    torch = pytest.importorskip("torch")
    robot, q, v, u, mass = given()
    shared = torch.tensor(v[0], requires_grad=True)
    masses = torch.tensor(mass[:2, None], requires_grad=True)
    states = with_torch.simulate(
        robot, torch.tensor(q), shared, torch.tensor(u[0]), dt=DT, integrator=RULE, parameters={"mass:link1": masses}
    )
    assert states[0].shape == (2, ROBOTS, STEPS + 1, 2)
    states[0][1, 2, -1, 0].backward()
    assert shared.grad.shape == (2,)
    assert float(masses.grad[0, 0]) == 0.0
    assert float(masses.grad[1, 0]) != 0.0


def test_axes_that_do_not_fit():
    torch = pytest.importorskip("torch")
    robot, q, v, *_ = given()
    with pytest.raises(la.IntegratorError, match=r"do not fit together: q \(3,\), v \(2,\)"):
        with_torch.simulate(robot, torch.tensor(q), torch.tensor(v[:2]), dt=DT, steps=1, integrator=RULE)


def test_jax_maps_over_robots():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    robot, *arrays = given()
    f = with_jax.simulation(robot, RULE, dt=DT, parameters=["mass:link2"])

    def loss(q, v, u, mass):
        return sum((x[-1] ** 2).sum() for x in f(q, v, u, {"mass:link2": mass}))

    found = jax.jit(jax.vmap(jax.grad(loss, argnums=(0, 1, 2, 3))))(*arrays)
    for k in range(ROBOTS):
        own = jax.grad(loss, argnums=(0, 1, 2, 3))(*(x[k] for x in arrays))
        for whole, single in zip(found, own, strict=True):
            np.testing.assert_allclose(whole[k], single, rtol=0.0, atol=1e-12)
    shared = jax.vmap(jax.grad(loss, argnums=3), in_axes=(0, None, None, None))(
        arrays[0], arrays[1][0], arrays[2][0], 1.0
    )
    assert shared.shape == (ROBOTS,)
    assert not np.allclose(shared[0], shared[1])


def test_gradient_of_a_batch():
    """Those that PyTorch gets, on the cores."""
    torch = pytest.importorskip("torch")
    robot, q, v, u, _ = given()
    rng = np.random.default_rng(2)
    dq, dv = rng.normal(size=(2, ROBOTS, STEPS + 1, 2))
    batch = la.batch.simulate(robot, q, v, dt=DT, steps=STEPS, controls=u, integrator=RULE)
    found = la.derivatives.batch_gradient(batch, dq, dv, u)
    tensors = [torch.tensor(x, requires_grad=True) for x in (q, v, u)]
    states = with_torch.simulate(robot, *tensors, dt=DT, integrator=RULE)
    sum((torch.tensor(w) * x).sum() for w, x in zip((dq, dv), states, strict=True)).backward()
    for own, tensor in zip(found, tensors, strict=True):
        np.testing.assert_allclose(own, tensor.grad.numpy(), rtol=0.0, atol=1e-11)
    with pytest.raises(la.IntegratorError, match="dv: expected numbers of shape"):
        la.derivatives.batch_gradient(batch, dq, dv[:2], u)
    coarse = la.batch.simulate(robot, q, v, dt=DT, steps=STEPS, controls=u, integrator=RULE, every=2)
    with pytest.raises(la.IntegratorError, match="every=1"):
        la.derivatives.batch_gradient(coarse, dq[:, :3], dv[:, :3], u)
