"""Mistakes in calls of the adjoint are named before a long run, and in the user's words."""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives.bridge import DifferentiableSimulation

RUN = {"dt": 0.01, "steps": 3}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mas:link1", "did you mean 'mass'"),
        ("lenght:link1", "there is no parameter 'lenght:link1'"),
        ("mass:lnk1", "link1"),
        ("stiffness:jiont1", "joint1"),
    ],
)
def test_unknown_parameters(name, hint):
    def never(run):
        raise AssertionError("the run must not begin")

    with pytest.raises(la.LeastActionError, match=hint):
        la.adjoint(la.robots.pendulum(2), la.BDF(order=1), never, [name], **RUN)


@pytest.mark.parametrize("checkpoints", [None, 2])
def test_objectives_that_give_something_else(checkpoints):
    with pytest.raises(la.IntegratorError, match="an objective must give"):
        la.adjoint(la.robots.pendulum(2), la.BDF(order=1), lambda run: 0.0, checkpoints=checkpoints, **RUN)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"q": "a"}, "q: expected a tensor, got 'a'"),
        ({"q": [0.1, 0.2, 0.3]}, "q: expected shape"),
        ({"controls": "x"}, "controls: expected a tensor"),
        ({"parameters": 3}, "parameters: expected tensors by name"),
        ({"parameters": {"mass:none": 1.0}}, "unknown body 'none'"),
        ({"parameters": {"mass:link1": "a"}}, "mass:link1: expected a tensor"),
        ({"steps": "a"}, "steps must be a whole number"),
        ({"steps": None}, "give either controls or steps"),
    ],
)
def test_wrong_calls_through_pytorch(changes, says):
    """They are refused at the call, not in `backward`."""
    pytest.importorskip("torch")
    from leastaction.derivatives.torch import simulate

    valid = {"q": [0.1, 0.2], "v": [0.0, 0.0], "dt": 0.01, "steps": 2, "integrator": la.BDF(order=1)}
    with pytest.raises(la.LeastActionError, match=says):
        simulate(la.robots.pendulum(2), **(valid | changes))


def test_a_bridge_names_the_robot():
    simulation = DifferentiableSimulation(la.robots.pendulum(2), la.BDF(order=1), 0.01)
    q, v, u = np.zeros((2, 3, 2)), np.zeros((2, 3, 2)), np.zeros((2, 3, 2, 2))
    q[1, 2, 0] = np.nan
    with pytest.raises(la.MechanismError, match=r"robot 1, 2: q: entry 0 \('joint1'\) is nan"):
        simulation.run_all([q, v, u])
    with pytest.raises(la.MechanismError, match=r"v: expected shape \(\.\.\., 2\)"):
        simulation.run_all([0.0 * v, v[..., :1], u])
    with pytest.raises(la.IntegratorError, match="one robot or more"):
        simulation.run_all([q[:0], v[:0], u[:0]])
