"""What a run with spline joints tells: poses, twists, momenta, pictures, and gradients of where points go."""

import numpy as np
import pytest

import leastaction as la
from leastaction.dynamics.legendre import momentum_of_velocity, velocity_of_momentum
from tests.redmax.robots import chain, ring, sheet, tail


def free_tail(b):
    """A free body on the spline: all kinds of coordinates in one mechanism."""
    b.body("t", mass=0.5, com=(0, 0.1, -0.2), inertia=(0.02, 0.03, 0.01))
    b.joint("jt", "free", "l0", "t", position=(0.1, 0, -0.2))


def ball(b):
    b.body("t", mass=0.5, com=(0.1, 0, -0.2), inertia=0.02)
    b.spherical("jt", "l0", "t")


MECHANISMS = {
    "curve": lambda: chain("spline_curve", 1, tail, frames=ring(), armature=0.3),
    "surface": lambda: chain("spline_surface", 1, tail, controls=sheet()),
    "curve with a free body": lambda: chain("spline_curve", 1, free_tail, frames=ring()),
    "surface with a ball": lambda: chain("spline_surface", 1, ball, controls=sheet()),
}


def state(robot, seed=3):
    rng = np.random.default_rng(seed)
    q = robot.neutral()
    q[:2] = (2.9, q[1]) if "spline_curve" in repr(robot.joints[0]) else (0.4, 0.6)
    return robot.integrate(q, 0.3 * rng.normal(size=robot.nv)), rng.normal(size=robot.nv)


@pytest.mark.parametrize("name", MECHANISMS)
def test_momenta_are_slopes_of_the_kinetic_energy(name):
    """p = dT/dv (T is quadratic in v, so central differences are exact), and back."""
    robot = MECHANISMS[name]()
    q, v = state(robot)
    p = momentum_of_velocity(robot, q[None], v[None])[0]
    slopes = [
        0.5 * (la.dynamics.kinetic_energy(robot, q, v + e) - la.dynamics.kinetic_energy(robot, q, v - e))
        for e in np.eye(robot.nv)
    ]
    assert np.abs(p - slopes).max() <= 1e-12
    assert np.abs(velocity_of_momentum(robot, q[None], p[None])[0] - v).max() <= 1e-12
    M = la.dynamics.mass_matrix(robot, q)
    assert np.abs(M - M.T).max() <= 1e-13
    assert np.abs(M @ v - p).max() <= 1e-12


@pytest.mark.parametrize("name", MECHANISMS)
def test_twists_and_jacobians_are_rates_of_poses(name):
    robot = MECHANISMS[name]()
    q, v = state(robot)
    h, point = 1e-6, np.array([0.1, -0.2, 0.3])
    ends = [la.dynamics.body_poses(robot, robot.integrate(q, s * h * v)) for s in (1, -1)]
    rates, X = (ends[0] - ends[1]) / (2 * h), la.dynamics.body_poses(robot, q)
    for b, twist in enumerate(la.dynamics.body_twists(robot, q, v)):
        spin = X[b, :3, :3].T @ rates[b, :3, :3]
        assert np.abs([spin[2, 1], spin[0, 2], spin[1, 0]] - twist[:3]).max() <= 1e-8
        assert np.abs(X[b, :3, :3].T @ rates[b, :3, 3] - twist[3:]).max() <= 1e-8
        J = la.dynamics.body_jacobian(robot, q, robot.body_names[b], point=point)
        assert np.abs(J[3:] @ v - rates[b, :3] @ [*point, 1.0]).max() <= 1e-8


@pytest.mark.parametrize("name", MECHANISMS)
def test_all_of_a_run(name, tmp_path):
    robot = MECHANISMS[name]()
    q, v = state(robot)
    run = la.simulate(robot, q, v, dt=0.01, steps=5, integrator=la.BDF(order=2))
    coms = np.array([body.inertia.com for body in robot.bodies])
    for k in range(len(run)):
        X = la.redmax.body_poses(robot, run.q[k])
        assert (
            np.abs(run.com_poses[k, :, :3] - np.einsum("bij,bj->bi", X[:, :3, :3], coms) - X[:, :3, 3]).max() <= 1e-12
        )
    assert run.com_twists.shape == (6, len(robot.bodies), 6)
    # Twice the kinetic energy: p . v.
    assert np.abs((run.p * run.v).sum(axis=1) - 2.0 * run.kinetic_energy).max() <= 1e-12
    assert la.view.export_html(run, tmp_path / "run.html").stat().st_size > 1000
    assert la.view.export_html(robot, tmp_path / "robot.html", q=q).stat().st_size > 1000


@pytest.mark.parametrize("name", ["curve", "surface with a ball"])
def test_gradients_of_reaching(name):
    robot = MECHANISMS[name]()
    q, v = state(robot)
    objective = la.derivatives.reach("t", (0.1, 0.0, -0.2), (0.5, 0.3, -0.4))
    options = {"dt": 0.01, "steps": 6}
    _, g = la.adjoint(robot, la.BDF(order=2), objective, ["q", "v", "controls", "position:jt"], q=q, v=v, **options)

    def value(robot, q, v):
        run = la.simulate(robot, q, v, integrator=la.BDF(order=2), **options)
        return objective(run).value

    d = np.random.default_rng(5).normal(size=robot.nv)
    for name, ends in (
        ("q", lambda e: (robot, robot.integrate(q, e * d), v)),
        ("v", lambda e: (robot, q, v + e * d)),
    ):
        slope = (value(*ends(1e-5)) - value(*ends(-1e-5))) / 2e-5
        assert g[name] @ d == pytest.approx(slope, rel=1e-6, abs=1e-9)
    place = la.derivatives.parameter(robot, "position:jt")
    moved = [la.derivatives.with_parameters(robot, {"position:jt": place + e * d[:3].sum()}) for e in (1e-5, -1e-5)]
    slope = (value(moved[0], q, v) - value(moved[1], q, v)) / 2e-5
    assert g["position:jt"].sum() * d[:3].sum() == pytest.approx(slope, rel=1e-6, abs=1e-9)
