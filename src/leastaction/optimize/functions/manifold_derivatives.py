"""Derivatives of moves and differences on the configuration manifold, for many configurations at once.

Configurations of an optimiser are q = `Mechanism.integrate`(reference, x) with unknowns x. Where all joints have single
axes these maps are additions, and all matrices here are None: the identity. Ball and free joints have blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.mechanism import Mechanism
from leastaction.optimize.functions.exponential_jacobians import left_jacobians
from leastaction.typing import FloatArray

CENTRAL_STEP = 1e-5
"""Step of central differences along the tangent [rad or m]: near the cube root of round-off, where what they leave out
(the square of the step) and what round-off adds (1e-16 over the step) are both about 1e-10."""

COMPLEX_STEP = 1e-30
"""Imaginary part by which a complex step differentiates: nothing is subtracted, so its square need only vanish."""

Matrices = FloatArray | None
"""Shape (rows, nv, nv); None: the identity."""


class Tangents:
    """Block-diagonal derivatives for one mechanism."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism

    @cached_property
    def groups(self) -> tuple[slice, ...]:
        """Degrees of freedom of each ball and free joint."""
        return tuple(slice(g.iv, g.iv + g.nv) for g in self.mechanism.coordinate_groups if g.nv > 1)

    @property
    def curved(self) -> bool:
        """Whether there are ball or free joints."""
        return bool(self.groups)

    def retraction(self, x: FloatArray) -> Matrices:
        """d integrate(q, x) / dx along the tangent at its end: J_r(x)."""
        return self._blocks(x, lambda y: left_jacobian(-y))

    def differences(self, x: FloatArray) -> tuple[Matrices, Matrices]:
        """Derivatives of x = difference(a, b) when b or a moves along its own tangent: J_r^-1(x) and J_l^-1(x).

        The second one has its sign omitted: dx = J_r^-1 db - J_l^-1 da.
        """
        by_end = self._blocks(x, lambda y: np.linalg.inv(left_jacobian(-y)))
        by_start = self._blocks(x, lambda y: np.linalg.inv(left_jacobian(y)))
        return by_end, by_start

    def middles(self, x: FloatArray) -> tuple[Matrices, Matrices]:
        """Twice the derivatives of integrate(a, difference(a, b) / 2) when b or a moves along its own tangent."""
        half = self.retraction(0.5 * x)
        by_end, by_start = self.differences(x)
        if half is None or by_end is None or by_start is None:
            return None, None
        back = self._blocks(-0.5 * x, transport)
        assert back is not None
        return half @ by_end, 2.0 * back - half @ by_start

    def _blocks(self, x: FloatArray, function: Callable[[FloatArray], Any]) -> Matrices:
        if not self.curved:
            return None
        out = np.zeros((*x.shape, x.shape[-1])) + np.eye(x.shape[-1])
        for group in self.groups:
            out[..., group, group] = function(x[..., group])
        return out

    def curvature(self, x: FloatArray, gradient: FloatArray) -> Matrices:
        """Second derivatives of gradient . integrate(q, x) by x; gradient (rows, nv): along the tangent at its end.

        f(integrate(q, x)) has the Hessian J^T T J + this, with T of f along the tangent, made symmetric.
        """
        return self._blocks_of(x, gradient, lambda y, g: even(-left_jacobian_slopes(-y, g)))

    def difference_hessian(self, x: FloatArray, gradient: FloatArray) -> Matrices:
        """Second derivatives of gradient . difference(a, b), made symmetric, when b moves along its own tangent."""
        return self._blocks_of(x, gradient, _difference_hessian)

    def brackets(self, x: FloatArray) -> Matrices:
        """Row a: the Lie bracket of unit a with x (rows, nv); zero for joints with single axes."""
        if not self.curved:
            return None
        out = np.zeros((*x.shape, x.shape[-1]))
        for group in self.groups:
            out[..., group, group] = -np.swapaxes(_adjoint(x[..., group]), -1, -2)
        return out

    def _blocks_of(self, x: FloatArray, gradient: FloatArray, function: Callable[[Any, Any], Any]) -> Matrices:
        if not self.curved:
            return None
        out = np.zeros((*x.shape, x.shape[-1]))
        for group in self.groups:
            out[..., group, group] = function(x[..., group], gradient[..., group])
        return out

    def spread(self, pattern: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Columns (..., nv) that products with the blocks may fill."""
        out = pattern.copy()
        for group in self.groups:
            out[..., group] = pattern[..., group].any(axis=-1, keepdims=True)
        return out

    def joined(self, pattern: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Entries (nv, nv) that second derivatives by the unknowns may fill, from those along the tangents."""
        out = self.spread(self.spread(pattern).T).T
        for group in self.groups:  # the unknowns of a joint curve the motion of what moves with it
            out[group, group] = True
        return out


def times(slopes: FloatArray, matrices: Matrices) -> FloatArray:
    """slopes (rows, m, nv) times matrices."""
    return slopes if matrices is None else slopes @ matrices


def _hat(w: FloatArray) -> FloatArray:
    out = np.zeros((*w.shape, 3), w.dtype)
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -w[..., 2], w[..., 1], -w[..., 0]
    return out - np.swapaxes(out, -1, -2)


def _adjoint(x: FloatArray) -> FloatArray:
    """ad of rotation vectors (..., 3) or twists (..., 6), angular first."""
    if x.shape[-1] == 3:
        return _hat(x)
    out = np.zeros((*x.shape, 6), x.dtype)
    out[..., :3, :3] = out[..., 3:, 3:] = _hat(x[..., :3])
    out[..., 3:, :3] = _hat(x[..., 3:])
    return out


def left_jacobian(x: Any) -> Any:
    """J_l(x) of the exponential map, for rotation vectors (..., 3) or twists (..., 6), real or complex."""
    n = x.shape[-1]
    flat = np.ascontiguousarray(x).reshape(-1, n)
    out, A, B = np.empty((len(flat), n, n), x.dtype), np.empty((n, n), x.dtype), np.empty((n, n), x.dtype)
    left_jacobians(flat, A, B, out)
    return out.reshape(*x.shape, n)


def transport(x: FloatArray) -> FloatArray:
    """Ad of exp(x): the exponential of ad(x), 1 + ad(x) J_l(x)."""
    return np.eye(x.shape[-1]) + _adjoint(x) @ left_jacobian(x)


def left_jacobian_slopes(x: FloatArray, g: FloatArray) -> FloatArray:
    """Derivative of g . J_l(x) e_a along e_b, for all a and b: shape (..., n, n) for x and g of shape (..., n).

    Complex numbers carry the derivative: x + i h e_b with so small an h that it is exact to round-off.
    """
    n = x.shape[-1]
    moved = x[..., None, :] + 1e-30j * np.eye(n)
    return np.einsum("...m,...bma->...ab", g, left_jacobian(moved).imag / 1e-30)


def even(A: FloatArray) -> FloatArray:
    """The symmetric parts of matrices."""
    return 0.5 * (A + np.swapaxes(A, -1, -2))


def _difference_hessian(x: FloatArray, g: FloatArray) -> FloatArray:
    # d(J^-1) = -J^-1 dJ J^-1, with J = J_r.
    inverse = np.linalg.inv(left_jacobian(-x))
    g = np.einsum("...m,...ma->...a", g, inverse)
    return np.swapaxes(inverse, -1, -2) @ even(left_jacobian_slopes(-x, g)) @ inverse
