"""Kernels of the explicit methods.

All work on the configuration manifold: within a step, q = q_k + x with exponential coordinates x (Munthe-Kaas), so
that each keeps its order for ball and free joints.
"""

from leastaction._finite import is_finite
from leastaction._jit import entry, routine
from leastaction.dynamics.applied_forces import forced_accelerations
from leastaction.explicit.arrays import named_data, named_model, named_settings
from leastaction.kinematics.manifold import chart_rate, retract


@entry
def acceleration(model, data, q, v, u, acc):
    """One evaluation of the right-hand side."""
    forced_accelerations(named_model(*model), named_data(*data), q, v, u, acc)


@entry(nogil=True)
def runge_kutta(model, settings, data, U, Q, V):
    """Steps of an explicit Runge-Kutta method from row 0 of Q and V; returns the steps done.

    U: controls, shape (steps, stages, nu).
    """
    return _runge_kutta(named_model(*model), named_settings(*settings), named_data(*data), U, Q, V)


@routine
def _runge_kutta(model, settings, data, U, Q, V):
    """`runge_kutta`: an entry point copies its bundles for every call in its loops, a routine hands them on."""
    dt, tableau = settings
    # Loops run faster over arrays that are taken out of the tuple before.
    nodes, x, y, z, K = model.forces.nodes, data.x, data.y, data.z, data.K
    a, b = tableau.rows, tableau.weights
    stages = len(b)
    n = V.shape[1]
    for step in range(U.shape[0]):
        for s in range(stages):
            for k in range(n):
                x[k] = dt * a[s] * K[s - 1, 0, k] if s > 0 else 0.0
                y[k] = V[step, k] + (dt * a[s] * K[s - 1, 1, k] if s > 0 else 0.0)
            retract(nodes, Q[step], x, z)
            chart_rate(nodes, x, y, K[s, 0])
            forced_accelerations(model, data, z, y, U[step, s], K[s, 1])
        finite = True
        for k in range(n):
            dx = 0.0
            dv = 0.0
            for s in range(stages):
                dx += b[s] * K[s, 0, k]
                dv += b[s] * K[s, 1, k]
            x[k] = dt * dx
            V[step + 1, k] = V[step, k] + dt * dv
            finite = finite and is_finite(V[step + 1, k])
        if not finite:
            return step
        retract(nodes, Q[step], x, Q[step + 1])
    return U.shape[0]


@entry(nogil=True)
def semi_implicit(model, settings, data, U, Q, V):
    """Steps of semi-implicit (symplectic) Euler: the new velocity moves the configuration."""
    return _semi_implicit(named_model(*model), named_settings(*settings), named_data(*data), U, Q, V)


@routine
def _semi_implicit(model, settings, data, U, Q, V):
    """`semi_implicit`, see `_runge_kutta`."""
    dt = settings.dt
    nodes, x, y = model.forces.nodes, data.x, data.y
    for step in range(U.shape[0]):
        forced_accelerations(model, data, Q[step], V[step], U[step, 0], y)
        finite = True
        for k in range(V.shape[1]):
            V[step + 1, k] = V[step, k] + dt * y[k]
            x[k] = dt * V[step + 1, k]
            finite = finite and is_finite(V[step + 1, k])
        if not finite:
            return step
        retract(nodes, Q[step], x, Q[step + 1])
    return U.shape[0]
