"""Derivatives of variational steps by parameters of the mechanism against differences of whole steps."""

import numpy as np
import pytest

import leastaction as la
from leastaction.parameters.parameters import parameter, with_parameters
from tests.minimal.helpers import method
from tests.oracles.differences import assert_close, central

DT = 0.01
ORDERS = ("midpoint", 2, 4, "bodies 4")


def flying_arm():
    """A free body with a ball joint and a hinge, springs on both, a spring between two bodies, a wrench."""
    b = la.MechanismBuilder("flying arm")
    b.body("base", mass=2.0, inertia=(0.3, 0.4, 0.5))
    b.joint("fly", "free", "world", "base")
    b.body("upper", mass=1.0, com=(0, 0, -0.5), inertia=0.1)
    b.joint("shoulder", "spherical", "base", "upper", stiffness=(1.0, 2.0, 3.0), damping=(0.1, 0.2, 0.3))
    b.body("lower", mass=0.7, com=(0, 0, -0.4), inertia=0.05)
    b.revolute("elbow", "upper", "lower", axis="y", pose=(0, 0, -1), stiffness=3.0, damping=0.1, armature=0.2)
    b.spring("string", ("base", (0.1, 0, 0)), ("lower", (0, 0.1, -0.2)), stiffness=20.0, rest_length=0.5, damping=1.0)
    b.wrench("push", "lower", (0.1, 0.2, 0.3, 1.0, 2.0, 3.0))
    return b.build()


NAMES = (
    *("mass:upper", "com:lower", "inertia:base", "gravity", "position:elbow", "rotation:shoulder"),
    *("stiffness:shoulder", "damping:shoulder", "stiffness:elbow", "damping:elbow", "armature:elbow", "rest:elbow"),
    *("stiffness:string", "rest:string", "damping:string", "wrench:push"),
)


class Step:
    """One step from a state in motion, as a function of parameters."""

    def __init__(self, robot, order, q, p):
        self.robot, self.integrator, self.q, self.p = robot, method(order), q, p
        self.u = np.random.default_rng(5).normal(size=robot.nu)
        self.end = self.of(robot)

    def of(self, robot):
        # A robot with other parameters may not fit (q, p): no start is prepared, which would refuse it.
        stepper = self.integrator.prepare(robot, DT)
        record = stepper.record(1)
        record["q"][0], record["p"][0] = self.q, self.p
        assert stepper.run(record, 0, 1, stepper.held(self.u)[None]) == 1
        return record["q"][1], record["p"][1]

    def change(self, name, k, h):
        """Change of the end of the step when entry k of a parameter moves by h."""
        value = np.array(parameter(self.robot, name), float)
        value.flat[k] += h
        q, p = self.of(with_parameters(self.robot, {name: value}))
        return np.concatenate([self.robot.difference(self.end[0], q), p - self.end[1]])

    def by_differences(self, name, step):
        size = parameter(self.robot, name).size
        return np.stack([central(lambda h, k=k: self.change(name, k, h), step) for k in range(size)], axis=-1)

    def analytic(self, name):
        found = la.derivatives.parameter_jacobian(
            self.robot, self.integrator, self.q, self.p, self.u, DT, parameters=[name]
        )
        return found[name].reshape(2 * self.robot.nv, -1)


@pytest.mark.parametrize("order", ORDERS)
def test_parameters_of_a_tree(order):
    robot = flying_arm()
    rng = np.random.default_rng(1)
    q = robot.random_configuration(rng)
    step = Step(robot, order, q, la.dynamics.mass_matrix(robot, q) @ rng.normal(size=robot.nv))
    for name in NAMES:
        assert_close(step.analytic(name), step.by_differences(name, 1e-3), 1e-7)


@pytest.mark.parametrize("order", ORDERS)
def test_parameters_of_a_loop(order):
    """The start stays; where a placement opens the loop, the step closes it again."""
    robot = la.robots.four_bar(crank_angle=1.2)
    start = la.simulate(robot, dt=DT, steps=3, integrator=method(order))
    step = Step(robot, order, start.q[-1], start.p[-1])
    for name in ("mass:crank", "com:coupler", "gravity"):
        assert_close(step.analytic(name), step.by_differences(name, 1e-3), 1e-7)
    # A loop that is open by h closes with the velocity h / dt, so only small ones are like none.
    assert_close(step.analytic("position:coupler_joint"), step.by_differences("position:coupler_joint", 1e-5), 1e-6)


@pytest.mark.parametrize("order", ORDERS)
def test_gradient_of_a_run_by_parameters(order):
    """`adjoint` through ten steps: momentum of the start follows the mass, as velocities are given."""
    robot = flying_arm()
    rng = np.random.default_rng(2)
    q, v = robot.random_configuration(rng), 0.3 * rng.normal(size=robot.nv)
    weights = rng.normal(size=robot.nv)
    options = {"q": q, "v": v, "dt": DT, "steps": 10}

    def objective(run):
        dv = np.zeros((11, robot.nv))
        dv[-1] = weights
        return weights @ run.v[-1], None, dv

    names = ["mass:upper", "stiffness:string"]
    _, gradient = la.adjoint(robot, method(order), objective, names, **options)
    for name in names:
        value = parameter(robot, name)

        def at(h, name=name, value=value):
            run = la.simulate(with_parameters(robot, {name: value + h}), integrator=method(order), **options)
            return weights @ run.v[-1]

        assert_close(gradient[name], central(at, 1e-3), 1e-7)
