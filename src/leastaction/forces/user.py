"""User-defined forces: a compiled function of the positions and velocities of points on bodies.

    @numba.njit
    def law(x, xd, f):            # world positions [m] and velocities [m/s] of the points, shape (count, 3)
        f[0] = -2.0 * xd[0]       # forces on the points [N], shape (count, 3), zero on entry

Kernels call such functions through their addresses, so a new function does not recompile them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from leastaction._jit import inline, routine
from leastaction.errors import MechanismError
from leastaction.forces.arrays import UserForces
from leastaction.forces.points import (
    NODE_POINT,
    add_point_gradients,
    path_point,
    point_slope,
    pull,
    pull_slope,
    virtual_velocity,
)
from leastaction.mechanism.elements import Attachment, attachment
from leastaction.spatial import ZERO3, add3, cross
from leastaction.warn import warn

_POINTER = types.CPointer(types.float64)
_SIGNATURE = types.void(_POINTER, _POINTER, _POINTER, _POINTER, types.intp)

STEP = 1e-30
"""Imaginary part of the complex step, so small that the derivative is exact to round-off."""


@dataclass(frozen=True)
class PointForce:
    """A force on points of bodies, given by a compiled function of their positions and velocities.

    Attributes:
        name: name in messages.
        points: attachments, or (body, point [m]) pairs; the body may be "world".
        law: `numba.njit` function law(x, xd, f) that fills the forces f [N] on the points, shape (count, 3), from their
            world positions x [m] and velocities xd [m/s].
        slopes: `numba.njit` function slopes(x, xd, K, D) that fills K = df/dx and D = df/d(xd), shape (3 count, 3
            count); if None, `law` is called with complex numbers (complex step), which it then has to support.
    """

    name: str
    points: tuple[Attachment, ...]
    law: Callable[..., None]
    slopes: Callable[..., None] | None = None

    def __post_init__(self) -> None:
        points = tuple(attachment(p, f"force {self.name!r}") for p in self.points)
        if not points:
            raise MechanismError(f"force {self.name!r}: needs at least one point")
        object.__setattr__(self, "points", points)
        for function in (self.law, self.slopes):
            if function is not None and not hasattr(function, "py_func"):
                raise MechanismError(f"force {self.name!r}: expected a function compiled by numba.njit")
        if self.slopes is None:
            warn(
                f"force {self.name!r} comes without slopes: its derivatives are taken by the complex step, one call of "
                "its law per coordinate of its points"
            )

    @cached_property
    def calls(self) -> tuple[Any, Any]:
        """The functions `law` and `slopes` as C callbacks."""
        try:
            return _law_call(self.law), _slopes_call(self.law, self.slopes)
        except numba.errors.NumbaError as error:
            raise MechanismError(f"force {self.name!r}: its function does not compile: {error}") from None

    def attachments(self) -> tuple[Attachment, ...]:
        """The points as attachments."""
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
    """Call the C function at an address with the addresses of four arrays and a count."""
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


def user_forces(forces: tuple[PointForce, ...], frames: Any, body_index: Any) -> UserForces:
    """Compile the records of user-defined forces for kernels.

    Args:
        forces: the user's forces.
        frames: `FRAME` records of the bodies in the kernels' nodes.
        body_index: function from a body's name to its index, -1 for the world.
    """
    points: Any = np.zeros(sum(len(f.points) for f in forces), NODE_POINT).view(np.recarray)
    spans, addresses = np.zeros((len(forces), 2), np.int64), np.zeros((len(forces), 2), np.int64)
    k = 0
    for i, force in enumerate(forces):
        spans[i] = k, len(force.points)
        addresses[i] = [c.address for c in force.calls]
        for p in force.points:
            b = body_index(p.body)
            local = np.array(p.point)
            points[k].node, points[k].p = -1, local
            if b >= 0:
                points[k].node = frames[b].node
                points[k].p = frames[b].R.reshape(3, 3) @ local + frames[b].p
            k += 1
    return UserForces(addresses, spans, points)


@routine
def _place(user, scratch, k, links):
    """Compute positions and velocities of force k's points in the scratch; returns first point and count."""
    first, count = user.spans[k, 0], user.spans[k, 1]
    for j in range(count):
        p, v = path_point(user.points[first + j], links)
        for c in range(3):
            scratch.x[j, c], scratch.xd[j, c] = p[c], v[c]
            scratch.f[j, c] = 0.0
    return first, count


