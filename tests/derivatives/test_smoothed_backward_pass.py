"""`adjoint(..., smoothing=...)`: rigid runs, and gradients of smoothed contact at the same states."""

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Box, MechanismBuilder, Plane


def block(friction=0.5):
    """A box on the ground with a motor that pushes it along x."""
    b = MechanismBuilder("block")
    b.body("slide", mass=0.1, inertia=0.01)
    b.prismatic("x", "world", "slide", axis="x")
    b.body("box", mass=1.0, shapes=Box((0.2, 0.2, 0.2), friction=friction))
    b.prismatic("z", "slide", "box", axis="z", position=(0, 0, 0.1))
    b.actuator("motor", "x")
    b.add_shape("world", Plane())
    return b.build()


def distance(run):
    """How far it is pushed, with its gradients."""
    by_q = np.zeros((len(run.t), 2))
    by_q[-1, 0] = 1.0
    return float(run.q[-1, 0]), by_q, None


def pushed(force, smoothing):
    """The distance, and its gradient by a constant force of the motor."""
    kw = {"q": [0.0, 0.0], "controls": np.full((20, 1), force), "dt": 0.01, "steps": 20}
    value, found = la.adjoint(block(), la.Maximal(), distance, ["controls"], smoothing=smoothing, **kw)
    return value, float(found["controls"].sum())


def test_what_sticks_has_a_gradient_to_follow():
    """Below the bound of friction the block does not move, nor does it with a little more force; smoothed it does."""
    still, rigid = pushed(2.0, 0.0)
    same, smoothed = pushed(2.0, 1e-3)
    assert abs(still) < 1e-8
    assert same == still
    assert abs(rigid) < 1e-6
    assert smoothed > 1e-4


def test_little_smoothing_gives_the_exact_gradient():
    """Where the block slides, the response of the central path tends to that of its end."""
    value, rigid = pushed(8.0, 0.0)
    same, smoothed = pushed(8.0, 1e-10)
    assert value == same > 0.01
    assert smoothed == pytest.approx(rigid, rel=1e-4)


def test_wrong_calls_are_refused():
    kw = {"dt": 0.01, "steps": 2}
    with pytest.raises(la.IntegratorError, match="smoothing must be a number"):
        la.adjoint(block(), la.Maximal(), distance, ["controls"], smoothing=-1.0, **kw)
    with pytest.raises(la.IntegratorError, match="leave out checkpoints"):
        la.adjoint(block(), la.Maximal(), distance, ["controls"], smoothing=1e-3, checkpoints=2, **kw)
    with pytest.raises(la.IntegratorError, match="Galerkin has no smoothed backward pass"):
        la.adjoint(
            la.robots.pendulum(), la.Galerkin(order=2), lambda run: (0.0, run.v, None), ["v"], smoothing=1e-3, **kw
        )
