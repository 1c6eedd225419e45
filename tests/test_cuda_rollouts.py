"""A whole rollout compiles for a GPU as it is, from the very arguments that `simulate` passes."""

import importlib

import numba
import pytest
from numba import types

import leastaction as la
from leastaction._jit import cuda_ptx
from tests.test_cuda_ptx import pytestmark as needs_cuda

pytestmark = [needs_cuda, pytest.mark.slow, pytest.mark.cuda]


class _ReachedError(Exception):
    """Raised in place of a rollout, with the types of its arguments."""


@pytest.mark.parametrize(
    ("integrator", "robot", "module", "name"),
    [
        (la.BDF(order=2), "pendulum", "leastaction.redmax.step.rollout", "rollout"),
    ],
    ids=["redmax"],
)
def test_a_rollout_compiles_to_ptx(integrator, robot, module, name, monkeypatch):
    point = getattr(importlib.import_module(module), name)

    def reached(*args):
        raise _ReachedError(tuple(numba.typeof(arg) for arg in args))

    monkeypatch.setattr(point, "_compile_for_args", reached)
    with pytest.raises(_ReachedError) as caught:
        la.simulate(la.robots.get(robot), steps=2, integrator=integrator)

    def kernel(args):
        point(*args)

    monkeypatch.undo()
    ptx = cuda_ptx(kernel, (types.BaseTuple.from_types(caught.value.args[0]),))
    assert ".visible .entry" in ptx
    assert "fma.rn.f64" in ptx
    assert "div.approx" not in ptx