@routine
def _force(user, scratch, k, links):
    """Evaluate force k in the scratch; returns its first point and count."""
    first, n = _place(user, scratch, k, links)
    call_user(user.addresses[k, 0], scratch.x, scratch.xd, scratch.f, scratch.K, n)
    return first, n


@routine
def _force_and_slopes(user, scratch, k, links):
    """Evaluate force k with its stiffness and damping in the scratch; returns its first point and count."""
    first, n = _force(user, scratch, k, links)
    for j in range(9 * n * n):
        scratch.K[j] = 0.0
        scratch.D[j] = 0.0
    call_user(user.addresses[k, 1], scratch.x, scratch.xd, scratch.K, scratch.D, n)
    return first, n


@inline
def _row(a, i):
    return (a[i, 0], a[i, 1], a[i, 2])


@inline
def _block(K, n, i, j, d):
    """Block (i, j) of a matrix (3 n, 3 n) of 3 x 3 blocks, times d (3)."""
    a, b, c = 3 * i * 3 * n + 3 * j, (3 * i + 1) * 3 * n + 3 * j, (3 * i + 2) * 3 * n + 3 * j
    return (
        K[a] * d[0] + K[a + 1] * d[1] + K[a + 2] * d[2],
        K[b] * d[0] + K[b + 1] * d[1] + K[b + 2] * d[2],
        K[c] * d[0] + K[c + 1] * d[1] + K[c + 2] * d[2],
    )


@inline
def _block_transposed(K, n, i, j, w):
    """Transposed block (i, j) of a matrix (3 n, 3 n) of 3 x 3 blocks, times w (3)."""
    a, b, c = 3 * i * 3 * n + 3 * j, (3 * i + 1) * 3 * n + 3 * j, (3 * i + 2) * 3 * n + 3 * j
    return (
        K[a] * w[0] + K[b] * w[1] + K[c] * w[2],
        K[a + 1] * w[0] + K[b + 1] * w[1] + K[c + 1] * w[2],
        K[a + 2] * w[0] + K[b + 2] * w[1] + K[c + 2] * w[2],
    )


@routine
def wrenches(user, scratch, links, external):
    """Add the world wrenches to `external`, shape (nodes, 6)."""
    for k in range(user.addresses.shape[0]):
        first, n = _force(user, scratch, k, links)
        for j in range(n):
            pull(external, user.points[first + j].node, _row(scratch.x, j), _row(scratch.f, j))


@routine
def slopes(user, scratch, links, T, dV, out):
    """Add the directional derivatives of the wrenches (JVP)."""
    x, points = scratch.x, user.points
    for k in range(user.addresses.shape[0]):
        first, n = _force_and_slopes(user, scratch, k, links)
        for i in range(n):
            df = ZERO3
            for j in range(n):
                dx, dv = point_slope(points[first + j].node, _row(x, j), links, T, dV)
                df = add3(df, add3(_block(scratch.K, n, i, j, dx), _block(scratch.D, n, i, j, dv)))
            dx, _ = point_slope(points[first + i].node, _row(x, i), links, T, dV)
            pull_slope(out, points[first + i].node, _row(x, i), dx, _row(scratch.f, i), df)


@routine
def cotangents(user, scratch, links, cot, GT, GV, of_points):
    """Reverse mode (VJP); of_points (points, 3): by the positions of the points."""
    x, points = scratch.x, user.points
    for k in range(user.addresses.shape[0]):
        first, n = _force_and_slopes(user, scratch, k, links)
        for j in range(n):
            W, _ = virtual_velocity(points[first + j].node, cot, _row(x, j))
            gx, gxd = cross(_row(scratch.f, j), W), ZERO3
            for i in range(n):
                _, w = virtual_velocity(points[first + i].node, cot, _row(x, i))
                gx = add3(gx, _block_transposed(scratch.K, n, i, j, w))
                gxd = add3(gxd, _block_transposed(scratch.D, n, i, j, w))
            add_point_gradients(points[first + j].node, _row(x, j), gx, gxd, links, GT, GV, of_points[first + j])
