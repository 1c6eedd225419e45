"""Kinematics of all knots in one call."""

from typing import Any, NamedTuple

from leastaction._jit import entry, inline, routine
from leastaction.kinematics.sweeps import add_to, positions, velocities
from leastaction.spatial import (
    ZERO6,
    ad,
    add,
    add3,
    cross,
    cross_force,
    dot,
    dot3,
    load3,
    load6,
    load9,
    load_inertia,
    matvec,
    momentum,
    scale3,
    store6,
    sub3,
)


@entry
def frame_rows(nodes, links, screws, Q, node, offset, poses, J):
    """Poses (rows, 12: rotation of the node, then the point) of a point at `offset` of a node, and J (rows, 6, nv).

    J: angular velocity in the world and velocity of the point per joint velocity; zero at first.
    """
    for r in range(Q.shape[0]):
        positions(nodes, links, screws, Q[r])
        x = load3(offset)
        if node >= 0:
            R = load9(links[node].R)
            x = add3(load3(links[node].p), matvec(R, x))
            for k in range(9):
                poses[r, k] = R[k]
        else:
            poses[r, 0] = poses[r, 4] = poses[r, 8] = 1.0
        poses[r, 9], poses[r, 10], poses[r, 11] = x
        i = node
        while i >= 0:
            for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                S = load6(screws[k].S)
                J[r, 0, k], J[r, 1, k], J[r, 2, k] = S[0]
                J[r, 3, k], J[r, 4, k], J[r, 5, k] = add3(S[1], cross(S[0], x))
            i = nodes[i].parent


@inline
def _column(J, r, k, F):
    J[r, 0, k], J[r, 1, k], J[r, 2, k] = F[0]
    J[r, 3, k], J[r, 4, k], J[r, 5, k] = F[1]


class MomentumRows(NamedTuple):
    """What `momentum_rows` finds.

    Attributes:
        H: momenta about the world's origin, shape (rows, 6).
        c: centres of mass, shape (rows, 3) [m].
        A, D: dH/dv and dH/dq, shape (rows, 6, nv).
    """

    H: Any
    c: Any
    A: Any
    D: Any


@entry
def momentum_rows(nodes, links, screws, Q, V, sums, out):
    """Momenta, centres of mass and their derivatives, see `MomentumRows`.

    Moving a joint by its screw S carries the momentum of its subtree along and leaves its parent's twist V where it is:
    dH/dq = S x* h + C ad(V) S with h and C of the subtree. `sums`: scratch (nodes, 6).
    """
    count = nodes.shape[0]
    H, c, A, D = out.H, out.c, out.A, out.D
    for r in range(Q.shape[0]):
        positions(nodes, links, screws, Q[r])
        velocities(nodes, links, screws, V[r])
        for i in range(count):
            store6(sums[i], momentum(load_inertia(links[i].M), load6(links[i].v)))
        mass = 0.0
        moment = (0.0, 0.0, 0.0)
        total = ZERO6
        for i in range(count - 1, -1, -1):
            node = nodes[i]
            C = load_inertia(links[i].M)
            h = load6(sums[i])
            Vp = ZERO6
            if node.parent >= 0:
                Vp = load6(links[node.parent].v)
                add_to(sums[node.parent], h)
                for k in range(10):
                    links[node.parent].M[k] += links[i].M[k]
            else:
                mass += C[0]
                moment = add3(moment, C[1])
                total = add(total, h)
            for k in range(node.iv, node.iv + node.nv):
                S = load6(screws[k].S)
                _column(A, r, k, momentum(C, S))
                _column(D, r, k, add(cross_force(S, h), momentum(C, ad(Vp, S))))
        H[r, 0], H[r, 1], H[r, 2] = total[0]
        H[r, 3], H[r, 4], H[r, 5] = total[1]
        c[r, 0], c[r, 1], c[r, 2] = moment[0] / mass, moment[1] / mass, moment[2] / mass


@routine
def _composites(nodes, links, sums, moving):
    """Inertias of the nodes, and their momenta in `sums` (nodes, 6) if they are `moving`, become those of subtrees."""
    count = nodes.shape[0]
    if moving:
        for i in range(count):
            store6(sums[i], momentum(load_inertia(links[i].M), load6(links[i].v)))
    for i in range(count - 1, -1, -1):
        j = nodes[i].parent
        if j >= 0:
            for k in range(10):
                links[j].M[k] += links[i].M[k]
            if moving:
                add_to(sums[j], load6(sums[i]))


