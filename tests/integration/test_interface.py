"""One interface of all steppers: what there is besides steps is said in a set, and the rest is refused by name."""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import action_blocks, adjoint, backpropagate, linearize, parameter_jacobian
from leastaction.integration import registry
from leastaction.integration.integrators import CAPABILITIES, Reversal, Stepper
from leastaction.parameters.parameter_differences import stencils

INTEGRATORS = [registry.find(name)() for name in registry.names()]
DT = 0.01
Q, P, U = np.array([0.3, -0.2]), np.array([0.4, 0.1]), np.zeros(2)


def robot():
    return la.robots.pendulum(2)


def calls(stepper):
    """For each capability its methods, called as they are meant to be."""
    u, nodes = np.zeros((len(stepper.control_nodes), 2)), len(stepper.control_nodes)
    entries = stencils(stepper.mechanism, "mass:link1")
    # Control points of a Galerkin step are where controls are read; the midpoint rule has one of each.
    x = np.zeros((max(nodes - 1, 1), 2))
    return {
        "accelerations": [lambda: stepper.accelerations(Q[None], P[None], U[None], True)],
        "linearize": [lambda: stepper.linearize(Q, P, U), lambda: stepper.pull_back(Q, P, u, np.ones(4))],
        "parameters": [lambda: stepper.parameter_jacobian(Q, P, U, entries)],
        "residual": [lambda: stepper.residual(Q, P, u, x), lambda: stepper.action_blocks(Q, P, U)],
        "reverse": [lambda: stepper.reverse(["controls", "mass:link1"])],
    }


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda x: type(x).__name__)
def test_a_stepper_does_what_it_says_and_refuses_the_rest(integrator):
    stepper = integrator.prepare(robot(), DT)
    assert stepper.can <= set(CAPABILITIES)
    own = type(integrator).__name__
    for what, methods in calls(stepper).items():
        for method in methods:
            if what in stepper.can:
                found = method()
                assert isinstance(found, Reversal) if what == "reverse" else found is not None
            else:
                with pytest.raises(la.IntegratorError, match=f"^{own} has no .*(leastaction.|Galerkin)"):
                    method()


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda x: type(x).__name__)
def test_the_front_door_refuses_alike(integrator):
    m = robot()
    can, own = integrator.prepare(m, DT).can, type(integrator).__name__
    doors = {
        "linearize": lambda: linearize(m, integrator, Q, P, dt=DT),
        "parameters": lambda: parameter_jacobian(m, integrator, Q, P, dt=DT, parameters=["mass:link1"]),
        "residual": lambda: action_blocks(m, integrator, Q, P, dt=DT),
        "reverse": lambda: adjoint(m, integrator, lambda run: (0.0, None, run.v), ["q"], q=Q, dt=DT, steps=1),
    }
    for what in set(doors) - can:
        with pytest.raises(la.IntegratorError, match=f"^{own} has no"):
            doors[what]()
    for what in can & set(doors):
        assert doors[what]() is not None


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda x: type(x).__name__)
def test_runs_go_on_from_where_they_were(integrator):
    """The record and the memory of a stepper are all there is: another stepper goes on with the same numbers."""
    m = robot()
    whole = integrator.prepare(m, DT)
    record = whole.record(6)
    record.q[0] = Q
    u = np.zeros((6, len(whole.control_nodes), 2))
    assert whole.advance(record, 0, 3, u[:3]) == 3
    other = integrator.prepare(m, DT)
    kept = other.record(6)
    for name, rows in record.states().items():
        kept[name][:] = rows
    other.restore_memory(whole.memory())
    assert whole.advance(record, 3, 6, u[3:]) == 6
    assert other.advance(kept, 3, 6, u[3:]) == 6
    assert np.array_equal(record.q, kept.q)
    assert np.array_equal(record.second, kept.second)


def test_a_new_integrator_needs_little():
    """`advance` is enough for a run; everything else has a default."""

    class Still(Stepper):
        def advance(self, record, first, last, u):
            record.q[first + 1 : last + 1] = record.q[first]
            return last

    class Rest(la.ExplicitEuler):
        stepper_class = Still

    run = la.simulate(robot(), Q, dt=DT, steps=3, integrator=Rest())
    assert (run.q == Q).all()
    assert run.com_poses.shape == (4, 2, 7)
    with pytest.raises(la.IntegratorError, match=r"Rest has no adjoint; use leastaction\.Galerkin"):
        adjoint(robot(), Rest(), lambda run: (0.0, None, None), ["q"], dt=DT, steps=1)
    with pytest.raises(la.IntegratorError, match="Rest has no Jacobians"):
        backpropagate(run, np.zeros((4, 2)), np.zeros((4, 2)))
