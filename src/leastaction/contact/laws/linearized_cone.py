"""Linearised (polyhedral) friction cone (Bruedigam 2023, Eq. 27), used by `cones`."""

import math

from leastaction._jit import inline, routine


@inline
def direction(i, n):
    """Return unit vector i of n equally spaced directions in the tangent plane."""
    return math.cos(2.0 * math.pi * i / n), math.sin(2.0 * math.pi * i / n)


@inline
def rise(product, kappa):
    """Return the required change of a complementarity product: to kappa, or 0 if kappa is `HOLD`."""
    return kappa - product if kappa >= 0.0 else 0.0


@routine(allocates=False)
def linear_step(c, dgam, ds, u1, u2, kappa, second):
    """`local_step` for the linearised cone (Eq. 27); `cones.take` repeats it for the parts beta_i and eta_i."""
    total, weight = 0.0, 0.0
    n = c.directions
    for i in range(n):
        b0, b1 = direction(i, n)
        q = c.dpart[i] * c.deta[i] if second == 1 else 0.0
        r = c.eta[i] - (b0 * c.y[0] + b1 * c.y[1] + c.psi)
        k = c.part[i] / c.eta[i]
        total += (rise(c.part[i] * c.eta[i], kappa) - q) / c.eta[i] - k * (b0 * u1 + b1 * u2 - r)
        weight += k
    q = c.dsigma * c.dpsi if second == 1 else 0.0
    load = 0.0
    for i in range(n):
        load += c.part[i]
    r = c.sigma - (c.mu * c.gam - load)
    dpsi = (rise(c.sigma * c.psi, kappa) - q - c.psi * (c.mu * dgam - total - r)) / (c.sigma + c.psi * weight)
    f0, f1 = 0.0, 0.0
    for i in range(n):
        b0, b1 = direction(i, n)
        q = c.dpart[i] * c.deta[i] if second == 1 else 0.0
        r = c.eta[i] - (b0 * c.y[0] + b1 * c.y[1] + c.psi)
        k = c.part[i] / c.eta[i]
        step = (rise(c.part[i] * c.eta[i], kappa) - q) / c.eta[i] - k * (b0 * u1 + b1 * u2 - r + dpsi)
        f0 += step * b0
        f1 += step * b1
    return dgam, f0, f1, ds, dpsi, u1, u2


@routine(allocates=False)
def begin_linear(c, bound, kappa):
    """`cones.begin` for the linearised cone: psi by bisection of sum kappa / eta_i + kappa / psi = bound."""
    low = 0.0
    for i in range(c.directions):
        b0, b1 = direction(i, c.directions)
        low = max(low, -(b0 * c.y[0] + b1 * c.y[1]))
    high = low + (c.directions + 1) * kappa / bound
    for _ in range(50):
        psi = 0.5 * (low + high)
        total = kappa / psi
        for i in range(c.directions):
            b0, b1 = direction(i, c.directions)
            eta = b0 * c.y[0] + b1 * c.y[1] + psi
            total += kappa / eta if eta > 0.0 else 1e300
        if total > bound:
            low = psi
        else:
            high = psi
    c.psi = high
    c.sigma = kappa / high
    for i in range(c.directions):
        b0, b1 = direction(i, c.directions)
        c.eta[i] = b0 * c.y[0] + b1 * c.y[1] + high
        c.part[i] = kappa / c.eta[i]
        c.beta[0] += c.part[i] * b0
        c.beta[1] += c.part[i] * b1
