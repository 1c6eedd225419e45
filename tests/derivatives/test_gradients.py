"""Gradients of runs by state, controls and parameters against central differences, for every integrator with them."""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import SimulationObjective, adjoint, gradient, parameter, reach, with_parameters
from leastaction.mechanism import Box, MechanismBuilder, Plane
from tests.oracles.differences import by_q, by_vector, directions

DT = 0.01
STEPS = 5
METHODS = {
    "BDF1": la.BDF(order=1),
    "BDF2": la.BDF(order=2),
    "SDIRK2": la.SDIRK2(),
    "Galerkin 2": la.Galerkin(order=2, tolerance=1e-13),
    "Galerkin 4": la.Galerkin(order=4, tolerance=1e-13),
    "Midpoint": la.Midpoint(tolerance=1e-13),
    "Maximal 1": la.Maximal(order=1, tolerance=1e-13),
    "Maximal 2": la.Maximal(order=2, tolerance=1e-13),
}
VARIATIONAL = ("Galerkin 2", "Galerkin 4", "Midpoint", "Maximal 2")


def damped_chain():
    """Sliders, hinges and balls with springs and dampers, a drive's inertia, a spring between bodies, motors."""
    b = MechanismBuilder("chain")
    b.body("cart", mass=2.0)
    b.prismatic("rail", "world", "cart", axis="x", stiffness=3.0, damping=0.5)
    b.body("arm", mass=1.0, com=(0.1, 0.0, -0.5), inertia=(0.2, 0.1, 0.15))
    b.revolute("pivot", "cart", "arm", axis="y", stiffness=2.0, damping=0.3, armature=0.1)
    b.body("bob", mass=0.5, com=(0.0, 0.1, -0.3), inertia=(0.02, 0.03, 0.04))
    b.joint("ball", "spherical", "arm", "bob", position=(0.0, 0.0, -1.0), damping=0.05)
    b.spring("rope", ("world", (1, 0, 0)), ("bob", (0, 0, -0.4)), stiffness=5.0, rest_length=0.5, damping=0.2)
    b.actuator("motor", "pivot", gear=2.0)
    b.actuator("drive", "rail")
    robot = b.build()
    rng = np.random.default_rng(1)
    return robot, robot.integrate(robot.neutral(), 0.4 * rng.normal(size=robot.nv)), 0.8 * rng.normal(size=robot.nv)


def floating_pair():
    """A free body with a hinged one: split free joints in joint coordinates, and nothing that is fixed."""
    b = MechanismBuilder("pair")
    b.body("hull", mass=1.5, com=(0.05, 0.0, 0.1), inertia=(0.2, 0.3, 0.25))
    b.free("hull")
    b.body("flap", mass=0.4, com=(0.2, 0.0, 0.0), inertia=(0.01, 0.02, 0.02))
    b.revolute("hinge", "hull", "flap", axis=(0, 1, 0), position=(0.3, 0.1, 0.0), stiffness=1.0)
    robot = b.build()
    rng = np.random.default_rng(2)
    return robot, robot.integrate(robot.neutral(), 0.5 * rng.normal(size=robot.nv)), rng.normal(size=robot.nv)


class Sum:
    """A random linear function of all positions (along the tangent) and velocities of a run."""

    def __init__(self, robot, base):
        rng = np.random.default_rng(5)
        self.base = base
        self.cq, self.cv = rng.normal(size=(2, len(base), robot.nv))

    def __call__(self, run):
        moved = [run.mechanism.difference(x, y) for x, y in zip(self.base.q, run.q, strict=True)]
        return float((self.cq * moved).sum() + (self.cv * run.v).sum()), self.cq, self.cv


