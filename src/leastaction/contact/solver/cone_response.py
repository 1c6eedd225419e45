"""What impulses of cones bring about: motions, depths, and the rows of Newton's equations where friction slides."""

from math import sqrt

from leastaction._jit import inline, routine
from leastaction.contact.solver.islands import range_of

TANGENTIAL = 1e-2
"""Compliance along the tangents, relative to that along the normal.

A box that wind pushes with 1.4 m / s^2 creeps by 4e-13 m in a step of 0.005 s. Of the gradients of 40 cubes that tumble
over the ground by the initial velocity none is off by more than 1e-4 with 1e-2 or 1."""

GIVING = 1e-6
"""Least share of the compliance along the normal that friction is taken to have."""


@inline
def depth_of(lam, compliance, deepest, give):
    """How deep an impulse presses a contact [m], its slope, and how far it slips for each unit of friction.

    Args:
        give: of a soft contact, see `laws.soft_contact`; else 0. Along the tangents these are as rigid as others.
    """
    if compliance <= 0.0:
        return 0.0, 0.0, 0.0
    if give > 0.0:
        return give * lam, give, TANGENTIAL * compliance
    share = deepest / (deepest + compliance * max(lam, 0.0))
    return share * compliance * lam, share * share * compliance, TANGENTIAL * share * compliance


@inline
def stiffness(W, o, k):
    """Largest compliance of a contact with the normal impulse o in the plane of impulses k and k + 1, or a little of
    that along its normal where that is larger."""
    a, b, c = W[k, k], W[k + 1, k + 1], 0.5 * (W[k, k + 1] + W[k + 1, k])
    return max(0.5 * (a + b + sqrt((a - b) * (a - b) + 4.0 * c * c)), GIVING * W[o, o])


@inline
def within(f1, f2, most):
    """Share of an impulse in a plane that a disc leaves."""
    size = sqrt(f1 * f1 + f2 * f2)
    return most / size if size > most else 1.0


@routine
def add(touch, n, k, change):
    """An impulse changes: so do motions of the n impulses that take part."""
    w, which, row = touch.w, touch.which, touch.W[k]
    low, high = range_of(touch.found, k, n)
    for m in range(low, high):
        w[which[m]] += row[which[m]] * change


@routine
def add_three(touch, n, k, changes):
    """`add` of the three impulses of a contact, from k on: those move the same ones."""
    w, which, W = touch.w, touch.which, touch.W
    e0, e1, e2 = changes
    low, high = range_of(touch.found, k, n)
    for m in range(low, high):
        j = which[m]
        w[j] += W[k, j] * e0 + W[k + 1, j] * e1 + W[k + 2, j] * e2


@routine
def disc_rows(touch, o, at, mu, i, low, high):
    """Replace the equations of impulses o + at and the next, which say that they hold, where they are beyond their
    disc.

    Args:
        o: the impulse along the normal of the contact; at: the first of the two after it.
        mu: radius of the disc for each unit of that impulse.
        i: place of o among the equations; low, high: range of entries.
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
