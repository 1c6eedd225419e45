"""Newton updates of the body-wise equations for given residuals, with the factors of `body_recursion.factor`.

From leaves to root the residuals become updates t of each degree of freedom at a fixed parent; from root to leaves
the contributions of the parents' twists are subtracted. Orders 2 and 4 are written out.
"""

from leastaction._jit import inline, routine
from leastaction.minimal.galerkin_bodies.spherical_joints import ball_down, ball_up
from leastaction.minimal.vec6 import plus, put, six, times
from leastaction.spatial import add3, axpy3, cross, load3, store3


@routine
def solve(model, settings, data):
    """Newton update dx (s, nv) for the residuals r, by the derivatives of the last `body_recursion.factor`."""
    ways = model.ways
    _solve(model, settings, data, ways.second, ways.fourth, ways.higher, ways.balls, ways.soft)


@routine
def _solve(model, settings, data, second, fourth, higher, balls, soft):
    """`solve`, with the features of `feature_flags.KernelFeatures` as arguments: None is not compiled."""
    nodes, beta = model.nodes, data.beta
    sprung = model.sprung or model.geared
    s, m = data.U.shape[1], data.U.shape[2]
    for i in range(nodes.shape[0]):
        for a in range(m):
            beta[0, i, a] = 0.0
    for i in range(nodes.shape[0] - 1, -1, -1):
        n, nv, parent = nodes[i].iv, nodes[i].nv, nodes[i].parent
        hard = nv == 1 or not sprung
        if second is not None and s == 1 and hard:
            _up_at_order_2(data, i, parent, n, nv)
        elif balls is not None and s == 2 and nv == 3 and hard:
            ball_up(data, i, parent, n)
        elif fourth is not None and s == 2 and hard:
            _up_at_order_4(data, i, parent, n, nv)
        elif higher is not None or soft is not None:
            _up(data, i, parent, n, nv, sprung)
    for i in range(nodes.shape[0]):
        n, nv, parent = nodes[i].iv, nodes[i].nv, nodes[i].parent
        hard = nv == 1 or not sprung
        if second is not None and s == 1 and hard:
            _down_at_order_2(data, i, parent, n, nv)
        elif balls is not None and s == 2 and nv == 3 and hard:
            ball_down(data, i, parent, n)
        elif fourth is not None and s == 2 and hard:
            _down_at_order_4(data, i, parent, n, nv)
        elif higher is not None or soft is not None:
            _down(data, i, parent, n, nv, sprung)
    if fourth is not None or higher is not None:
        _expected_forces(model, settings, data)


@inline
def _up_at_order_2(data, i, parent, n, nv):
    """`_up` at order 2."""
    S, U, inverse, r, t, beta = data.old_S, data.U, data.inverse, data.r, data.t, data.beta
    b = six(beta, 0, i, 0)
    for c in range(n, n + nv):
        x = inverse[c, 0, 0] * (r[0, c] - times(six(S, 0, c, 0), b))
        t[c, 0] = x
        b = plus(x, six(U, c, 0, 0), b)
    if parent >= 0:
        put(beta, 0, parent, 0, plus(1.0, b, six(beta, 0, parent, 0)))