@entry
def center_rows(nodes, links, screws, Q, unused, mass, c, J):
    """Centres of mass of the bodies that move (rows, 3), and derivatives (rows, 3, nv) of that of all, of this mass."""
    for r in range(Q.shape[0]):
        positions(nodes, links, screws, Q[r])
        _composites(nodes, links, unused, False)
        total = 0.0
        moment = (0.0, 0.0, 0.0)
        for i in range(nodes.shape[0]):
            C = load_inertia(links[i].M)
            if nodes[i].parent < 0:
                total += C[0]
                moment = add3(moment, C[1])
            for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                J[r, 0, k], J[r, 1, k], J[r, 2, k] = scale3(1.0 / mass, momentum(C, load6(screws[k].S))[1])
        c[r, 0], c[r, 1], c[r, 2] = scale3(1.0 / total, moment)


@entry
def center_hessian(nodes, links, screws, Q, bar, H):
    """Add to H (rows, >= nv, >= nv) the second derivatives by q of bar . (mass times centre of mass), bar (rows, 3).

    Turning a by w moves what b, farther out, does: bar . (w_a x A_b), with A_b the linear momentum of the subtree of b.
    """
    for r in range(Q.shape[0]):
        positions(nodes, links, screws, Q[r])
        _composites(nodes, links, bar, False)
        b = load3(bar[r])
        for i in range(nodes.shape[0]):
            for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                turned = cross(momentum(load_inertia(links[i].M), load6(screws[k].S))[1], b)
                j = i
                while j >= 0:
                    for c in range(nodes[j].iv, nodes[j].iv + nodes[j].nv):
                        x = dot3(load6(screws[c].S)[0], turned)
                        if j == i:
                            H[r, c, k] += 0.5 * x
                            H[r, k, c] += 0.5 * x
                        else:
                            H[r, c, k] += x
                            H[r, k, c] += x
                    j = nodes[j].parent


@inline
def _parent_twist(nodes, links, i):
    return load6(links[nodes[i].parent].v) if nodes[i].parent >= 0 else ZERO6


class CentroidalData(NamedTuple):
    """Robot and scratch of `centroidal_hessian`: sums (nodes, 6), turned and carried (nv, 6), back (nv,)."""

    nodes: Any
    links: Any
    screws: Any
    sums: Any
    turned: Any
    carried: Any
    back: Any


@entry
def centroidal_hessian(data, Q, V, bar, center, mass, rows, H):
    """Add to H (rows, >= 2 nv, >= 2 nv) the second derivatives by (q, v) of bar . momentum about the centre of mass.

    bar: shape (rows, 6); center: shape (rows, 3) [m]; mass: of all bodies; rows: of `momentum_rows`. With bar = (a, l)
    it is zeta . momentum about the world's origin for zeta = (a, l - a x center). For zeta that stays,

        dD_b/dq_a = S_a x* D_b + S_b x* C_b P_a + C_b ad(P_a) S_b,   P_a = ad(parent's V) S_a,   a carries b or is b
        dA_b/dq_a = S_a x* A_b, and S_a x* (C_a S_b) - C_a ad(S_a) S_b where b carries a

    For each pair these are products of two twists and two wrenches: zeta . (S_a x* F) = ad(zeta) S_a . F, and with
    K_b = C_b ad(zeta) S_b + S_b x* C_b zeta the rest of the first line is K_b . P_a, and the last K_a . S_b. That zeta
    moves gives products of first derivatives, and -(a x center''(q)) . (linear momentum): see `center_hessian`.
    """
    nodes, links, screws, sums = data.nodes, data.links, data.screws, data.sums
    turned_by, carried = data.turned, data.carried
    nv = screws.shape[0]
    for r in range(Q.shape[0]):
        positions(nodes, links, screws, Q[r])
        velocities(nodes, links, screws, V[r])
        _composites(nodes, links, sums, True)
        a = load3(bar[r])
        z = (a, sub3(_load3_at(bar[r], 3), cross(a, load3(center[r]))))
        pull = scale3(1.0 / mass, cross(a, _load3_at(rows.H[r], 3)))
        for i in range(nodes.shape[0]):
            C, h, Vp = load_inertia(links[i].M), load6(sums[i]), _parent_twist(nodes, links, i)
            for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                S = load6(screws[k].S)
                turned, P = ad(z, S), ad(Vp, S)
                store6(turned_by[k], turned)
                store6(carried[k], P)
                A, D = momentum(C, S), add(cross_force(S, h), momentum(C, P))
                K = add(momentum(C, turned), cross_force(S, momentum(C, z)))
                lever = cross(A[1], pull)
                j = i
                while j >= 0:
                    for c in range(nodes[j].iv, nodes[j].iv + nodes[j].nv):
                        if j == i and c > k:  # not done yet
                            store6(turned_by[c], ad(z, load6(screws[c].S)))
                            store6(carried[c], ad(Vp, load6(screws[c].S)))
                        Sa, turned = load6(screws[c].S), load6(turned_by[c])
                        x = dot(turned, D) + dot(load6(carried[c]), K) + dot3(Sa[0], lever)
                        _both(H[r], c, k, 0.5 * x if j == i else x)
                        _both(H[r], c, nv + k, dot(turned, A))
                        if j != i:
                            _both(H[r], k, nv + c, dot(Sa, K))
                    j = nodes[j].parent
        _move_center(a, mass, rows.A[r], rows.D[r], data.back, H[r])