def assert_gradients(robot, integrator, q, v, names, tolerance, h, **options):
    """Of `Sum`, by all names, whole and with checkpoints; positions and velocities too."""
    rng = np.random.default_rng(4)
    start = {"q": q, "v": v, "controls": rng.normal(size=(STEPS, robot.nu)), "dt": DT, "steps": STEPS, **options}
    base = la.simulate(robot, integrator=integrator, **start)
    objective = Sum(robot, base)

    def value(mechanism=robot, **change):
        return objective(la.simulate(mechanism, integrator=integrator, **(start | change)))[0]

    total, found = adjoint(robot, integrator, objective, names, **start)
    assert total == pytest.approx(objective(base)[0], rel=1e-14)
    for name in names:
        d = directions(found[name].size)
        if name == "q":
            expected = by_q(robot, lambda x: value(q=x), q, h, d)
        elif name in ("v", "controls"):
            x = start[name]
            expected = by_vector(lambda y, n=name, x=x: value(**{n: y.reshape(x.shape)}), x.ravel(), 10 * h, d)
        else:
            x = parameter(robot, name)

            def other(y, n=name, x=x):
                return value(with_parameters(robot, {n: y.reshape(x.shape)}))

            expected = by_vector(other, x.ravel(), h, d)
        size = np.abs(expected).max()
        assert size > 0.0, name
        np.testing.assert_allclose(d @ found[name].ravel(), expected, atol=tolerance * size, rtol=0, err_msg=name)
    cut = adjoint(robot, integrator, objective, names, checkpoints=2, **start)[1]
    # Runs of Maximal are gone back by solving their steps again, to its tolerance; small gradients show it.
    same = 2e-8 if isinstance(integrator, la.Maximal) else 0.0
    for name in names:
        np.testing.assert_allclose(cut[name], found[name], rtol=0, atol=same * np.abs(found[name]).max(), err_msg=name)


SPRINGY = ["stiffness:pivot", "damping:rail", "stiffness:rope", "rest:rope", "armature:pivot"]
INERTIAL = ["mass:bob", "com:arm", "inertia:arm", "position:ball", "rotation:pivot", "gravity"]


@pytest.mark.parametrize("method", METHODS)
def test_a_chain_with_springs(method):
    robot, q, v = damped_chain()
    names = ["q", "v", "controls", *SPRINGY, *INERTIAL]
    assert_gradients(robot, METHODS[method], q, v, names, 1e-6, 1e-4)


@pytest.mark.parametrize("method", ["BDF2", *VARIATIONAL])
def test_free_bodies(method):
    robot, q, v = floating_pair()
    names = ["q", "v", "controls", "mass:flap", "com:hull", "position:hinge", "stiffness:hinge"]
    assert_gradients(robot, METHODS[method], q, v, names, 1e-6, 1e-4)


@pytest.mark.parametrize("method", ["BDF2", *VARIATIONAL])
def test_a_closed_loop(method):
    """Where a parameter opens the loop the start follows, as with `project=True`."""
    robot, integrator = la.robots.four_bar(), METHODS[method]
    run = la.simulate(
        robot, la.robots.home(robot), np.ones(3), dt=DT, steps=3, integrator=la.Galerkin(order=4), project=True
    )
    names = ["v", "controls", f"mass:{robot.body_names[1]}", f"position:{robot.joint_names[1]}"]
    names.append(f"position:{robot.loops[0].name}")
    assert_gradients(robot, integrator, run.q[-1], run.v[-1], names, 1e-6, 1e-4, project=True)


# ---------------------------------------------------------------- contact


def sliding_box():
    """A box that slides, tilts and just touches the ground, with thrusters."""
    b = MechanismBuilder("box")
    b.body("box", mass=1.2, inertia=(0.02, 0.03, 0.025), shapes=Box((0.4, 0.3, 0.2), name="skin", friction=0.5))
    b.free("box")
    b.thruster("jet", "box", (0, 0, 0.1, 1.0, 0.5, 0.2))
    b.add_shape("world", Plane(friction=0.3, name="floor"))
    robot = b.build()
    q = robot.neutral()
    q[2] = 0.1005
    return robot, q, np.array([0.1, 0.2, 0.4, 0.6, 0.3, -0.2])


@pytest.mark.parametrize("order", [1, 2])
def test_smoothed_contact(order):
    """By state, controls, mass, friction and size: all that a robot on the ground is tuned by."""
    robot, q, v = sliding_box()
    integrator = la.Maximal(order=order, smoothing=1e-3)
    run = la.simulate(robot, q, v, dt=DT, steps=STEPS, integrator=integrator)
    assert len(run.stored["contacts"])
    names = ["q", "v", "controls", "mass:box", "com:box", "friction:box/skin", "size:box/skin", "gravity"]
    assert_gradients(robot, integrator, q, v, names, 1e-4, 1e-5)


# ---------------------------------------------------------------- the same numbers through every door


