"""Loops the usual way: equations of accelerations in joint coordinates, integrated by Runge-Kutta, unstabilised."""

import numpy as np

import leastaction as la
from leastaction.dynamics.loops import violation

TINY = 1e-6


def accelerations(robot, q, v):
    """M a + G' l = tau - bias, G a = -dG/dt v."""
    M, G = la.dynamics.mass_matrix(robot, q), la.dynamics.loop_jacobian(robot, q)[1]
    ahead, behind = (la.dynamics.loop_jacobian(robot, robot.integrate(q, s * TINY * v))[1] for s in (1.0, -1.0))
    drift = (ahead - behind) @ v / (2.0 * TINY)
    n, m = len(v), len(G)
    K = np.block([[M, G.T], [G, np.zeros((m, m))]])
    rhs = np.concatenate([la.dynamics.passive_forces(robot, q, v) - la.dynamics.bias_forces(robot, q, v), -drift])
    return np.linalg.lstsq(K, rhs, rcond=1e-12)[0][:n]


def runge_kutta(robot, q, dt, steps):
    """Largest violation of the loop's equations at every step, from rest."""
    v, way = np.zeros(robot.nv), [q]
    for _ in range(steps):
        slopes, dq, dv = [], np.zeros(robot.nv), np.zeros(robot.nv)
        for share in (0.0, 0.5, 0.5, 1.0):
            vs = v + share * dt * dv
            a = accelerations(robot, robot.integrate(q, share * dt * dq), vs)
            slopes.append((vs, a))
            dq, dv = vs, a
        weights = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
        q = robot.integrate(q, dt * sum(w * s[0] for w, s in zip(weights, slopes, strict=True)))
        v = v + dt * sum(w * s[1] for w, s in zip(weights, slopes, strict=True))
        way.append(q)
    return violation(robot, np.array(way))