@routine
def _move_center(a, mass, A, D, back, H):
    """Add to H what it adds that zeta moves by -a x (linear rows of A) / mass with q; A, D: of `momentum_rows`."""
    nv = back.shape[0]
    for i in range(3):
        linear, turned = A[3 + i], D[3 + i]
        j, k = 3 + (i + 1) % 3, 3 + (i + 2) % 3
        aj, ak = (a[1], a[2]) if i == 0 else ((a[2], a[0]) if i == 1 else (a[0], a[1]))
        for n in range(nv):
            back[n] = (ak * A[j, n] - aj * A[k, n]) / mass
        for n in range(nv):
            y, z = back[n], turned[n]
            by_q, by_v = H[n, :nv], H[n, nv : 2 * nv]
            for b in range(nv):
                by_q[b] += y * turned[b] + z * back[b]
                by_v[b] += y * linear[b]
            by_q, z = H[nv + n, :nv], linear[n]
            for b in range(nv):
                by_q[b] += z * back[b]


@inline
def _load3_at(x, first):
    return (x[first], x[first + 1], x[first + 2])


@inline
def _both(H, i, j, x):
    H[i, j] += x
    H[j, i] += x


@entry
def end_hessian(second, weights, rates, dt, nv, timed, H):
    """Add second derivatives by (q, v, u) in the middles of steps to those by both ends, the controls and the time.

    second: shape (rows, 2 nv + nu, 2 nv + nu), or without controls, of which the function then is none.
    q = (start + end) / 2, v = (end - start) / dt, u = sum of weights (rows, width) times values, and if `timed` v
    changes by -rates (rows, nv) per second of the final time, the last unknown. H: shape (rows, n, n) with n unknowns:
    the two ends, the values of the controls, the final time if `timed`.
    """
    last, nu = H.shape[1] - 1, second.shape[1] - 2 * nv
    width = weights.shape[1]
    half, square = 0.5 / dt, 1.0 / (dt * dt)
    for r in range(H.shape[0]):
        B = second[r]
        for i in range(nv):
            a, b, c, d = B[i, :nv], B[i, nv : 2 * nv], B[nv + i, :nv], B[nv + i, nv : 2 * nv]
            start, start_end = H[r, i, :nv], H[r, i, nv : 2 * nv]
            end_start, end = H[r, nv + i, :nv], H[r, nv + i, nv : 2 * nv]
            for j in range(nv):
                qq, vv, qv, vq = 0.25 * a[j], square * d[j], half * b[j], half * c[j]
                start[j] += qq - qv - vq + vv
                start_end[j] += qq + qv - vq - vv
                end_start[j] += qq - qv + vq - vv
                end[j] += qq + qv + vq + vv
            for b in range(width):
                for j in range(nu):
                    q, v = 0.5 * weights[r, b] * B[i, 2 * nv + j], weights[r, b] * B[nv + i, 2 * nv + j] / dt
                    at = 2 * nv + b * nu + j
                    H[r, i, at] += q - v
                    H[r, at, i] += q - v
                    H[r, nv + i, at] += q + v
                    H[r, at, nv + i] += q + v
        for b in range(width):
            for c in range(width):
                for i in range(nu):
                    for j in range(nu):
                        x = weights[r, b] * weights[r, c] * B[2 * nv + i, 2 * nv + j]
                        H[r, 2 * nv + b * nu + i, 2 * nv + c * nu + j] += x
        if timed:
            for i in range(2 * nv + nu):
                x = 0.0
                for j in range(nv):
                    x -= B[i, nv + j] * rates[r, j]
                _add_timed(H[r], i, x, weights[r], dt, nv, nu, last)
                if nv <= i < 2 * nv:
                    H[r, last, last] -= x * rates[r, i - nv]


@inline
def _add_timed(H, i, x, weights, dt, nv, nu, last):
    """Entry x of (q, v, u) number i with the final time, spread over the unknowns."""
    if i < nv:
        _both(H, i, last, 0.5 * x)
        _both(H, nv + i, last, 0.5 * x)
    elif i < 2 * nv:
        _both(H, i - nv, last, -x / dt)
        _both(H, i, last, x / dt)
    else:
        for b in range(weights.shape[0]):
            _both(H, 2 * nv + b * nu + i - 2 * nv, last, weights[b] * x)
