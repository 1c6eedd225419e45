"""Gradients of whole runs of `Maximal` by state, controls and parameters, against differences of the very runs."""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import SimulationObjective, adjoint, backpropagate, parameter, piecewise, with_parameters
from leastaction.maximal.derivatives.parameter_gradients import Variant
from leastaction.mechanism import Box, Plane, Pose, Sphere
from tests.oracles.differences import central

DT = 0.01


class RandomObjective:
    """Random weights on all positions (differences to those of the run as it is) and velocities."""

    def __init__(self, robot, reference):
        self.robot, self.reference = robot, reference.q
        self.bq, self.bv = np.random.default_rng(5).normal(size=(2, len(reference), robot.nv))

    def __call__(self, run):
        moved = [self.robot.difference(a, b) for a, b in zip(self.reference, run.q, strict=True)]
        return float((self.bq * np.array(moved)).sum() + (self.bv * run.v).sum()), self.bq, self.bv

    @property
    def in_pieces(self):
        def of_piece(run, first, steps):
            rows = slice(first, first + len(run))
            part = RandomObjective.__new__(RandomObjective)
            part.robot, part.reference = self.robot, self.reference[rows]
            part.bq, part.bv = self.bq[rows], self.bv[rows]
            return part(run)

        return piecewise(of_piece)


def assert_gradients(robot, integrator, q, v, names, *, steps, tolerance, h=1e-6, along=None, **options):
    """By q, v, controls and named parameters, each along one random direction (or `along`, by name)."""
    rng = np.random.default_rng(3)
    u = rng.normal(size=(steps, robot.nu))
    options = {"dt": DT, "steps": steps, **options}
    run = la.simulate(robot, q, v, controls=u, integrator=integrator, **options)
    objective = RandomObjective(robot, run)
    _, found = adjoint(robot, integrator, objective, names, q=q, v=v, controls=u, **options)

    def value(robot=robot, q=q, v=v, u=u):
        return objective(la.simulate(robot, q, v, controls=u, integrator=integrator, **options))[0]

    changes = {
        "q": lambda d: value(q=robot.integrate(q, d)),
        "v": lambda d: value(v=v + d),
        "controls": lambda d: value(u=u + d),
    }
    for name in names:
        shape = found[name].shape
        direction = rng.normal(size=shape) if name not in (along or {}) else np.asarray((along or {})[name], float)
        if name in changes:
            change, width = changes[name], 100.0 * h if name == "controls" else h
        else:
            x = parameter(robot, name)
            width = h * (float(np.abs(x).max()) or 1.0)

            def change(d, name=name, x=x):
                return value(robot=with_parameters(robot, {name: x + d}))

        expected = float(central(lambda s, f=change, d=direction: f(s * d), width))
        actual = float((found[name] * direction).sum())
        assert expected != 0.0
        assert abs(actual - expected) <= tolerance * abs(expected), (name, actual, expected)
    return run


def thrown_box(restitution=0.0):
    """A box that comes down on an edge, spinning, and slides."""
    b = la.MechanismBuilder("thrown")
    b.body("box", mass=0.8, shapes=Box((0.2, 0.16, 0.12), friction=0.4, restitution=restitution))
    b.free("box")
    b.add_shape("world", Plane(friction=0.2, restitution=0.0))
    robot = b.build()
    q = robot.integrate(robot.neutral(), [0.25, 0.1, 0.3, 0.0, 0.0, 0.0])
    q[2] = 0.115
    return robot, q, np.array([0.4, -1.0, 0.6, 1.2, 0.3, -1.0])


def hopper():
    """A body on two links, a knee that reaches its limit, and a round foot."""
    b = la.MechanismBuilder("hopper")
    b.body("trunk", mass=2.0, inertia=(0.05, 0.06, 0.04))
    b.prismatic("rail", "world", "trunk", axis="z")
    b.body("thigh", mass=0.4, com=(0.0, 0.0, -0.12), inertia=(0.004, 0.004, 0.001))
    b.revolute("hip", "trunk", "thigh", axis="y", damping=0.05)
    b.body("shank", mass=0.3, com=(0.0, 0.0, -0.1), inertia=(0.003, 0.003, 0.001))
    b.revolute("knee", "thigh", "shank", axis="y", position=(0.0, 0.0, -0.25), lower=-1.2, upper=-0.2)
    b.add_shape("shank", Sphere(0.03, pose=Pose((0.0, 0.0, -0.22)), friction=0.7, name="foot"))
    b.add_shape("world", Plane())
    robot = b.build()
    return robot, np.array([0.502, 0.2, -0.23]), np.array([-0.4, 0.5, 2.0])


