"""The sweeps of `ilqr` over the quadratic model of a motion: from the end to the start, and along the linear motion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import entry
from leastaction.kinematics.manifold import displacement
from leastaction.mechanism.arguments import FloatArray
from leastaction.optimize.shooting.projected_newton import BoxScratch, box_minimum, solve_free
from leastaction.optimize.shooting.stage_costs import Quadratic


class Steps(NamedTuple):
    """Linear steps.

    Attributes:
        A, B: derivatives by states (N, n, n) and controls (N, n, m).
        gaps: what each ends beyond the state after it, shape (N, n).
        lower, upper: room of the controls below and above, shape (N, m).
    """

    A: FloatArray
    B: FloatArray
    gaps: FloatArray
    lower: FloatArray
    upper: FloatArray


class Policy(NamedTuple):
    """What a sweep back finds.

    Attributes:
        k: changes of the controls, shape (N, m).
        K: feedback, shape (N, m, n).
        S: second derivatives of the cost to go, shape (N + 1, n, n).
    """

    k: FloatArray
    K: FloatArray
    S: FloatArray


class SweepScratch(NamedTuple):
    """Arrays of one step, named as in `sweep_back`."""

    slope: FloatArray
    ahead: FloatArray
    Qx: FloatArray
    SA: FloatArray
    SB: FloatArray
    Quu: FloatArray
    H: FloatArray
    Qux: FloatArray
    Qu: FloatArray
    low: FloatArray
    high: FloatArray
    change: FloatArray
    free: NDArray[np.int64]
    column: FloatArray
    box: BoxScratch


@entry
def sweep_back(model, steps, firmness, found, work):
    """Minimise, step by step from the end, the model of what is still to come over the controls within their bounds.

    Args:
        model: `Quadratic` of the cost.
        steps: `Steps`.
        firmness: weight of changes of controls, relative to the largest second derivative by them.
        found: `Policy` that is written.
        work: `SweepScratch`.

    Returns:
        The largest slope of the cost to go by the states; negative where a step is not convex.
    """
    mx, mu, mxx, mux, muu = model
    A, B, gaps, lower, upper = steps
    k, K, S = found
    slope, ahead, Qx, SA, SB, Quu, H, Qux, Qu, low, high, change, free, column, box = work
    N, m, n = K.shape
    steepest = 0.0
    for r in range(n):
        slope[r] = mx[N, r]
        steepest = max(steepest, abs(slope[r]))
        for c in range(n):
            S[N, r, c] = mxx[N, r, c]
    for i in range(N - 1, -1, -1):
        for r in range(n):
            ahead[r] = slope[r]
            for c in range(n):
                ahead[r] += S[i + 1, r, c] * gaps[i, c]
            Qx[r] = mx[i, r]
            for c in range(n):
                SA[r, c] = 0.0
            for c in range(m):
                SB[r, c] = 0.0
        for r in range(n):
            for l in range(n):
                t = S[i + 1, r, l]
                for c in range(n):
                    SA[r, c] += t * A[i, l, c]
                for c in range(m):
                    SB[r, c] += t * B[i, l, c]
        for r in range(m):
            Qu[r] = mu[i, r]
            for c in range(n):
                Qux[r, c] = mux[i, r, c]
            for c in range(m):
                Quu[r, c] = muu[i, r, c]
        for l in range(n):
            t = ahead[l]
            for c in range(n):
                Qx[c] += A[i, l, c] * t
            for r in range(m):
                b = B[i, l, r]
                Qu[r] += b * t
                for c in range(n):
                    Qux[r, c] += b * SA[l, c]
                for c in range(m):
                    Quu[r, c] += b * SB[l, c]
        firm = 1.0
        for r in range(m):
            firm = max(firm, abs(Quu[r, r]))
        for r in range(m):
            low[r], high[r], change[r] = lower[i, r], upper[i, r], 0.0
            for c in range(m):
                H[r, c] = Quu[r, c]
            H[r, r] += firmness * firm
        count = box_minimum(H, Qu, low, high, change, free, box)
        if count < 0:
            return -1.0
        for r in range(m):
            k[i, r] = change[r]
            for c in range(n):
                K[i, r, c] = 0.0
        for c in range(n):
            for r in range(count):
                column[r] = -Qux[free[r], c]
            solve_free(box.L, count, column)
            for r in range(count):
                K[i, free[r], c] = column[r]
        # Gradient and second derivatives of the cost to go under these controls.
        for c in range(n):
            slope[c] = Qx[c]
            for l in range(n):
                S[i, c, l] = mxx[i, c, l]
        for l in range(n):
            for r in range(n):
                t = A[i, l, r]
                for c in range(n):
                    S[i, r, c] += t * SA[l, c]
        for r in range(m):
            t = Qu[r]
            for c in range(m):
                t += Quu[r, c] * change[c]
            for c in range(n):
                slope[c] += K[i, r, c] * t + Qux[r, c] * change[r]
                column_of = Qux[r, c]
                for l in range(m):
                    column_of += Quu[r, l] * K[i, l, c]
                SB[c, r] = column_of  # (Quu K + Qux)' ; SB is free again
        for r in range(n):
            for l in range(m):
                a, b = K[i, l, r], Qux[l, r]
                for c in range(n):
                    S[i, r, c] += a * SB[c, l] + b * K[i, l, c]
        for r in range(n):
            for c in range(r):
                S[i, r, c] = S[i, c, r] = 0.5 * (S[i, r, c] + S[i, c, r])
            steepest = max(steepest, abs(slope[r]))
    return steepest


@entry
def sweep_along(model, steps, found, work):
    """Slope of the cost along the linear motion, and half its curvature; arguments as of `sweep_back`."""
    mx, mu, mxx, mux, muu = model
    A, B, gaps, _, _ = steps
    k, K, _ = found
    x, ahead, u = work.slope, work.ahead, work.change
    N, m, n = K.shape
    slope, second = 0.0, 0.0
    for r in range(n):
        x[r] = 0.0
    for i in range(N + 1):
        for r in range(n):
            t = 0.0
            for c in range(n):
                t += mxx[i, r, c] * x[c]
            slope += mx[i, r] * x[r]
            second += 0.5 * x[r] * t
        if i == N:
            break
        for r in range(m):
            u[r] = k[i, r]
            for c in range(n):
                u[r] += K[i, r, c] * x[c]
        for r in range(m):
            t = 0.0
            for c in range(m):
                t += 0.5 * muu[i, r, c] * u[c]
            for c in range(n):
                t += mux[i, r, c] * x[c]
            slope += mu[i, r] * u[r]
            second += u[r] * t
        for r in range(n):
            ahead[r] = gaps[i, r]
            for c in range(n):
                ahead[r] += A[i, r, c] * x[c]
            for c in range(m):
                ahead[r] += B[i, r, c] * u[c]
        for r in range(n):
            x[r] = ahead[r]
    return slope, second


@entry
def act(nodes, around, found, bounds, x, i, share, motion):
    """u of step i of a motion (q, p, u): a share of the change, and the feedback of what it is off by.

    Args:
        nodes: joints of the tree.
        around: q, p, u of the motion that changes and feedback belong to.
        found: changes k and feedback K, see `sweep_back`.
        bounds: of the controls, shape (m,) each.
        x: scratch, shape (n,).
        i, share: see above.
        motion: positions, momenta and controls; the latter are written.
    """
    q0, p0, u0 = around
    q, p, u = motion
    k, K = found
    nv = p.shape[1]
    displacement(nodes, q0[i], q[i], x, 0)
    for r in range(nv):
        x[nv + r] = p[i, r] - p0[i, r]
    for r in range(k.shape[1]):
        t = u0[i, r] + share * k[i, r]
        for c in range(2 * nv):
            t += K[i, r, c] * x[c]
        u[i, r] = min(max(t, bounds[0][r]), bounds[1][r])


class Sweeps:
    """Both sweeps, for motions of N steps with n numbers of a state and m controls.

    Args:
        N, n, m: see above.
    """

    def __init__(self, N: int, n: int, m: int) -> None:
        self._shape = N, n, m
        sizes = (n,), (n,), (n,), (n, n), (n, m), (m, m), (m, m), (m, n), (m,), (m,), (m,), (m,)
        box = BoxScratch(np.zeros((m, m)), np.zeros(m), np.zeros(m), np.zeros(m))
        self._work = SweepScratch(*map(np.zeros, sizes), free=np.zeros(m, np.int64), column=np.zeros(m), box=box)

    def __call__(self, model: Quadratic, steps: Steps, firmness: float) -> tuple[Policy, float] | None:
        """The policy, and the largest slope of its cost to go; None: not convex. See `sweep_back`."""
        N, n, m = self._shape
        found = Policy(np.zeros((N, m)), np.zeros((N, m, n)), np.zeros((N + 1, n, n)))
        steepest = sweep_back(model, steps, firmness, found, self._work)
        return (found, steepest) if steepest >= 0.0 else None

    def along(self, model: Quadratic, steps: Steps, found: Policy) -> tuple[float, float]:
        """Slope of the cost along the linear motion, and half its curvature."""
        return sweep_along(model, steps, found, self._work)
