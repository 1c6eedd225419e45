"""A new integrator is its settings and a stepper that advances; all else is there (CONTRIBUTING.md tells how)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import leastaction as la
from leastaction import derivatives
from leastaction.integration.integrators import Integrator, Stepper


class LeapfrogStepper(Stepper):
    """Half a step of the velocity, one of the position, the other half of the velocity."""

    def advance(self, record, first, last, u):
        m, h = self.mechanism, self.dt
        for k in range(first, last):
            q, v = record["q"][k], record["v"][k]
            tau = m.generalized_forces(u[k - first, 0], q)
            half = v + 0.5 * h * la.dynamics.forward_dynamics(m, q, v, tau)
            record["q"][k + 1] = m.integrate(q, h * half)
            record["v"][k + 1] = half + 0.5 * h * la.dynamics.forward_dynamics(m, record["q"][k + 1], half, tau)
            if not np.abs(record["v"][k + 1]).max() < 1e3:
                return k
        return last

    def failure(self, step, record):
        return la.ConvergenceError("Leapfrog: too fast; take a smaller dt", step=step)


@dataclass(frozen=True)
class Leapfrog(Integrator):
    """Stoermer, Verlet: order 2 where forces do not depend on velocities."""

    stepper_class: ClassVar[Any] = LeapfrogStepper


def test_it_runs_and_has_its_order():
    robot, q = la.robots.pendulum(links=1), [1.0]
    exact = la.simulate(robot, q, dt=0.5, steps=2, integrator=la.DOP853()).q[-1]
    errors = [np.abs(la.simulate(robot, q, duration=1.0, dt=dt, integrator=Leapfrog()).q[-1] - exact).max() for dt in
              (0.02, 0.01)]  # fmt: skip
    assert 3.8 < errors[0] / errors[1] < 4.2


def test_trajectories_have_all_that_is_derived():
    robot = la.robots.cart_pole()
    run = la.simulate(robot, [0.0, 1.0], dt=0.01, steps=20, integrator=Leapfrog(), controls=np.ones(robot.nu))
    assert run.com_poses.shape == (21, len(robot.bodies), 7)
    assert run.p.shape == run.v.shape == (21, robot.nv)
    assert np.ptp(la.simulate(robot, [0.0, 1.0], dt=0.01, steps=20, integrator=Leapfrog()).energy) < 1e-2


def test_what_it_does_not_have_is_refused_by_name():
    robot = la.robots.pendulum(links=1)
    with pytest.raises(la.IntegratorError, match=r"Leapfrog has no Jacobians.*Galerkin"):
        derivatives.linearize(robot, Leapfrog(), [1.0], [0.0], dt=0.01)
    with pytest.raises(la.IntegratorError, match=r"Leapfrog has no adjoint.*Galerkin"):
        Leapfrog().prepare(robot, 0.01).reverse([])
    with pytest.raises(la.ConvergenceError, match="smaller dt"):
        la.simulate(robot, v=[1e3], dt=0.1, steps=5, integrator=Leapfrog())


def test_parts_that_it_does_not_know_are_refused():
    b = la.robots.pendulum(links=1).edit()
    b.body("bob", mass=1.0, inertia=0.1)
    b.revolute("end", "link1", "bob", axis="y", limits=(-0.1, 0.1), limit_stiffness=10.0)
    with pytest.raises(la.IntegratorError, match="Leapfrog cannot run the limit spring"):
        Leapfrog().prepare(b.build(), 0.01)
