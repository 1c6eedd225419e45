"""Collocation at Lobatto points in the state (q, v), solved for the end of the step by Newton's method.

    trapezoidal:      y1 = y0 + dt/2 (f0 + f1)
    Hermite-Simpson:  y1 = y0 + dt/6 (f0 + 4 f(ym) + f1),   ym = (y0 + y1)/2 + dt/8 (f0 - f1)

The compressed form: the midpoint ym is no unknown of its own. These are the methods of Lobatto IIIA with 2
and 3 points, hence of order 2 and 4 (Fan 2018, Table 1, says 3: the order of the Hermite polynomial).
"""

import math

import numpy as np

from leastaction._jit import entry, inline, routine
from leastaction.collocation.arrays import CollocationSettings, named_data, named_model
from leastaction.collocation.collocation_jacobians import rate_slopes
from leastaction.dynamics.applied_forces import forced_accelerations
from leastaction.kinematics.manifold import chart_rate, retract
from leastaction.linalg.dense import multiply, solve_in_place


@routine
def rate(model, data, q, point, u):
    """The rate f(y) and the configuration at one point of the step that starts at q."""
    y, f, z = data.y[point], data.f[point], data.q[point]
    nodes = model.forces.nodes
    retract(nodes, q, y[0], z)
    chart_rate(nodes, y[0], y[1], f[0])
    forced_accelerations(model, data, z, y[1], u, f[1])


@routine
def residual(model, settings, data, q, u):
    """Defect of the step at the iterate; returns its norm."""
    y, f, r, dt = data.y, data.f, data.r, settings.dt
    last = u.shape[0] - 1
    rate(model, data, q, last, u[last])
    if last == 2:
        for h in range(2):
            for k in range(r.shape[1]):
                y[1, h, k] = 0.5 * (y[0, h, k] + y[2, h, k]) + 0.125 * dt * (f[0, h, k] - f[2, h, k])
        rate(model, data, q, last - 1, u[1])
    total = 0.0
    for h in range(2):
        for k in range(r.shape[1]):
            ends = f[0, h, k] + f[last, h, k]
            mean = 0.5 * ends if last == 1 else (ends + 4.0 * f[1, h, k]) / 6.0
            r[h, k] = y[last, h, k] - y[0, h, k] - dt * mean
            total += r[h, k] * r[h, k]
    return math.sqrt(total)


@routine
def direction(model, settings, data, u):
    """The Newton update of y at the end, data.update (2 nv, 1)."""
    y, f, z, r, d = data.y, data.f, data.q, data.r, data.update
    F, J, A, dt = data.F, data.J, data.A, settings.dt
    last = u.shape[0] - 1
    n = r.shape[1]
    rate_slopes(model, data, z[last], y[last], u[last], f[last, 1], F[last])
    if last == 1:
        _one_minus(0.5 * dt, F[1], J)
    else:
        rate_slopes(model, data, z[1], y[1], u[1], f[1, 1], F[1])
        # J = 1 - dt/6 (F2 + 4 F1 (1/2 - dt/8 F2))
        _one_minus(0.25 * dt, F[2], A)
        multiply(F[1], A, J)
        for k in range(2 * n):
            for c in range(2 * n):
                A[k, c] = 2.0 * J[k, c] + F[2, k, c]
        _one_minus(dt / 6.0, A, J)
    for k in range(n):
        d[k, 0] = -r[0, k]
        d[n + k, 0] = -r[1, k]
    solve_in_place(J, d)


@inline
def _one_minus(t, A, J):
    """J = 1 - t A."""
    for k in range(J.shape[0]):
        for c in range(J.shape[1]):
            J[k, c] = -t * A[k, c]
        J[k, k] += 1.0


@routine
def solve(model, settings, data, q, u):
    """Newton iterations from the iterate in y. Returns (iterations, converged).

    Converged: the update that would come next, estimated by how much the last one shrank the defect, is below
    the tolerance. data.history: norms of the defect.
    """
    y, d, tolerance = data.y, data.update, settings.tolerance
    last = u.shape[0] - 1
    n = data.r.shape[1]
    norm = residual(model, settings, data, q, u)
    data.history[0] = norm
    if norm == 0.0:
        return 0, True
    for it in range(1, settings.max_iterations + 1):
        direction(model, settings, data, u)
        size = 0.0
        for h in range(2):
            for k in range(n):
                x = d[h * n + k, 0]
                y[last, h, k] += x
                # A NaN must win: it fails every comparison from here on.
                if not abs(x) <= size:
                    size = abs(x)
        if not size < 1e12:
            return it, False
        new = residual(model, settings, data, q, u)
        data.history[it] = new
        if size <= tolerance or size * new <= tolerance * norm:
            return it, True
        norm = new
    return settings.max_iterations, False


@entry(nogil=True)
def rollout(model, settings, data, U, Q, V, its):
    """Steps from row 0 of Q and V; U: controls, shape (steps, points, nu). Returns the steps done."""
    model, settings, data = named_model(*model), CollocationSettings(*settings), named_data(*data)
    y, f, dt = data.y, data.f, settings.dt
    start, last = np.int64(0), U.shape[1] - 1  # a literal would compile `rate` twice
    n = V.shape[1]
    for step in range(U.shape[0]):
        for k in range(n):
            y[0, 0, k] = 0.0
            y[0, 1, k] = V[step, k]
        rate(model, data, Q[step], start, U[step, 0])
        for k in range(n):
            y[last, 0, k] = dt * (V[step, k] + 0.5 * dt * f[0, 1, k])
            y[last, 1, k] = V[step, k] + dt * f[0, 1, k]
        iterations, converged = solve(model, settings, data, Q[step], U[step])
        its[step + 1] = iterations
        if not converged:
            return step
        retract(model.forces.nodes, Q[step], y[last, 0], Q[step + 1])
        for k in range(n):
            V[step + 1, k] = y[last, 1, k]
    return U.shape[0]