def sprung_leg():
    """A leg as walking robots have: springs and dampers in the joints, a geared motor, dry friction in the knee."""
    b = la.MechanismBuilder("leg")
    b.body("slider", mass=0.5)
    b.prismatic("along", "world", "slider", axis="x")
    b.body("hips", mass=3.0, inertia=(0.05, 0.06, 0.04))
    b.prismatic("up", "slider", "hips", axis="z")
    b.body("thigh", mass=0.6, com=(0.0, 0.0, -0.1), inertia=(0.005, 0.005, 0.001))
    b.revolute("hip", "hips", "thigh", axis="y", stiffness=40.0, damping=1.5, rest=0.4, armature=0.02)
    b.body("shank", mass=0.4, com=(0.0, 0.0, -0.1), inertia=(0.003, 0.003, 0.001))
    b.revolute("knee", "thigh", "shank", axis="y", position=(0, 0, -0.25), stiffness=50.0, damping=1.0, rest=-0.8)
    b.add_shape("shank", Sphere(0.025, pose=Pose((0.0, 0.0, -0.24)), friction=0.6, name="foot"))
    b.add_shape("world", Plane())
    b.actuator("hip motor", "hip", gear=3.0)
    b.actuator("knee motor", "knee", gear=2.0)
    return b.build()


BOX = ["q", "v", "controls", "mass:box", "friction:box/0", "size:box/0", "inertia:box", "com:box", "position:box/0"]


@pytest.mark.parametrize("order", [1, 2])
def test_a_box_thrown_on_the_ground(order):
    robot, q, v = thrown_box()
    names = [*BOX, "gravity", "position:world/0"]
    run = assert_gradients(
        robot, la.Maximal(order=order, smoothing=1e-3, tolerance=1e-12), q, v, names, steps=12, tolerance=1e-5, h=1e-5
    )
    assert (run.stored["contacts"][:, 8] > 1.0).any()


@pytest.mark.parametrize("order", [1, 2])
def test_a_box_that_bounces(order):
    """When the impact is depends on all that went before."""
    robot, q, v = thrown_box(restitution=0.6)
    names = ["q", "v", "controls", "mass:box", "restitution:box/0", "size:box/0"]
    assert_gradients(robot, la.Maximal(order=order, tolerance=1e-12), q, v, names, steps=8, tolerance=5e-4)


@pytest.mark.parametrize("order", [1, 2])
def test_a_hopper_with_limits(order):
    robot, q, v = hopper()
    names = ["q", "v", "controls", "mass:trunk", "friction:shank/foot", "radius:shank/foot", "upper:knee"]
    names += ["position:knee", "damping:hip", "com:thigh"]
    along = {"position:knee": (1.0, 0.0, -1.0), "com:thigh": (1.0, 0.0, 1.0)}
    integrator = la.Maximal(order=order, smoothing=1e-3, tolerance=1e-12)
    assert_gradients(robot, integrator, q, v, names, steps=12, tolerance=1e-5, h=1e-5, along=along)


@pytest.mark.parametrize("order", [1, 2])
def test_a_leg_with_springs(order):
    robot = sprung_leg()
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[robot.coordinate_names.index("hip")], q[robot.coordinate_names.index("knee")] = 0.4, -0.8
    foot = [0.0, 0.0, -0.24, 1.0]
    q[1] += 0.026 - (la.dynamics.body_poses(robot, q)[robot.body_index("shank")] @ foot)[2]
    assert (la.dynamics.body_poses(robot, q)[robot.body_index("shank")] @ foot)[2] == pytest.approx(0.026)
    names = ["q", "v", "controls", "mass:hips", "friction:shank/foot", "radius:shank/foot", "stiffness:knee"]
    names += ["rest:hip", "damping:knee", "armature:hip", "inertia:thigh", "position:shank/foot"]
    integrator = la.Maximal(order=order, smoothing=1e-3, tolerance=1e-12)
    # Slopes by friction are 8e-6 off, and differences over 1e-5 as much again now and then.
    assert_gradients(robot, integrator, q, v, names, steps=15, tolerance=2e-5, h=1e-5)