def swing():
    robot = la.robots.pendulum(2)
    return robot, np.array([0.6, -0.3]), np.array([0.4, 1.0])


def bars(run):
    rng = np.random.default_rng(7)
    return rng.normal(size=run.q.shape), rng.normal(size=run.v.shape)


DOORS = {
    **{name: (swing, METHODS[name], ["mass:link1", "position:joint2"]) for name in ("BDF2", *VARIATIONAL)},
    "contact": (sliding_box, la.Maximal(smoothing=1e-3), ["mass:box", "friction:box/skin", "size:box/skin"]),
}


def expected_gradients(robot, integrator, q, v, u, names):
    from leastaction.derivatives.ambient import from_tangent, to_tangent

    run = la.simulate(robot, q, v, controls=u, dt=DT, steps=STEPS, integrator=integrator)
    bq, bv = bars(run)
    found = gradient(run, to_tangent(robot, run.q, bq), bv, ["q", "v", "controls", *names])
    return run, bq, bv, found | {"q": from_tangent(robot, run.q[0], found["q"])}


@pytest.mark.parametrize("door", DOORS)
def test_torch(door):
    torch = pytest.importorskip("torch")
    from leastaction.derivatives.torch import simulate

    make, integrator, names = DOORS[door]
    robot, q, v = make()
    u = np.random.default_rng(3).normal(size=(STEPS, robot.nu))
    values = {name: torch.tensor(parameter(robot, name), requires_grad=True) for name in names}
    tensors = [torch.tensor(x, requires_grad=True) for x in (q, v, u)]
    Q, V = simulate(robot, *tensors, dt=DT, integrator=integrator, parameters=values)
    run, bq, bv, expected = expected_gradients(robot, integrator, q, v, u, names)
    assert np.array_equal(Q.detach().numpy(), run.q)
    assert np.array_equal(V.detach().numpy(), run.v)
    ((Q * torch.tensor(bq)).sum() + (V * torch.tensor(bv)).sum()).backward()
    for name, tensor in zip(("q", "v", "controls", *names), (*tensors, *values.values()), strict=True):
        np.testing.assert_allclose(tensor.grad.numpy(), expected[name], rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("door", DOORS)
def test_jax(door):
    jax = pytest.importorskip("jax")
    from leastaction.derivatives.jax import simulation

    jax.config.update("jax_enable_x64", True)
    make, integrator, names = DOORS[door]
    robot, q, v = make()
    u = np.random.default_rng(3).normal(size=(STEPS, robot.nu))
    run, bq, bv, expected = expected_gradients(robot, integrator, q, v, u, names)
    f = simulation(robot, integrator, dt=DT, parameters=names)

    @jax.jit
    def loss(q, v, u, values):
        Q, V = f(q, v, u, values)
        return (Q * bq).sum() + (V * bv).sum()

    values = {name: jax.numpy.asarray(parameter(robot, name)) for name in names}
    total, found = jax.value_and_grad(loss, argnums=(0, 1, 2, 3))(q, v, u, values)
    assert float(total) == pytest.approx((run.q * bq).sum() + (run.v * bv).sum(), rel=1e-12)
    for name, ours in zip(("q", "v", "controls"), found, strict=False):
        np.testing.assert_allclose(ours, expected[name], rtol=1e-12, atol=1e-12, err_msg=name)
    for name in names:
        np.testing.assert_allclose(found[3][name], expected[name], rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("method", ["BDF2", "Galerkin 4"])
def test_turns_through_the_bridge(method):
    """A joint that is turned already: the change of a rotation vector is not a turn on top of it."""
    torch = pytest.importorskip("torch")
    from leastaction.derivatives.torch import simulate

    robot, q, v = damped_chain()
    turn = np.array([0.4, -0.3, 0.5])

    def total(x):
        other = with_parameters(robot, {"rotation:pivot": x})
        run = la.simulate(other, q, v, dt=DT, steps=STEPS, integrator=METHODS[method])
        return float((run.q * bq).sum() + (run.v * bv).sum())

    x = torch.tensor(turn, requires_grad=True)
    Q, V = simulate(
        robot, torch.tensor(q), torch.tensor(v), dt=DT, steps=STEPS, integrator=METHODS[method],
        parameters={"rotation:pivot": x},
    )  # fmt: skip
    rng = np.random.default_rng(7)
    bq, bv = rng.normal(size=Q.shape), rng.normal(size=V.shape)
    ((Q * torch.tensor(bq)).sum() + (V * torch.tensor(bv)).sum()).backward()
    expected = by_vector(total, turn, 1e-4)
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


def test_transforms_of_pytorch():
    """`torch.func`: many robots by vmap, gradients of each, and whole Jacobians, as from `backward`."""
    torch = pytest.importorskip("torch")
    from leastaction.derivatives.torch import simulate

    robot, q, v = swing()
    Q, V = (torch.tensor(x + 0.1 * np.arange(3)[:, None]) for x in (q, v))

    def last(q, v):
        return simulate(robot, q, v, dt=DT, steps=3, integrator=METHODS["BDF2"])[0][..., -1, :]

    def loss(q, v):
        return last(q, v).square().sum()

    rows = torch.stack([last(q, v) for q, v in zip(Q, V, strict=True)])
    np.testing.assert_array_equal(torch.func.vmap(last)(Q, V), rows)
    np.testing.assert_array_equal(torch.func.vmap(last, in_dims=(0, None))(Q, V[0])[0], rows[0])
    tensors = [x.clone().requires_grad_() for x in (Q, V)]
    loss(*tensors).backward()
    found = torch.func.vmap(torch.func.grad(loss, argnums=(0, 1)))(Q, V)
    for ours, x in zip(found, tensors, strict=True):
        np.testing.assert_allclose(ours, x.grad, rtol=1e-13)
    jacobian = torch.autograd.functional.jacobian(lambda v: last(Q[0], v), V[0])
    np.testing.assert_allclose(torch.func.jacrev(lambda v: last(Q[0], v))(V[0]), jacobian, rtol=1e-13)
    (slope,) = torch.autograd.grad(loss(*tensors), tensors[1], create_graph=True)
    with pytest.raises(la.IntegratorError, match="no second ones"):
        slope.sum().backward()
    # Gradients of linear functions of a run depend on its arguments by the run alone.
    with pytest.raises(la.IntegratorError, match="no second ones"):
        torch.autograd.functional.hessian(lambda v: last(Q[0], v).sum(), V[0])
    with pytest.raises(la.IntegratorError, match="forward mode"):
        torch.func.jvp(lambda v: last(Q[0], v), (V[0],), (V[0],))


def test_bridges_refuse_at_the_call():
    """Not in the backward pass, where the run is long over."""
    robot, q, v = swing()
    torch = pytest.importorskip("torch")
    from leastaction.derivatives.torch import simulate

    state = torch.tensor(q), torch.tensor(v)
    with pytest.raises(la.IntegratorError, match="RungeKutta has no adjoint"):
        simulate(robot, *state, dt=DT, steps=3, integrator=la.RungeKutta(order=4))
    with pytest.raises(la.MechanismError, match="unknown body 'link9'"):
        simulate(robot, *state, dt=DT, steps=3, integrator=la.BDF(), parameters={"mass:link9": torch.tensor(1.0)})
    with pytest.raises(la.IntegratorError, match=r"gravity: expected shape \(3,\), got \(2,\)"):
        simulate(robot, *state, dt=DT, steps=3, integrator=la.BDF(), parameters={"gravity": torch.ones(2)})
    with pytest.raises(la.IntegratorError, match="give either controls or steps"):
        simulate(robot, *state, dt=DT, integrator=la.BDF())
    with pytest.raises(la.IntegratorError, match=r"controls: expected shape \(steps, 2\)"):
        simulate(robot, *state, torch.zeros(5), dt=DT, integrator=la.BDF())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (([0.0] * 3, [0.0] * 2), r"q: expected shape \(2,\), got \(3,\)"),
        (([0.0] * 2, [0.0]), r"v: expected shape \(2,\), got \(1,\)"),
        (("ab", [0.0] * 2), "q: expected an array of numbers, got 'ab'"),
        (([0.0] * 2, [0.0] * 2, "u"), "controls: expected an array of numbers, got 'u'"),
        (([0.0] * 2, [0.0] * 2, None, 3), "parameters: expected values by names, got 3"),
    ],
)
def test_jax_refuses_wrong_arrays_before_the_run(given, says):
    pytest.importorskip("jax")
    from leastaction.derivatives.jax import simulation

    f = simulation(la.robots.pendulum(links=2), la.Galerkin(order=2), dt=0.01, steps=3)
    with pytest.raises(la.LeastActionError, match=says):
        f(*given)


