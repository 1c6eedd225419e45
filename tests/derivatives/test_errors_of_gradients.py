"""Mistakes in calls of the adjoint are named before a long run, and in the user's words."""

import pytest

import leastaction as la

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
