"""Response to impulses (displacements, penetration), and rows of the Newton equations for sliding friction."""

from math import sqrt

from leastaction._jit import inline, routine
from leastaction.contact.solver.islands import range_of

TANGENTIAL = 1e-2
"""Tangential compliance of a contact, relative to its normal compliance.

A box under a horizontal load of 1.4 m/s^2 (wind) creeps by 4e-13 m in a step of 0.005 s. Among the gradients of 40
tumbling cubes by their initial velocity, none has an error above 1e-4, with 1e-2 as with 1."""

GIVING = 1e-6
"""Lower bound of a tangential diagonal entry of W, relative to the normal one."""


@inline
def depth_of(lam, compliance, deepest, give):
    """Penetration of a contact by its impulse [m], derivative by the impulse, and tangential compliance.

    Args:
        give: compliance of a soft contact (`laws.soft_contact`), else 0; its tangential compliance is that of a rigid
            contact.
    """
    if compliance <= 0.0:
        return 0.0, 0.0, 0.0
    if give > 0.0:
        return give * lam, give, TANGENTIAL * compliance
    share = deepest / (deepest + compliance * max(lam, 0.0))
    return share * compliance * lam, share * share * compliance, TANGENTIAL * share * compliance


@inline
def stiffness(W, o, k):
    """Largest eigenvalue of the 2 x 2 block of W of impulses k and k + 1, at least `GIVING` times the normal entry of
    impulse o: the inverse step length of the projection."""
    a, b, c = W[k, k], W[k + 1, k + 1], 0.5 * (W[k, k + 1] + W[k + 1, k])
    return max(0.5 * (a + b + sqrt((a - b) * (a - b) + 4.0 * c * c)), GIVING * W[o, o])


@inline
def within(f1, f2, most):
    """Factor that projects the vector (f1, f2) radially on the disc of radius `most`."""
    size = sqrt(f1 * f1 + f2 * f2)
    return most / size if size > most else 1.0


@routine
def add(touch, n, k, change):
    """Update the displacements w of the active impulses for a change of impulse k."""
    w, which, row = touch.w, touch.which, touch.W[k]
    low, high = range_of(touch.found, k, n)
    for m in range(low, high):
        w[which[m]] += row[which[m]] * change


@routine
def add_three(touch, n, k, changes):
    """Update w for changes of the three impulses k, k + 1, k + 2 of a contact, which act on the same rows."""
    w, which, W = touch.w, touch.which, touch.W
    e0, e1, e2 = changes
    low, high = range_of(touch.found, k, n)
    for m in range(low, high):
        j = which[m]
        w[j] += W[k, j] * e0 + W[k + 1, j] * e1 + W[k + 2, j] * e2


@routine
def disc_rows(touch, o, at, mu, i, low, high):
    """Replace the sticking rows of impulses o + at and o + at + 1 by Newton rows of sliding friction, if they slide.

    Args:
        o: index of the normal impulse of the contact; at: offset of the first of the two friction impulses.
        mu: radius of the friction disc per unit of normal impulse.
        i: row of impulse o in the equations; low, high: range of columns with entries.
    """
    W, w, lam, M, d, a, b = touch.W, touch.w, touch.lam, touch.M, touch.d, i + at, i + at + 1
    k, f1, f2 = stiffness(W, o, o + at), lam[o + at], lam[o + at + 1]
    x1, x2 = f1 - w[o + at] / k, f2 - w[o + at + 1] / k
    length, most = sqrt(x1 * x1 + x2 * x2), mu * max(lam[o], 0.0)
    if length > most:
        x1, x2, share = x1 / length, x2 / length, most / length
        # d_t - mu x d_n - share (1 - x x^T)(d_t - W d / k) = mu lam_n x - lam_t
        p11, p12, p22 = share * x2 * x2, -share * x1 * x2, share * x1 * x1
        for j in range(low, high):
            a1, a2 = M[a, j] / k, M[b, j] / k
            M[a, j], M[b, j] = p11 * a1 + p12 * a2, p12 * a1 + p22 * a2
        M[a, a] += 1.0 - p11
        M[a, b] -= p12
        M[b, a] -= p12
        M[b, b] += 1.0 - p22
        M[a, i] -= mu * x1
        M[b, i] -= mu * x2
        d[a], d[b] = most * x1 - f1, most * x2 - f2
