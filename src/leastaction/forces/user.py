"""Forces that the user writes: a plain compiled function of the positions and velocities of points on bodies.

    @numba.njit
    def law(x, xd, f):            # world positions [m] and velocities [m/s] of the points, shape (count, 3)
        f[0] = -2.0 * xd[0]       # forces on the points [N], shape (count, 3), zero on entry

Kernels call such functions through their addresses, so a new one does not compile them anew.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from leastaction._jit import routine
from leastaction.errors import MechanismError
from leastaction.mechanism.elements import Attachment, attachment

_POINTER = types.CPointer(types.float64)
_SIGNATURE = types.void(_POINTER, _POINTER, _POINTER, _POINTER, types.intp)

STEP = 1e-30
"""Imaginary part of the complex step; so small that the derivative is exact to round-off."""


@dataclass(frozen=True)
class PointForce:
    """A force on points of bodies by a compiled function of their positions and velocities.

    Attributes:
        name: for messages.
        points: attachments, or (body, point [m]) pairs; the body may be "world".
        law: `numba.njit` function law(x, xd, f) that fills the forces f [N] on the points, shape (count, 3), from their
            world positions x [m] and velocities xd [m/s].
        slopes: `numba.njit` function slopes(x, xd, K, D) that fills K = df/dx and D = df/d(xd), shape (3 count, 3
            count); without one, law is called with complex numbers (complex step), which it must then be able to take.
    """

    name: str
    points: tuple[Any, ...]
    law: Any
    slopes: Any = None

    def __post_init__(self) -> None:
        points = tuple(attachment(p, f"force {self.name!r}") for p in self.points)
        if not points:
            raise MechanismError(f"force {self.name!r}: needs at least one point")
        object.__setattr__(self, "points", points)
        for function in (self.law, self.slopes):
            if function is not None and not hasattr(function, "py_func"):
                raise MechanismError(f"force {self.name!r}: expected a function compiled by numba.njit")
        if self.slopes is None:
            warnings.warn(
                f"force {self.name!r} comes without slopes: its derivatives are taken by the complex step, one call of "
                "its law per coordinate of its points",
                stacklevel=3,
            )

    @cached_property
    def calls(self) -> tuple[Any, Any]:
        """The two functions as C callbacks."""
        try:
            return _law_call(self.law), _slopes_call(self.law, self.slopes)
        except numba.errors.NumbaError as error:
            raise MechanismError(f"force {self.name!r}: its function does not compile: {error}") from None

    def attachments(self) -> tuple[Attachment, ...]:
        """The points."""
        return self.points


def _law_call(law: Any) -> Any:
    @numba.cfunc(_SIGNATURE)
    def call(x, xd, f, _, n):
        law(numba.carray(x, (n, 3)), numba.carray(xd, (n, 3)), numba.carray(f, (n, 3)))

    return call


def _slopes_call(law: Any, slopes: Any) -> Any:
    if slopes is not None:

        @numba.cfunc(_SIGNATURE)
        def given(x, xd, K, D, n):
            K, D = numba.carray(K, (3 * n, 3 * n)), numba.carray(D, (3 * n, 3 * n))
            slopes(numba.carray(x, (n, 3)), numba.carray(xd, (n, 3)), K, D)

        return given

    @numba.cfunc(_SIGNATURE)
    def stepped(x, xd, K, D, n):
        X, V = numba.carray(x, (n, 3)), numba.carray(xd, (n, 3))
        K, D = numba.carray(K, (3 * n, 3 * n)), numba.carray(D, (3 * n, 3 * n))
        Z, W = X + 0.0j, V + 0.0j
        f = np.zeros((n, 3), np.complex128)
        for j in range(3 * n):
            for which in range(2):
                varied = Z if which == 0 else W
                varied[j // 3, j % 3] += STEP * 1j
                f[:] = 0.0
                law(Z, W, f)
                varied[j // 3, j % 3] -= STEP * 1j
                out = K if which == 0 else D
                for i in range(3 * n):
                    out[i, j] = f[i // 3, i % 3].imag / STEP

    return stepped


def _call_typed(typingctx, address, a, b, c, d, n):
    """Call the C function at an address with four addresses of arrays and a count."""
    signature = types.void(*(types.int64,) * 6)

    def build(context, builder, signature, arguments):
        from llvmlite import ir

        word = ir.IntType(64)
        kind = ir.FunctionType(ir.VoidType(), [word] * 5)
        function = builder.inttoptr(arguments[0], kind.as_pointer())
        builder.call(function, arguments[1:])
        return context.get_dummy_value()

    return signature, build


_call: Any = intrinsic(_call_typed)


@routine
def call_user(address, x, xd, a, b, n):
    """Call a law (a: forces) or slopes (a: K, b: D) for n points."""
    _call(address, x.ctypes.data, xd.ctypes.data, a.ctypes.data, b.ctypes.data, n)


def user_arrays(forces: tuple[PointForce, ...], frames: Any, body_index: Any, point_dtype: Any) -> tuple[Any, ...]:
    """What kernels read of the forces.

    Args:
        forces: of an integrator.
        frames: `FRAME` records of the bodies in the kernels' nodes.
        body_index: function from a body's name to its index, -1 for the world.
        point_dtype: `NODE_POINT`.

    Returns:
        (addresses, spans, points, scratch x, xd, f, K, D); spans: first point and count of each force.
    """
    count = sum(len(f.points) for f in forces)
    most = max((len(f.points) for f in forces), default=0)
    points = np.zeros(count, point_dtype).view(np.recarray)
    spans, addresses = np.zeros((len(forces), 2), np.int64), np.zeros((len(forces), 2), np.int64)
    k = 0
    for i, force in enumerate(forces):
        spans[i] = k, len(force.points)
        addresses[i] = [c.address for c in force.calls]
        for p in force.points:
            b = body_index(p.body)
            local = np.array(p.point)
            if b < 0:
                points[k].node, points[k].p = -1, local
            else:
                points[k].node = frames[b].node
                points[k].p = frames[b].R.reshape(3, 3) @ local + frames[b].p
            k += 1
    x, xd, f = (np.zeros((most, 3)) for _ in range(3))
    # Square and dense for the force at hand: kernels hand out the first (3 n)^2 entries.
    return addresses, spans, points, x, xd, f, np.zeros(9 * most * most), np.zeros(9 * most * most)
