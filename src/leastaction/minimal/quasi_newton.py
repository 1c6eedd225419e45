"""Quasi-Newton method of Lee et al. 2016, to compare with.

Lee, Liu, Park and Srinivasa, A Linear-Time Variational Integrator for Multibody Systems, WAFR 2016. The
derivative of the residual is replaced by -M / dt: the residual is taken for an impulse, and the update is how
far its response in velocity carries the mechanism in one step,

    dx = dt M(q)^-1 r,

by an articulated-body recursion at the end of the present iterate. Steps of order 2 only. Converges linearly.
"""

from leastaction._jit import routine
from leastaction.dynamics import recursions
from leastaction.minimal.newton import finish, from_split, newton, to_split
from leastaction.minimal.predict import predict
from leastaction.minimal.residual import next_momentum, start_point


@routine
def direction(model, rule, work, var, solver, dt, dx):
    """dx[0]: the response to the residual; `solver`: records of the classical recursions, at rest."""
    links, screws, external, zero3, zero = solver
    pts, scr, r = work[0], work[1], work[10]
    nodes, dofs = model[0], model[1]
    al = pts.shape[0] - 1
    for i in range(nodes.shape[0]):
        for c in range(10):
            links[i].M[c] = pts[al, i].M[c]
    for k in range(dofs.shape[0]):
        for c in range(6):
            screws[k].S[c] = scr[al, k].S[c]
    recursions.accelerations(nodes, dofs, zero3, links, screws, zero, r[0], external, dx[0])
    for k in range(dofs.shape[0]):
        dx[0, k] *= dt


@routine
def rollout(d, problem, U, dt, settings, Q, P, its):
    """As `newton.rollout`, with one plain attempt per step: no shortened updates, no second guess.

    `d`: `direction`, handed in because Numba keeps no kernels on disk that name a function as a value.
    """
    model, forces, free, rule, work, var, solver, _, classical, split, dx, history, _ = problem
    X = work[5]
    for k in range(U.shape[0]):
        predict(forces, rule, classical, X, Q[k], P[k], U[k, 0], dt, 0)
        start_point(model, rule, work, Q[k])
        to_split(free, Q[k], P[k], split)
        its[k + 1], converged = newton(
            d,
            model,
            rule,
            work,
            var,
            solver,
            split,
            U[k],
            dt,
            settings[0],
            settings[1],
            1e12,
            dx,
            history,
        )
        if not converged:
            return k
        finish(model[0], Q[k], X, Q[k + 1])
        next_momentum(model, rule, free, work, split, dt)
        from_split(free, Q[k + 1], split, P[k + 1])
    return U.shape[0]
