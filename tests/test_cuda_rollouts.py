"""A whole rollout compiles for a GPU as it is, from the very arguments that `simulate` passes."""

import numba
import pytest
from numba import types

import leastaction as la
from leastaction._jit import cuda_ptx
from leastaction._jit.bound import Bound
from tests.test_cuda_ptx import pytestmark as needs_cuda

pytestmark = [needs_cuda, pytest.mark.slow, pytest.mark.cuda]


class _ReachedError(Exception):
    """Raised in place of a rollout, with its entry point and the types of its arguments."""


@pytest.mark.parametrize("integrator", [la.BDF(order=2), la.Maximal()], ids=["redmax", "maximal"])
def test_a_rollout_compiles_to_ptx(integrator, monkeypatch):
    def reached(self, *others):
        raise _ReachedError(self.entry, tuple(numba.typeof(value) for value in (*self.first, *others)))

    monkeypatch.setattr(Bound, "__call__", reached)
    with pytest.raises(_ReachedError) as caught:
        la.simulate(la.robots.pendulum(), steps=2, integrator=integrator)
    monkeypatch.undo()
    point, arguments = caught.value.args

    def kernel(args):
        point(*args)

    ptx = cuda_ptx(kernel, (types.BaseTuple.from_types(arguments),))
    assert ".visible .entry" in ptx
    assert "fma.rn.f64" in ptx
    assert "div.approx" not in ptx