@pytest.mark.parametrize("order", [1, 2])
def test_rigid_contact_without_impact(order):
    """A box slides on the ground; along it, rigid contact is smooth too, as far as its complementarity is solved."""
    robot, _, _ = thrown_box()
    q = robot.neutral()
    q[2] = 0.06
    along = {"v": (0, 0, 0, 1, 2, 0), "gravity": (1, 0.5, 0)}
    names = ["v", "friction:box/0", "gravity"]
    v = np.array([0.0, 0.0, 0.0, 1.0, 0.2, 0.0])
    options = {"steps": 10, "tolerance": 2e-4, "along": along, "h": 1e-4}
    robot = robot.replace(gravity=(1.0, 0.0, -9.81))
    assert_gradients(robot, la.Maximal(order=order), q, v, names, **options)


def test_free_motion_of_a_chain():
    """Without contact, to the accuracy of the differences of the equations."""
    robot = la.robots.pendulum(3)
    names = ["q", "v", "controls", "mass:link2", "com:link3", "position:joint2", "gravity"]
    for order in (1, 2, 4):
        integrator = la.Maximal(order=order, tolerance=1e-13)
        assert_gradients(
            robot, integrator, np.array([0.5, -0.3, 0.2]), np.ones(3), names, steps=6, tolerance=1e-6, h=1e-3
        )


def test_closed_loops():
    """Momenta are projected on the loop after each step; that depends on masses as well."""
    robot = la.robots.four_bar()
    q = next(entry for entry in la.robots.catalogue() if entry.name == "four_bar").home()
    v = np.linalg.svd(la.dynamics.loop_jacobian(robot, q)[1])[2][-1]
    names = ["controls", "gravity", *(f"mass:{name}" for name in robot.body_names[:2])]
    for order in (1, 2):
        integrator = la.Maximal(order=order, tolerance=1e-13)
        assert_gradients(robot, integrator, q, v, names, steps=4, tolerance=1e-6, h=1e-3, project=True)


@pytest.mark.parametrize("checkpoints", [1, 3, True, 11])
@pytest.mark.parametrize("order", [1, 2])
def test_checkpoints(order, checkpoints):
    """The same gradients, of objectives told whole and in pieces, as far as steps solved again are the same."""
    robot, q, v = thrown_box(restitution=0.5)
    names = ["q", "v", "controls", "mass:box", "friction:box/0", "size:box/0"]
    options = {"q": q, "v": v, "dt": DT, "steps": 11}
    integrator = la.Maximal(order=order, smoothing=1e-4)
    run = la.simulate(robot, integrator=integrator, **options)
    objective = RandomObjective(robot, run)
    value, whole = adjoint(robot, integrator, objective, names, **options)
    for form in (objective, objective.in_pieces):
        other, found = adjoint(robot, integrator, form, names, checkpoints=checkpoints, **options)
        assert other == pytest.approx(value, rel=1e-12)
        for name in names:
            np.testing.assert_allclose(found[name], whole[name], rtol=1e-9, atol=1e-9 * np.abs(whole[name]).max())


def test_checkpoints_after_divided_steps():
    """At a cut the velocities of the last part of a divided step go on."""
    robot = la.robots.pendulum(2)
    integrator = la.Maximal(order=2, max_iterations=3, tolerance=1e-11)
    options = {"q": [0.4, 0.2], "v": [18.0, -30.0], "dt": DT, "steps": 6}
    run = la.simulate(robot, integrator=integrator, **options)
    assert run.stored["substeps"][1:].any()
    objective = RandomObjective(robot, run)
    _, whole = adjoint(robot, integrator, objective, ["q", "v", "mass:link1"], **options)
    _, found = adjoint(robot, integrator, objective, ["q", "v", "mass:link1"], checkpoints=6, **options)
    for name in whole:
        np.testing.assert_allclose(found[name], whole[name], rtol=1e-9)