def test_jax_refuses_when_it_is_made():
    pytest.importorskip("jax")
    from leastaction.derivatives.jax import simulation

    robot, q, v = swing()
    with pytest.raises(la.IntegratorError, match="RungeKutta has no adjoint"):
        simulation(robot, la.RungeKutta(order=4), dt=DT)
    with pytest.raises(la.MechanismError, match="unknown body 'link9'"):
        simulation(robot, la.BDF(), dt=DT, parameters=["mass:link9"])
    f = simulation(robot, la.BDF(), dt=DT, steps=3, parameters=["mass:link1"])
    with pytest.raises(la.IntegratorError, match="'mass:link2' is not one of the parameters"):
        f(q, v, None, {"mass:link2": 1.0})
    Q, _ = f(q, v)
    run = la.simulate(robot, q, v, dt=DT, steps=3, integrator=la.BDF())
    np.testing.assert_allclose(Q, run.q, rtol=1e-6)


@pytest.mark.parametrize("method", ["BDF2", *VARIATIONAL])
def test_objective_for_scipy(method):
    robot, q, v = swing()
    goal = reach("link2", (0, 0, -1), (0.5, 0, -1.0))
    options = {"q": {"joint1": q[0]}, "v": v, "dt": DT, "steps": STEPS}
    f = SimulationObjective(robot, METHODS[method], goal, ["q", "controls", "mass:link2", "position:joint2"], **options)
    x = f.start + 0.1 * np.random.default_rng(1).normal(size=f.start.shape)
    d = directions(x.size)
    expected = by_vector(lambda y: f(y)[0], x, 1e-4, d)
    np.testing.assert_allclose(d @ f(x)[1], expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("method", ["BDF2", "Galerkin 4"])
def test_runs_that_start_from_a_momentum(method):
    """The momentum stays what it is when masses change, and its own gradient can be asked for."""
    robot, q, v = damped_chain()
    p = la.dynamics.mass_matrix(robot, q) @ v
    integrator, names = METHODS[method], ["q", "p", "mass:bob"]
    start = {"q": q, "p": p, "dt": DT, "steps": STEPS}
    objective = Sum(robot, la.simulate(robot, integrator=integrator, **start))

    def value(mechanism=robot, **change):
        return objective(la.simulate(mechanism, integrator=integrator, **(start | change)))[0]

    found = adjoint(robot, integrator, objective, names, **start)[1]
    by_mass = by_vector(lambda x: value(with_parameters(robot, {"mass:bob": x[0]})), np.array([0.5]), 1e-4)
    for name, expected in (
        ("q", by_q(robot, lambda x: value(q=x), q, 1e-4)),
        ("p", by_vector(lambda x: value(p=x), p, 1e-4)),
        ("mass:bob", by_mass),
    ):
        np.testing.assert_allclose(np.ravel(found[name]), expected, atol=1e-6 * np.abs(expected).max(), err_msg=name)
    without = adjoint(robot, integrator, objective, ["mass:bob"], checkpoints=2, **start)[1]
    np.testing.assert_allclose(without["mass:bob"], by_mass[0], rtol=1e-6)
    with pytest.raises(la.IntegratorError, match="starts from v or from p"):
        adjoint(robot, integrator, objective, ["v", "p"], **start)


@pytest.mark.parametrize("method", ["BDF2", "Galerkin 4"])
def test_what_does_not_act_has_no_gradient(method):
    """Contacts and dry friction do not act here: the motion does not depend on them."""
    robot, q, v = sliding_box()
    names = ["friction:box/skin", "size:box/skin", "position:box/skin", "mass:box"]
    with pytest.warns(la.LeastActionWarning, match="contacts do not act"):
        found = adjoint(robot, METHODS[method], lambda run: (0.0, None, run.v), names, q=q, v=v, dt=DT, steps=2)[1]
    for name in names[:3]:
        assert found[name].shape == parameter(robot, name).shape
        assert np.abs(found[name]).max() < 1e-9  # round-off of a difference
    assert np.isfinite(found["mass:box"])
