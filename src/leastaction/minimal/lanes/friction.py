"""Impulses of a few contacts that press and rub at once: Signorini's and Coulomb's laws over a small dense matrix.

How far the contact points move in a step is w = w0 + W lam, three numbers for each: along its normal (what is left of
the gap) and along two tangents (how far it slides). With lam = (normal, friction, friction) [N s] for each,

    0 <= lam_n,  w_n >= 0,  lam_n w_n = 0,     |lam_t| <= mu lam_n,  lam_t = -mu lam_n w_t / |w_t| where it slides.

Block Gauss-Seidel: each contact's three equations are solved exactly while the others hold (Jourdan, Alart and Jean, A
Gauss-Seidel like algorithm to solve frictional contact problems, CMAME 155, 1998).
"""

from math import sqrt

from leastaction._jit import inline, routine

SOFT = 1e-9
"""Share of a contact's compliance that is added to it: one that cannot give way sideways divides by it."""

TURNS = 8
"""Most iterations for the direction in which one contact slides."""


@inline
def solve3(B, o, s, b0, b1, b2):
    """Solution of the block of B at o, with s added to its diagonal, for the right-hand side b: Cramer's rule."""
    a00, a01, a02 = B[o, o] + s, B[o, o + 1], B[o, o + 2]
    a10, a11, a12 = B[o + 1, o], B[o + 1, o + 1] + s, B[o + 1, o + 2]
    a20, a21, a22 = B[o + 2, o], B[o + 2, o + 1], B[o + 2, o + 2] + s
    c0, c1, c2 = a11 * a22 - a12 * a21, a12 * a20 - a10 * a22, a10 * a21 - a11 * a20
    d = 1.0 / (a00 * c0 + a01 * c1 + a02 * c2)
    x0 = d * (b0 * c0 + b1 * (a02 * a21 - a01 * a22) + b2 * (a01 * a12 - a02 * a11))
    x1 = d * (b0 * c1 + b1 * (a00 * a22 - a02 * a20) + b2 * (a02 * a10 - a00 * a12))
    x2 = d * (b0 * c2 + b1 * (a01 * a20 - a00 * a21) + b2 * (a00 * a11 - a01 * a10))
    return x0, x1, x2


@inline
def slide(W, o, mu, a0, a1, a2, t1, t2, push):
    """Impulses of a contact that slides, w = a where it does not push; first guess of the impulse: push, t1, t2."""
    size = sqrt(t1 * t1 + t2 * t2)
    d1, d2 = 0.0, 0.0  # the direction of the sliding
    if size > 0.0:
        d1, d2 = -t1 / size, -t2 / size
    else:
        size = sqrt(a1 * a1 + a2 * a2)
        if size > 0.0:
            d1, d2 = a1 / size, a2 / size
    for _ in range(TURNS):
        stiff = W[o, o] - mu * (W[o, o + 1] * d1 + W[o, o + 2] * d2)
        if stiff < 0.05 * W[o, o]:  # friction would press more than the contact gives way: it jams
            stiff = 0.05 * W[o, o]
        push = max(0.0, -a0 / stiff)
        f1, f2 = -mu * push * d1, -mu * push * d2
        w1 = a1 + W[o + 1, o] * push + W[o + 1, o + 1] * f1 + W[o + 1, o + 2] * f2
        w2 = a2 + W[o + 2, o] * push + W[o + 2, o + 1] * f1 + W[o + 2, o + 2] * f2
        # Towards the sliding, as far as the contact's own compliance lets it turn within its friction.
        k = 1.0 / (0.5 * (W[o + 1, o + 1] + W[o + 2, o + 2]))
        f1, f2 = f1 - k * w1, f2 - k * w2
        size = sqrt(f1 * f1 + f2 * f2)
        if not size > 0.0:
            break
        e1, e2 = -f1 / size, -f2 / size
        turned = abs(e1 - d1) + abs(e2 - d2)
        d1, d2 = e1, e2
        if turned < 1e-9:
            break
    return push, -mu * push * d1, -mu * push * d2


@routine
def settle(contacts, touch, tolerance, sweeps):
    """Impulses `lam` and motions `w` of the contacts that take part; gives back the last change of a motion [m].

    Starts from `lam`; `w` holds w0 on entry.
    """
    active, W, w, lam = touch.active, touch.W, touch.w, touch.lam
    n = active.shape[0]
    for a in range(n):
        if active[a]:
            for k in range(3 * a, 3 * a + 3):
                if lam[k] != 0.0:
                    for b in range(n):
                        if active[b]:
                            for j in range(3 * b, 3 * b + 3):
                                w[j] += W[j, k] * lam[k]
    change = 0.0
    for _ in range(sweeps):
        change = 0.0
        for c in range(n):
            if not active[c]:
                continue
            o, mu = 3 * c, contacts[c].friction
            l0, l1, l2 = lam[o], lam[o + 1], lam[o + 2]
            w0, w1, w2 = w[o], w[o + 1], w[o + 2]
            # What would be without this contact.
            a0 = w0 - W[o, o] * l0 - W[o, o + 1] * l1 - W[o, o + 2] * l2
            a1 = w1 - W[o + 1, o] * l0 - W[o + 1, o + 1] * l1 - W[o + 1, o + 2] * l2
            a2 = w2 - W[o + 2, o] * l0 - W[o + 2, o + 1] * l1 - W[o + 2, o + 2] * l2
            n0, n1, n2 = 0.0, 0.0, 0.0
            if a0 < 0.0:
                # A contact that cannot give way sideways, as in a plane mechanism, must not divide by zero.
                soft = SOFT * (W[o, o] + W[o + 1, o + 1] + W[o + 2, o + 2])
                d0, d1, d2 = solve3(W, o, soft, -a0, -a1, -a2)
                if d0 >= 0.0 and d1 * d1 + d2 * d2 <= mu * mu * d0 * d0:
                    n0, n1, n2 = d0, d1, d2
                elif mu > 0.0:
                    n0, n1, n2 = slide(W, o, mu, a0, a1, a2, l1, l2, l0)
                else:
                    n0 = -a0 / W[o, o]
            lam[o], lam[o + 1], lam[o + 2] = n0, n1, n2
            e0, e1, e2 = n0 - l0, n1 - l1, n2 - l2
            if e0 != 0.0 or e1 != 0.0 or e2 != 0.0:
                for b in range(n):
                    if active[b]:
                        for j in range(3 * b, 3 * b + 3):
                            w[j] += W[j, o] * e0 + W[j, o + 1] * e1 + W[j, o + 2] * e2
                moved = abs(w[o] - w0) + abs(w[o + 1] - w1) + abs(w[o + 2] - w2)
                if not moved <= change:
                    change = moved
        if change <= tolerance:
            break
    return change