def test_a_step_and_a_run_of_one_step():
    """`pull_back_all` of a step is the reversal of a run of one, parameters included."""
    from leastaction.parameters.parameter_differences import stencils

    robot, q, v = thrown_box()
    q[2] = 0.1
    integrator = la.Maximal(order=2, smoothing=1e-3)
    run = la.simulate(robot, q, v, dt=DT, steps=1, integrator=integrator)
    bq, bp = np.random.default_rng(1).normal(size=(2, robot.nv))
    stepper = integrator.prepare(robot, DT)
    bar = np.concatenate([bq, bp])
    u = np.zeros((2, robot.nu))
    by_controls, by_mass = stepper.pull_back_all(run.q[0], run.p[0], u, bar, stencils(robot, "mass:box"))
    reversal = stepper.reverse(["controls", "mass:box"])
    zero = np.zeros(robot.nv)
    record = {"q": run.q, **run.stored}
    reversal.piece(record, 0, 0, u[None], np.stack([zero, bq]), np.stack([zero, bp]))
    found = reversal.finish(run.q[0])
    for ours, expected in ((found["q"], bar[:6]), (found["p"], bar[6:]), (found["controls"][0], by_controls)):
        np.testing.assert_allclose(ours, expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(found["mass:box"], by_mass[0], rtol=1e-7)
    assert all(
        np.allclose(a, b)
        for a, b in zip(
            backpropagate(run, np.stack([zero, bq]), np.stack([zero, bp])),
            (found["q"], found["p"], found["controls"]),
            strict=True,
        )
    )


def test_an_objective_of_scipy():
    """Where to throw a box from, and how heavy it is, as one vector."""
    robot, q, v = thrown_box()
    integrator = la.Maximal(smoothing=1e-3)

    def objective(run):
        dv = np.zeros((len(run), robot.nv))
        dv[-1] = run.v[-1]
        return 0.5 * float(run.v[-1] @ run.v[-1]), None, dv

    f = SimulationObjective(robot, integrator, objective, ["v", "mass:box"], q=q, v=v, dt=DT, steps=10)
    _, slope = f(f.start)
    direction = np.random.default_rng(0).normal(size=f.start.shape)
    expected = central(lambda s: f(f.start + s * direction)[0], 1e-5)
    assert slope @ direction == pytest.approx(float(expected), rel=5e-5)


def test_torch():
    torch = pytest.importorskip("torch")
    from leastaction.derivatives.torch import simulate

    robot, q, v = thrown_box()
    integrator, names = la.Maximal(smoothing=1e-3), ["mass:box", "friction:box/0"]
    tensors = [torch.tensor(x, requires_grad=True) for x in (q, v, np.zeros((8, robot.nu)))]
    values = {name: torch.tensor(parameter(robot, name), requires_grad=True) for name in names}
    _, V = simulate(robot, *tensors, dt=DT, integrator=integrator, parameters=values)
    (V[-1] ** 2).sum().backward()
    expected = _of_last_velocity(robot, integrator, q, v, names)
    np.testing.assert_allclose(tensors[1].grad.numpy(), expected["v"], rtol=1e-10)
    for name in names:
        np.testing.assert_allclose(values[name].grad.numpy(), expected[name], rtol=1e-10)


def test_jax():
    jax = pytest.importorskip("jax")
    from leastaction.derivatives.jax import simulation

    jax.config.update("jax_enable_x64", True)
    robot, q, v = thrown_box()
    integrator, names = la.Maximal(smoothing=1e-3), ["mass:box", "friction:box/0"]
    run = simulation(robot, integrator, dt=DT, steps=8, parameters=names)
    values = {name: float(parameter(robot, name)) for name in names}

    def loss(v, values):
        return (run(q, v, None, values)[1][-1] ** 2).sum()

    by_v, by_values = jax.grad(loss, argnums=(0, 1))(v, values)
    expected = _of_last_velocity(robot, integrator, q, v, names)
    np.testing.assert_allclose(by_v, expected["v"], rtol=1e-10)
    for name in names:
        np.testing.assert_allclose(by_values[name], expected[name], rtol=1e-10)


def _of_last_velocity(robot, integrator, q, v, names):
    """Gradient of the square of the last velocity after 8 steps."""

    def objective(run):
        dv = np.zeros((len(run), robot.nv))
        dv[-1] = 2.0 * run.v[-1]
        return float((run.v[-1] ** 2).sum()), None, dv

    return adjoint(robot, integrator, objective, ["v", *names], q=q, v=v, dt=DT, steps=8)[1]


def test_masses_change_inertias_alone():
    """So that many of them are weighed in one pass."""
    robot = la.robots.pendulum(2)
    stepper = la.Maximal().prepare(robot, 0.01)
    heavier = with_parameters(robot, {"mass:link1": 2.0 * parameter(robot, "mass:link1")})
    assert Variant(stepper, heavier).inertial
    longer = with_parameters(robot, {"position:joint2": (0.0, 0.0, -1.1)})
    assert not Variant(stepper, longer).inertial