@inline
def _down_at_order_2(data, i, parent, n, nv):
    """`_down` at order 2."""
    S, W, t, dx, eta = data.old_S, data.W, data.t, data.dx, data.beta
    h = six(eta, 1, parent, 0) if parent >= 0 else (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for c in range(n + nv - 1, n - 1, -1):
        x = t[c, 0] - times(six(W, c, 0, 0), h)
        dx[0, c] = x
        h = plus(x, six(S, 1, c, 0), h)
    put(eta, 1, i, 0, h)


@inline
def _up_at_order_4(data, i, parent, n, nv):
    """`_up` at order 4."""
    S, U, K, inverse, r, t, beta = data.old_S, data.U, data.K, data.inverse, data.r, data.t, data.beta
    b, d = six(beta, 0, i, 0), six(beta, 0, i, 6)
    for c in range(n, n + nv):
        x, y = r[0, c] - times(six(S, 0, c, 0), b), r[1, c] - times(six(S, 1, c, 0), d)
        for e in range(n, c):
            at = 2 * (e - n)
            y -= K[c, 1, at] * t[e, 0] + K[c, 1, at + 1] * t[e, 1]
        x, y = inverse[c, 0, 0] * x + inverse[c, 0, 1] * y, inverse[c, 1, 0] * x + inverse[c, 1, 1] * y
        t[c, 0], t[c, 1] = x, y
        b = plus(x, six(U, c, 0, 0), plus(y, six(U, c, 1, 0), b))
        d = plus(x, six(U, c, 0, 6), plus(y, six(U, c, 1, 6), d))
    if parent >= 0:
        put(beta, 0, parent, 0, plus(1.0, b, six(beta, 0, parent, 0)))
        put(beta, 0, parent, 6, plus(1.0, d, six(beta, 0, parent, 6)))


@inline
def _down_at_order_4(data, i, parent, n, nv):
    """`_down` at order 4."""
    S, W, t, dx, eta = data.old_S, data.W, data.t, data.dx, data.beta
    h = g = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if parent >= 0:
        h, g = six(eta, 1, parent, 0), six(eta, 1, parent, 6)
    for c in range(n + nv - 1, n - 1, -1):
        x = t[c, 0] - (times(six(W, c, 0, 0), h) + times(six(W, c, 0, 6), g))
        y = t[c, 1] - (times(six(W, c, 1, 0), h) + times(six(W, c, 1, 6), g))
        dx[0, c], dx[1, c] = x, y
        h, g = plus(x, six(S, 1, c, 0), h), plus(y, six(S, 2, c, 0), g)
    put(eta, 1, i, 0, h)
    put(eta, 1, i, 6, g)


@inline
def _up(data, i, parent, n, nv, soft):
    """Update t of joint i at a fixed parent, and its contribution to the parent."""
    S, U, K, inverse, r, t, beta = data.old_S, data.U, data.K, data.inverse, data.r, data.t, data.beta
    rest = data.rest
    s, m = U.shape[1], U.shape[2]
    for c in range(n, n + nv):
        for j in range(s):
            x = r[j, c] - times(six(S, j, c, 0), six(beta, 0, i, 6 * j))
            if j > 0 or soft:
                for e in range(n, c):
                    for l in range(s):
                        x -= K[c, j, (e - n) * s + l] * t[e, l]
            rest[j] = x
        for j in range(s):
            x = 0.0
            for l in range(s):
                x += inverse[c, j, l] * rest[l]
            t[c, j] = x
        for k in range(s):
            x = t[c, k]
            for a in range(m):
                beta[0, i, a] += x * U[c, k, a]
    if parent >= 0:
        for a in range(m):
            beta[0, parent, a] += beta[0, i, a]


@inline
def _down(data, i, parent, n, nv, soft):
    """Update dx of joint i, and its twist; last degree of freedom first, since each depends on those after it."""
    S, W, X, t, dx, eta = data.old_S, data.W, data.X, data.t, data.dx, data.beta
    s, m = W.shape[1], W.shape[2]
    for a in range(m):
        eta[1, i, a] = eta[1, parent, a] if parent >= 0 else 0.0
    for c in range(n + nv - 1, n - 1, -1):
        for k in range(s):
            x = t[c, k]
            for b in range(0, m, 6):
                x -= times(six(W, c, k, b), six(eta, 1, i, b))
            if soft:
                for d in range(c + 1, n + nv):
                    for l in range(s):
                        x -= X[c, k, (d - n) * s + l] * dx[l, d]
            dx[k, c] = x
        for k in range(s):
            x = dx[k, c]
            for b in range(6):
                eta[1, i, 6 * k + b] += S[k + 1, c, b] * x


@routine
def _expected_forces(model, settings, data):
    """Predicted forces e = f + df at inner nodes, where eta moves the bodies."""
    nodes, rule, bodies, eta = model.nodes, model.rule, data.bodies, data.beta
    s = rule.m.shape[0] - 1
    for i in range(nodes.shape[0]):
        for j in range(1, s):
            e = load3(bodies[j, i].f)
            for k in range(1, s + 1):
                at = 6 * (k - 1)
                w = (eta[1, i, at], eta[1, i, at + 1], eta[1, i, at + 2])
                v = (eta[1, i, at + 3], eta[1, i, at + 4], eta[1, i, at + 5])
                moved = add3(v, cross(w, load3(bodies[k, i].x)))
                e = axpy3(nodes[i].mass / settings.dt * rule.m[j, k], moved, e)
            store3(bodies[j, i].e, e)
